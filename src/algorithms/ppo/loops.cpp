// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/ppo/kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(AdvanceLifetime)
DRL_LOOP(BeginUpdate)
DRL_LOOP(MiniBatchRows)
DRL_SUM_ROWS(PpoLoss<Gaussian>)
DRL_SUM_ROWS(PpoLoss<Categorical>)
DRL_LOOP(LastSums<StoreLoss>)
DRL_SUM_COLUMNS(GradientSquares)
DRL_LOOP(SettleStep)
DRL_LOOP(AdamStep)

}  // namespace drl::DRL_ISA
