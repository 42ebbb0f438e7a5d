// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/grpo/grpo_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(FirstEpisodes)
DRL_LOOP(GroupAdvantages)
DRL_SUM_COLUMNS(GroupColumns)
DRL_DISTRIBUTIONS(DRL_LOOP, LogProbs)
DRL_DISTRIBUTIONS(DRL_SUM_ROWS, GrpoLoss)

}  // namespace drl::DRL_ISA
