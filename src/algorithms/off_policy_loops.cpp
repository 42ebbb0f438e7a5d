// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/off_policy_kernels.hpp"
#include "algorithms/transition_batch.hpp"
#include "algorithms/value_distribution.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(StoreTransitions)
DRL_LOOP(CutEpisodes)
DRL_LOOP(ChooseSamples)
DRL_LOOP(CopySamples)
DRL_LOOP(JoinInputs)
DRL_LOOP(CriticTargets)
DRL_SUM_ROWS(CriticLoss)
DRL_LOOP(ValueDerivatives)
DRL_LOOP(MoveTargets)
DRL_LOOP(AtomProbabilities)
DRL_LOOP(ProjectTargets)
DRL_SUM_ROWS(DistributionLoss)
DRL_LOOP(ExpectedValueGradient)

}  // namespace drl::DRL_ISA
