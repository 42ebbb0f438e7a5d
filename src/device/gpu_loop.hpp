// Compiles loops over function objects for GPUs. It replaces device/hot_loop.hpp in units for CUDA's compiler and for
// the CPU emulation of the CUDA runtime in the tests.
#pragma once

#include "device/for_each.hpp"
#include "device/launch_watch.hpp"
#include "device/reduce.hpp"
#include "drl/lanes/gpu_launch.hpp"
#include "gpu/device.hpp"

namespace drl::gpu {

template <class Function>
void launch_loop(void* stream, int64_t begin, int64_t end, const Function& function) {
  announce(function, end - begin, [&] {
    const gpuError_t status = launch(stream, begin, end, function);
    if (status == gpuSuccess) return;
    int multiprocessors = 1;
    (void)count_multiprocessors(multiprocessors);
    check_launch(status, reinterpret_cast<const void*>(loop_kernel<Function>), typeid(Function),
                 block_size(end - begin, multiprocessors), 0);
  });
}

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
#define DRL_GPU_LOOP(...) DRL_LOOP(__VA_ARGS__)
#define DRL_SUM_ROWS(...) DRL_LOOP(GpuSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(GpuSumColumns<__VA_ARGS__>)
