// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/reward_normalizer.hpp"
#include "algorithms/symmetry_kernels.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(CheckFinite)
DRL_LOOP(ResetUpdateNumbers)
DRL_LOOP(RestartUpdate)
DRL_LOOP(MiniBatchRows)
DRL_LOOP(SequenceRows)
DRL_LOOP(FinalSums<StoreLoss>)
DRL_LOOP(MirrorRows)
DRL_LOOP(MirrorChoices)
DRL_SUM_ROWS(SymmetryLoss)
DRL_SUM_COLUMNS(GradientSquares)
DRL_DISTRIBUTIONS(DRL_SUM_COLUMNS, StateStd)
DRL_LOOP(PrepareStep)
DRL_LOOP(AdamStep)
DRL_LOOP(SgdStep)
DRL_LOOP(DiscountedReturns)
DRL_LOOP(LargestOf)

}  // namespace drl::DRL_ISA
