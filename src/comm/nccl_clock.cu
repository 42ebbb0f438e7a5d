#include "comm/nccl_clock.hpp"
#include "device/gpu_loop.hpp"

namespace drl {
namespace {

struct Begin {
  NcclClock* clock;
  DRL_HD void operator()(int64_t) const { clock->began = gpuNanoseconds(); }
};

struct End {
  NcclClock* clock;
  NcclTimes* times;
  DRL_HD void operator()(int64_t) const {
    const uint64_t now = gpuNanoseconds();
    NcclTimes& sums = clock->times;
    if (now > clock->began) sums.nanoseconds += now - clock->began;
    sums.all_reduces += 1;
    *times = sums;
#if defined(__CUDA_ARCH__)
    __threadfence_system();  // seen at once, also when what follows hangs
#endif
  }
};

}  // namespace

void enqueue_begin(gpuStream_t stream, NcclClock* clock) { gpu::launch_loop(stream, 0, 1, Begin{clock}); }

void enqueue_end(gpuStream_t stream, NcclClock* clock, NcclTimes* times) {
  gpu::launch_loop(stream, 0, 1, End{clock, times});
}

}  // namespace drl
