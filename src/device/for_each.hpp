// for_each calls a function object (kernel) for a range of indices, on a host or a GPU. Almost all computation other
// than the matrix products of cuBLAS and libtorch is done this way. A kernel has either lanes<F>(i), which processes
// indices i, i + 1, ... at once, one per lane of the type F, or operator()(i), which processes one index. A kernel is
// copied to where it runs, so it may only contain numbers and pointers into the queue's memory.
//
// The loops are compiled in separate units: the *_loops.cpp and *_loops.cu files of each room list its kernels with
// DRL_LOOP and similar macros. device/hot_loop.hpp compiles them for each instruction set, device/gpu_loop.hpp for
// GPUs.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "device/queue.hpp"
#include "drl/lanes/lanes.hpp"  // opens the namespaces of the instruction sets

namespace drl {

#define DRL_DECLARE_LOOP(isa)                                      \
  namespace isa {                                                  \
  template <class Function>                                        \
  void loop(int64_t begin, int64_t end, const Function& function); \
  }
DRL_FOR_EACH_ISA(DRL_DECLARE_LOOP)
#undef DRL_DECLARE_LOOP

// The launcher of Function's loop on a GPU. The unit that compiles it for GPUs sets it before main(); null if there is
// none.
template <class Function>
struct GpuLoop {
  static inline void (*launch)(void* stream, int64_t begin, int64_t end, const Function& function) = nullptr;
};

// True for functions that are compiled for GPUs only. These declare `using GpuOnly = void`.
template <class Function>
inline constexpr bool kGpuOnly = requires {
  typename Function::GpuOnly;
};

// Enqueues calls of `function` for the indices in [begin, end), in any order.
template <class Function>
void for_each(Queue& queue, int64_t begin, int64_t end, const Function& function) {
  if (begin >= end) return;
  if (queue.on_gpu()) {
    DRL_CHECK(GpuLoop<Function>::launch, "the function is not compiled for GPUs");
    return GpuLoop<Function>::launch(queue.native(), begin, end, function);
  }
  if constexpr (kGpuOnly<Function>) {
    throw Error("the function is compiled for GPUs only");
  } else {
    switch (queue.isa()) {
#define DRL_CALL_LOOP(isa)                    \
  case Isa::isa:                              \
    if constexpr (is_compiled(#isa))          \
      return isa::loop(begin, end, function); \
    else                                      \
      throw Error("the function is not compiled for the instruction set " #isa);
      DRL_FOR_EACH_ISA(DRL_CALL_LOOP)
#undef DRL_CALL_LOOP
    }
  }
}
template <class Function>
void for_each(Queue& queue, int64_t count, const Function& function) {
  for_each(queue, 0, count, function);
}

}  // namespace drl
