// How long all-reduces take, and how many have ended, by the device's own clock: also of those that a recording holds,
// however often it is launched.
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"

namespace drl {

// Since the start.
struct NcclTimes {
  uint64_t nanoseconds, all_reduces;
};
struct NcclClock {
  uint64_t began;
  NcclTimes times;
};

// Enqueue what stands before and behind an all-reduce. `clock` is in device memory; `times` is what the host sees of
// it, in memory of the host that the device reaches.
void enqueue_begin(gpuStream_t stream, NcclClock* clock);
void enqueue_end(gpuStream_t stream, NcclClock* clock, NcclTimes* times);

}  // namespace drl
