#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// Layer by layer on the GPU of `queue`: cuBLAS for the matrix products, in float32 and in a fixed order, and one kernel
// for all between two of them. `rows`: no pass gets more without cutting them up.
std::unique_ptr<Nets> make_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows);

}  // namespace drl
