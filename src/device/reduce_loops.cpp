// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/fingerprint_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

#if defined(DRL_GPU_UNIT)
DRL_LOOP(IntermediateSums)
#endif
DRL_LOOP(FinalSums<StoreTo>)
DRL_LOOP(FinalSums<StoreMoments>)
DRL_SUM_COLUMNS(SegmentHashes)
DRL_LOOP(AddUp)

}  // namespace drl::DRL_ISA
