#pragma once

#include <cstdint>

#include "device/queue.hpp"

namespace drl {

// Keeps a GPU busy for some time, in which the host enqueues more work.
void enqueue_spin(Queue& queue, uint64_t nanoseconds);

}  // namespace drl
