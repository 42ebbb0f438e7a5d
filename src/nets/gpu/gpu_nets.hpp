#pragma once

#include <cstdint>
#include <memory>

#include "nets/nets.hpp"

namespace drl {

// A matrix product C [m, n] = A [m, k] B [k, n] in cuBLAS's order (of `count` slices), as bench/gpu_kernels sees it
// (device/launch_watch.hpp).
struct GpuProduct {
  const char* kind;  // "forward", "backward" or "weights"
  int64_t m, n, k, count;
  bool adds;  // to C
};

// Creates networks on the GPU of `queue`. They work layer by layer: cuBLAS computes the matrix products in float32 and
// in a fixed order, and one kernel (more with layer norm) does everything between two products. `rows` is the largest
// number of rows to pass at once; larger inputs are divided into tiles. With `tf32`, the products' factors are rounded
// to 11 significant bits, for tensor cores; GPUs before A100 have none for TF32 and compute in float32.
std::unique_ptr<Nets> make_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, bool tf32 = false);

}  // namespace drl
