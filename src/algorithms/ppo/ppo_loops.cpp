// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/ppo/ppo_kernels.hpp"
#include "algorithms/ppo/rnd_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(Advantages)
DRL_SUM_COLUMNS(AdvantageMoments)
DRL_SUM_ROWS(MiniBatchMoments)
DRL_LOOP(StandardizeAdvantages)
DRL_LOOP(SetEntropyCoef)
DRL_LOOP(StandardizeMiniBatch)
DRL_LOOP(EmbeddingDistance)
DRL_LOOP(DiscountedIntrinsicRewards)
DRL_LOOP(AddIntrinsicRewards)
DRL_SUM_COLUMNS(IntrinsicRewardSum)
DRL_SUM_ROWS(RndLoss)
DRL_DISTRIBUTIONS(DRL_SUM_ROWS, PpoLoss)

}  // namespace drl::DRL_ISA
