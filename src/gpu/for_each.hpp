// Kernels are function objects over an index: one launcher runs them on the device, a loop on the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"

namespace drl::gpu {

// Enqueues f(i) for i in [0, n), each in a thread of its own, in any order. `f` is copied to the device: it holds
// numbers and device pointers only. Defined for the device's compiler (and the host's stand-in) alone.
template <class Function>
void for_each(const Stream& stream, int64_t n, const Function& f);

#if defined(DRL_GPU_HOST)

template <class Function>
void for_each(const Stream& stream, int64_t n, const Function& f) {
  host_enqueue(stream.get(), [n, f] {
    for (int64_t i = 0; i < n; ++i) f(i);
  });
}

#elif defined(__CUDACC__) || defined(__HIPCC__)

inline constexpr int kBlockSize = 256;

template <class Function>
__global__ void __launch_bounds__(kBlockSize) for_each_kernel(int64_t n, const Function f) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (i < n) f(i);
}

template <class Function>
void for_each(const Stream& stream, int64_t n, const Function& f) {
  if (n <= 0) return;
  const int64_t blocks = (n + kBlockSize - 1) / kBlockSize;
  DRL_CHECK(blocks < (int64_t{1} << 31), "more indices than a grid has");
  // clang-format off
  for_each_kernel<<<static_cast<unsigned>(blocks), kBlockSize, 0, stream.get()>>>(n, f);
  // clang-format on
  DRL_GPU(gpuGetLastError());
}

#endif

}  // namespace drl::gpu
