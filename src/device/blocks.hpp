// for_each_block runs a kernel whose threads work together in blocks: they share memory, and hold fragments of matrices
// (device/warp.hpp). Such kernels exist on GPUs only. Use for_each (device/for_each.hpp) for all others.
//
// A kernel is a sequence of phases. In a phase, each warp or each thread works alone; a barrier ends it. Only what is
// in shared memory, or in memory that no other block uses, passes from one warp to another, and only from one phase to
// a later one. So the CPU emulation of the CUDA runtime can run the warps of a phase one after the other, in any order.
//
// A kernel is a function object with
//   kWarps: warps of a block,
//   kBlocksPerMultiprocessor: blocks that registers must suffice for, which limits those of a thread,
//   Registers: variables that a warp keeps from phase to phase,
//   operator()(Block<Kernel>&) const, declared DRL_WARP.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.hpp"
#include "device/queue.hpp"
#include "drl/lanes/hd.hpp"

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
#include "device/launch_watch.hpp"
#include "device/warp.hpp"
#include "gpu/device.hpp"
#endif

namespace drl {

// The launcher of a kernel's blocks. The unit that compiles it for GPUs sets it before main(); null if there is none.
template <class Kernel>
struct GpuBlocks {
  static inline void (*launch)(void* stream, int64_t blocks, size_t shared, const Kernel& kernel) = nullptr;
};

// Enqueues `blocks` blocks of `kernel`, each with `shared` bytes of shared memory.
template <class Kernel>
void for_each_block(Queue& queue, int64_t blocks, size_t shared, const Kernel& kernel) {
  if (blocks == 0) return;
  DRL_CHECK(queue.on_gpu() && GpuBlocks<Kernel>::launch, "the kernel is not compiled for GPUs");
  GpuBlocks<Kernel>::launch(queue.native(), blocks, shared, kernel);
}

// The number of words of shared memory before each place of a plan, which no kernel may use. There are some only in
// tests with the address sanitizer, which finds accesses to them.
#if defined(DRL_GPU_RUNTIME)
inline constexpr int kSharedGap = gpu::kHostGap;
#else
inline constexpr int kSharedGap = 0;
#endif

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)

// A block that is running.
template <class Kernel>
class Block {
 public:
  static constexpr int kThreads = 32 * Kernel::kWarps;

  DRL_WARP Block(int64_t index, void* shared) : index_(index), shared_(shared) {}
  DRL_WARP int64_t index() const { return index_; }
  // Returns the shared memory, 128-byte aligned, with arbitrary contents.
  DRL_WARP void* shared() const { return shared_; }

  // A phase of the warps: calls work(warp, registers) for each of them.
  template <class Work>
  DRL_WARP void warps(const Work& work) {
#if defined(DRL_GPU_COMPILER)
    work(static_cast<int>(threadIdx.x) / 32, registers_);
    __syncthreads();
#else
    gpu::host_in_any_order(Kernel::kWarps, [&](int warp) { work(warp, registers_[warp]); });
#endif
  }
  // A phase of the threads: calls work(thread) for each of them.
  template <class Work>
  DRL_WARP void threads(const Work& work) {
#if defined(DRL_GPU_COMPILER)
    work(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    gpu::host_in_any_order(kThreads, work);
#endif
  }

 private:
  int64_t index_;
  void* shared_;
#if defined(DRL_GPU_COMPILER)
  typename Kernel::Registers registers_;
#else
  typename Kernel::Registers registers_[Kernel::kWarps];
#endif
};

namespace gpu {

template <class Kernel>
__global__ void __launch_bounds__(Block<Kernel>::kThreads, Kernel::kBlocksPerMultiprocessor)
    block_kernel(const Kernel kernel) {
  constexpr int kThreads = Block<Kernel>::kThreads;
  static_assert(kThreads <= 1024, "a block has too many threads");
  static_assert(kThreads * Kernel::kBlocksPerMultiprocessor <= 1536, "some GPUs have fewer threads a multiprocessor");
#if !defined(DRL_GPU_COMPILER)
  Block<Kernel> block(blockIdx.x, host_shared_memory);
  kernel(block);
#elif defined(DRL_GPU_CODE)
  extern __shared__ __align__(128) unsigned char block_memory[];
  Block<Kernel> block(blockIdx.x, block_memory);
  kernel(block);
#endif
}

template <class Kernel>
void launch_blocks(void* stream, int64_t blocks, size_t shared, const Kernel& kernel) {
  static const gpuError_t allowed = gpuAllowSharedMemory(block_kernel<Kernel>, shared_memory_per_block());
  DRL_GPU(allowed);
  announce(kernel, blocks, [&] {
    const gpuError_t status = gpuLaunchBlocks(block_kernel<Kernel>, blocks, Block<Kernel>::kThreads, shared,
                                              static_cast<gpuStream_t>(stream), kernel);
    check_launch(status, reinterpret_cast<const void*>(block_kernel<Kernel>), typeid(Kernel), Block<Kernel>::kThreads,
                 shared);
  });
}

template <class Kernel>
bool make_blocks() {
  GpuBlocks<Kernel>::launch = launch_blocks<Kernel>;
  return true;
}

}  // namespace gpu

#endif

}  // namespace drl

// Compiles for_each_block for a kernel, in a unit for GPUs (device/gpu_loop.hpp).
#define DRL_BLOCKS(...) static const bool DRL_UNIQUE_NAME(__COUNTER__) = ::drl::gpu::make_blocks<__VA_ARGS__>();
