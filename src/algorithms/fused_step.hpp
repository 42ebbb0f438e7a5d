// An optimiser's step in one block of a GPU: the norm of the gradient, PrepareStep, and the step of all parameters.
// With few parameters, that many kernels take longer to start than to work.
#pragma once

#include <cstdint>

#include "algorithms/update_kernels.hpp"
#include "device/blocks.hpp"

namespace drl {

// Up to this many parameters, one multiprocessor is faster than a sequence of kernels, by a rough estimate: it moves
// 100 bytes a nanosecond, and a kernel takes 1.5 microseconds to start.
inline constexpr int64_t kOneBlockParameters = 16384;

template <class Step>
struct OneBlockStep {
  static constexpr int kWarps = 16, kBlocksPerMultiprocessor = 1;
  static constexpr int kColumns = GradientSquares::kColumns, kThreads = 32 * kWarps;  // a column for each group
  static constexpr size_t kShared = size_t{kColumns} * kThreads * sizeof(double);
  struct Registers {};

  GradientSquares squares;
  PrepareStep prepare;
  Step step;
  int64_t count;  // of parameters

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
  DRL_WARP void operator()(Block<OneBlockStep>& block) const {
    auto* sums = static_cast<double*>(block.shared());  // [kThreads, kColumns]
    block.threads([&](int thread) {
      for (int column = 0; column < squares.groups.count; ++column) {
        double sum = 0;
        for (int64_t i = thread; i < count; i += kThreads) sum += squares.template at<float>(i, column);
        sums[thread * kColumns + column] = sum;
      }
    });
    for (int half = kThreads / 2; half > 0; half /= 2)
      block.threads([&](int thread) {
        if (thread >= half) return;
        for (int column = 0; column < squares.groups.count; ++column)
          sums[thread * kColumns + column] += sums[(thread + half) * kColumns + column];
      });
    block.threads([&](int thread) {
      if (thread > 0) return;
      for (int column = 0; column < squares.groups.count; ++column)
        prepare.numbers->squared_norms[column] = sums[column];
      prepare(0);
    });
    block.threads([&](int thread) {
      const UpdateNumbers numbers = *prepare.numbers;  // in registers: no store to parameters can change them
      Step own = step;
      own.to.numbers = &numbers;
      for (int64_t i = thread; i < count; i += kThreads) own.template lanes<float>(i);
    });
  }
#endif
};

}  // namespace drl
