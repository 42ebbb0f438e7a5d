// The GPU's loops over function objects: what hot_loop.hpp is where a GPU's compiler, or the tests' stand-in of the
// device runtime, reads it.
#pragma once

#include "device/for_each.hpp"
#include "device/reduce.hpp"
#include "gpu/device.hpp"

namespace drl::gpu {

template <class Function>
DRL_HD void call(const Function& function, int64_t i) {
  if constexpr (requires { function(i); }) {
    function(i);
  } else {
    function.template lanes<float>(i);
  }
}

#if defined(DRL_GPU_HOST)

template <class Function>
void launch_loop(void* stream, int64_t begin, int64_t end, const Function& function) {
  host_enqueue(static_cast<gpuStream_t>(stream), HostWork::kernel, [begin, end, function] {
    for (int64_t i = begin; i < end; ++i) call(function, i);
  });
}

#else

inline constexpr int kBlockSize = 256;

template <class Function>
__global__ void __launch_bounds__(kBlockSize) loop_kernel(int64_t begin, int64_t end, const Function function) {
  const int64_t i = begin + static_cast<int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (i < end) call(function, i);
}

template <class Function>
void launch_loop(void* stream, int64_t begin, int64_t end, const Function& function) {
  const int64_t blocks = (end - begin + kBlockSize - 1) / kBlockSize;
  DRL_CHECK(blocks < (int64_t{1} << 31), "more indices than a grid has");
  gpuLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kBlockSize);
  config.stream = static_cast<gpuStream_t>(stream);
  DRL_GPU(gpuLaunchKernelEx(&config, loop_kernel<Function>, begin, end, function));
}

#endif

template <class Function>
bool make_loop() {
  GpuLoop<Function>::launch = launch_loop<Function>;
  return true;
}

}  // namespace drl::gpu

#define DRL_UNIQUE_NAME(line) DRL_UNIQUE_NAME_OF(line)
#define DRL_UNIQUE_NAME_OF(line) made_##line
#define DRL_LOOP(...) static const bool DRL_UNIQUE_NAME(__COUNTER__) = ::drl::gpu::make_loop<__VA_ARGS__>();
#define DRL_HOST_LOOP(...)
#define DRL_SUM_ROWS(...) DRL_LOOP(GpuSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(GpuSumColumns<__VA_ARGS__>)
