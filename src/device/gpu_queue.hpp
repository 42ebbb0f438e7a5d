#pragma once

#include <memory>

#include "device/queue.hpp"

namespace drl {

// Creates a queue that is a stream on this thread's current GPU. `isa` is the instruction set of the host's loops.
// Throws Error if the stream cannot be created.
std::unique_ptr<Queue> make_gpu_queue(Isa isa = Isa{});

}  // namespace drl
