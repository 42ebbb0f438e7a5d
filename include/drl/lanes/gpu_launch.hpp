// Runs a function object (drl/lanes/loop.hpp) over a range of indices as a GPU kernel of this library. Compiled by the
// GPU compiler, or with DRL_GPU_RUNTIME (drl/lanes/gpu_runtime.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "drl/lanes/gpu_runtime.hpp"
#include "drl/lanes/hd.hpp"

namespace drl::gpu {

template <class Function>
DRL_HD void call(const Function& function, int64_t i) {
  if constexpr (requires { function(i); }) {
    function(i);
  } else {
    function.template lanes<float>(i);
  }
}

inline constexpr int kMinBlockSize = 32, kMaxBlockSize = 256;
static_assert(kMaxBlockSize * 256 <= 65536);  // A multiprocessor has 65,536 registers, a thread up to 255 of them.

// Returns the number of threads of a block for `count` indices: the largest power of two of which there are as many
// blocks as multiprocessors, or the least one. With 256 always, 4,096 robots would occupy 16 of an H100's 132
// multiprocessors.
constexpr int block_size(int64_t count, int multiprocessors) {
  int size = kMaxBlockSize;
  while (size > kMinBlockSize && (count + size - 1) / size < multiprocessors) size /= 2;
  return size;
}

template <class Function>
__global__ void __launch_bounds__(kMaxBlockSize) loop_kernel(int64_t begin, int64_t end, const Function function) {
  const int64_t i = begin + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < end) call(function, i);
}

using Status = gpuError_t;
inline constexpr Status kSuccess = gpuSuccess;
inline const char* name_of(Status status) { return gpuGetErrorName(status); }
inline const char* text_of(Status status) { return gpuGetErrorString(status); }

// Gets the number of multiprocessors of the calling thread's GPU, which a thread never changes.
inline Status count_multiprocessors(int& count) {
  static thread_local int known = 0;
  if (known == 0) {
    int device = 0;
    if (const Status status = gpuGetDevice(&device); status != kSuccess) return status;
    if (const Status status = gpuDeviceGetAttribute(&known, gpuMultiprocessorCount, device); status != kSuccess)
      return status;
  }
  count = known;
  return kSuccess;
}

// Enqueues function over the indices [begin, end).
template <class Function>
Status launch(void* stream, int64_t begin, int64_t end, const Function& function) {
  int multiprocessors = 0;
  if (const Status status = count_multiprocessors(multiprocessors); status != kSuccess) return status;
  const int size = block_size(end - begin, multiprocessors);
  return gpuLaunch(loop_kernel<Function>, (end - begin + size - 1) / size, size, static_cast<gpuStream_t>(stream),
                   begin, end, function);
}

// Loads the kernel, and raises `stack` to the bytes of memory for its variables that a thread needs. Loading is not
// allowed while a graph is captured.
template <class Function>
Status probe(int64_t& stack) {
  gpuFuncAttributes kernel{};
  const Status status = gpuFuncGetAttributes(&kernel, reinterpret_cast<const void*>(loop_kernel<Function>));
  const auto bytes = static_cast<int64_t>(kernel.localSizeBytes);
  if (stack < bytes) stack = bytes;
  return status;
}

// Gets the number of threads that the GPU can run at once, for each of which the driver reserves a stack.
inline Status count_threads(int64_t& count) {
  int device = 0, threads = 0, multiprocessors = 0;
  if (const Status status = gpuGetDevice(&device); status != kSuccess) return status;
  if (const Status status = gpuDeviceGetAttribute(&threads, gpuThreadsPerMultiprocessor, device); status != kSuccess)
    return status;
  const Status status = count_multiprocessors(multiprocessors);
  count = int64_t{threads} * multiprocessors;
  return status;
}

inline Status free_memory(size_t& free) {
  size_t total = 0;
  return gpuMemGetInfo(&free, &total);
}

}  // namespace drl::gpu
