// Actor and critic on libtorch. This folder alone includes libtorch, and this header does not show it.
#pragma once

#include <memory>

#include "learn/engine.hpp"

namespace drl {

// Matrix products by libtorch on `threads` threads, forward and backward written out layer by layer, in tiles that stay
// in the second cache, without an autograd graph.
std::unique_ptr<Engine> make_torch_engine(const NetworkSpec& spec, int threads);

}  // namespace drl
