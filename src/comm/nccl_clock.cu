#include "comm/nccl_clock.hpp"
#include "device/gpu_loop.hpp"

namespace drl {
namespace {

// Copies the sums to the host, which sees them at once, even if later work hangs.
DRL_HD void publish(const NcclTimes& sums, NcclTimes* times) {
  *times = sums;
#if defined(DRL_GPU_CODE)
  __threadfence_system();
#endif
}

struct StartClock {
  NcclClock* clock;
  NcclTimes* times;
  DRL_HD void operator()(int64_t) const {
    clock->times.started += 1;
    publish(clock->times, times);
    clock->start = gpuNanoseconds();
  }
};

struct StopClock {
  NcclClock* clock;
  NcclTimes* times;
  DRL_HD void operator()(int64_t) const {
    const uint64_t now = gpuNanoseconds();
    NcclTimes& sums = clock->times;
    if (now > clock->start) sums.nanoseconds += now - clock->start;
    sums.all_reduces += 1;
    publish(sums, times);
  }
};

}  // namespace

void enqueue_clock_start(gpuStream_t stream, NcclClock* clock, NcclTimes* times) {
  gpu::launch_loop(stream, 0, 1, StartClock{clock, times});
}

void enqueue_clock_stop(gpuStream_t stream, NcclClock* clock, NcclTimes* times) {
  gpu::launch_loop(stream, 0, 1, StopClock{clock, times});
}

}  // namespace drl
