#pragma once

#include <memory>

#include "device/queue.hpp"

namespace drl {

// A stream of the GPU that this thread uses. Throws Error where that fails. `isa`: of what the host does beside it.
std::unique_ptr<Queue> make_gpu_queue(Isa isa = Isa{});

}  // namespace drl
