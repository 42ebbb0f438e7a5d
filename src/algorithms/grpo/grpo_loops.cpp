// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/grpo/grpo_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(FirstEpisodes)
DRL_LOOP(GroupAdvantages)
DRL_SUM_COLUMNS(GroupColumns)
DRL_LOOP(LogProbs<Gaussian>)
DRL_LOOP(LogProbs<Categorical>)
DRL_LOOP(LogProbs<StateGaussian>)
DRL_LOOP(LogProbs<Beta>)
DRL_LOOP(LogProbs<SquashedGaussian>)
DRL_SUM_ROWS(GrpoLoss<Gaussian>)
DRL_SUM_ROWS(GrpoLoss<Categorical>)
DRL_SUM_ROWS(GrpoLoss<StateGaussian>)
DRL_SUM_ROWS(GrpoLoss<Beta>)
DRL_SUM_ROWS(GrpoLoss<SquashedGaussian>)

}  // namespace drl::DRL_ISA
