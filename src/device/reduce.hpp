// Sums over many rows in a fixed order: no atomics. On a host 16 logical lanes, whatever the instruction set: lane l sums
// the rows l, l + 16, ...; then a tree. On a GPU as many partial sums as fill it, then trees.
#pragma once

#include <cstdint>

#include "device/for_each.hpp"
#include "drl/lanes.hpp"

namespace drl {

inline constexpr int kSumLanes = 16;

// Partial sums of each column that a GPU's first stage makes, a power of two: enough threads to fill a device.
constexpr int64_t partial_count(int64_t columns) {
  int64_t partials = 65536;
  while (partials > 1024 && partials * columns > 262144) partials /= 2;
  return partials;
}
// Numbers of scratch for the sums of so many columns or fewer: on a host, and on a GPU for all stages, each a sixteenth
// of the one before.
constexpr size_t sum_scratch(const Queue& queue, int64_t columns) {
  if (!queue.on_gpu()) return static_cast<size_t>(columns * kSumLanes);
  const int64_t first = columns > 256 ? 1024 * columns : 262144;
  return static_cast<size_t>(first + first / 8);
}

// What a function of rows adds to: sums.add(column, numbers of the rows that it has in its lanes).
struct HostSums {
  double* lanes;  // [columns, kSumLanes]
  int first;      // the lane of the first row
  template <class F>
  DRL_HD void add(int column, F x) const {
    double* at = lanes + column * kSumLanes + first;
    if constexpr (kLanesOf<F> == 1) {
      *at += static_cast<double>(x);
    } else {
      using Wide = Pack<double, kLanesOf<F>>;
      store(at, Wide::load(at) + convert<Wide>(x));
    }
  }
};
// Of one thread; the first columns stay in its registers.
struct ThreadSums {
  static constexpr int kInRegisters = 8;
  double* memory;  // [columns]
  double registers[kInRegisters] = {};
  DRL_HD void add(int column, float x) {
    if (column < kInRegisters) {
      registers[column] += static_cast<double>(x);
    } else {
      memory[column] += static_cast<double>(x);
    }
  }
};

// A function object over rows: its lanes<F>(row, sums) does the rows of F's lanes and adds to `sums`.
template <class Function>
struct SumRows {
  Function function;
  int64_t rows, columns, partials;
  double* out;  // host: [columns, kSumLanes]; GPU: [partials, columns]
};

}  // namespace drl
