// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/fingerprint_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

#if defined(DRL_GPU_UNIT)
DRL_LOOP(FewerSums)
#endif
DRL_LOOP(LastSums<StoreTo>)
DRL_LOOP(LastSums<StoreMoments>)
DRL_SUM_COLUMNS(SegmentHashes)
DRL_LOOP(AddUp)

}  // namespace drl::DRL_ISA
