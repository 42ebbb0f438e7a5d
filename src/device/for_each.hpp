// One way to compute: a function object over indices. Its lanes<F>(i) does the indices i, i + 1, ... of F's lanes at
// once; one that has operator()(i) instead does them one by one. It is copied to where it runs: it holds numbers and
// pointers into the queue's memory only.
//
// The loops are compiled elsewhere: each function object stands in a list of its room (DRL_KERNELS), which
// device/hot_loop.hpp instantiates once for each instruction set and device/gpu_loop.hpp for GPUs.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "device/queue.hpp"
#include "drl/lanes.hpp"  // which opens the namespaces

namespace drl {

#define DRL_DECLARE_LOOP(isa)                                      \
  namespace isa {                                                  \
  template <class Function>                                        \
  void loop(int64_t begin, int64_t end, const Function& function); \
  }
DRL_FOR_EACH_ISA(DRL_DECLARE_LOOP)
#undef DRL_DECLARE_LOOP

// How a GPU does it, if this program has GPU code: whoever compiled that for Function sets it before main.
template <class Function>
struct GpuLoop {
  static inline void (*launch)(void* stream, int64_t begin, int64_t end, const Function& function) = nullptr;
};

// Of functions that are compiled for GPUs only: they say `using GpuOnly = void`.
template <class Function>
inline constexpr bool kGpuOnly = requires {
  typename Function::GpuOnly;
};

// Enqueues function over [begin, end), in any order.
template <class Function>
void for_each(Queue& queue, int64_t begin, int64_t end, const Function& function) {
  if (begin >= end) return;
  if (queue.on_gpu()) {
    DRL_CHECK(GpuLoop<Function>::launch, "a function without code for GPUs");
    return GpuLoop<Function>::launch(queue.native(), begin, end, function);
  }
  if constexpr (kGpuOnly<Function>) {
    throw Error("a function without code for the host");
  } else {
    switch (queue.isa()) {
#define DRL_CALL_LOOP(isa) \
  case Isa::isa:           \
    return isa::loop(begin, end, function);
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
