#pragma once

#include <memory>

#include "learn/gpu_engine.hpp"

namespace drl {

// Layer by layer: cuBLAS for the matrix products, in float32 and in a fixed order, and one kernel for all between two
// of them.
std::unique_ptr<GpuEngine> make_gpu_engine(const NetworkSpec& spec, const gpu::Stream& stream);

}  // namespace drl
