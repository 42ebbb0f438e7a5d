// Measures the time and number of completed all-reduces by the device's clock. This includes all-reduces in captured
// graphs, each time the graph is launched.
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"

namespace drl {

// Sums since the start. `all_reduces` counts those that have ended, `started` also one in progress.
struct NcclTimes {
  uint64_t nanoseconds, all_reduces, started;
};
struct NcclClock {
  uint64_t start;
  NcclTimes times;
};

// Enqueue the kernels before and after an all-reduce. `clock` is in device memory; `times` is the copy for the host, in
// host memory that the device can write.
void enqueue_clock_start(gpuStream_t stream, NcclClock* clock, NcclTimes* times);
void enqueue_clock_stop(gpuStream_t stream, NcclClock* clock, NcclTimes* times);

}  // namespace drl
