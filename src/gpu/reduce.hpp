// Sums over many rows in a fixed order, the same on every device: no atomics.
#pragma once

#include <cstdint>

#include "gpu/for_each.hpp"

namespace drl::gpu {

// Partial sums that each of `columns` has after the first stage, a power of two: enough threads to fill a device.
constexpr int64_t partial_count(int64_t columns) {
  int64_t partials = 65536;
  while (partials > 1024 && partials * columns > 262144) partials /= 2;
  return partials;
}
inline constexpr int64_t kAtOnce = 16;  // partial sums of a column that each later stage makes one

// Room for the sums of all stages, a sixteenth of the one before each, of so many columns or fewer.
constexpr size_t reduction_size(int64_t columns) {
  const int64_t first = columns > 256 ? 1024 * columns : 262144;
  return static_cast<size_t>(first + first / 8);
}

// First stage: partial p of column c is the sum of load(row, c) over the rows p, p + partials, p + 2 partials, ...
template <class Load>
struct PartialSums {
  Load load;
  int64_t rows, columns, partials;
  double* out;  // [partials, columns]
  DRL_HD void operator()(int64_t i) const {
    const int column = static_cast<int>(i % columns);
    double sum = 0;
    for (int64_t row = i / columns; row < rows; row += partials) sum += load(row, column);
    out[i] = sum;
  }
};

// in[0] + in[stride] + ...: up to kAtOnce numbers in this order, all of them loaded before they are added.
DRL_HD double sum_at_once(const double* in, int64_t stride, int64_t count) {
  double x[kAtOnce], sum = 0;
  for (int k = 0; k < kAtOnce; ++k) x[k] = k < count ? in[k * stride] : 0;
  for (int k = 0; k < kAtOnce; ++k) sum += x[k];
  return sum;
}

// A stage between: of the partials p, p + fewer, p + 2 fewer, ... one is left.
struct FewerSums {
  const double* in;  // [kAtOnce * fewer, columns]
  int64_t stride;    // fewer * columns
  double* out;       // [fewer, columns]
  DRL_HD void operator()(int64_t i) const { out[i] = sum_at_once(in + i, stride, kAtOnce); }
};

// Last stage.
template <class Store>
struct LastSums {
  Store store;
  const double* in;  // [partials, columns]
  int64_t columns, partials;
  DRL_HD void operator()(int64_t column) const {
    store(static_cast<int>(column), sum_at_once(in + column, columns, partials));
  }
};

// The later stages, for whoever wrote the partials [partial_count(columns), columns] at the front of `scratch` itself:
// calls store(column, sum).
template <class Store>
void sum_partials(const Stream& stream, int columns, double* scratch, const Store& store) {
  int64_t partials = partial_count(columns);
  double* in = scratch;
  while (partials > kAtOnce) {
    double* out = in + partials * columns;
    partials /= kAtOnce;
    for_each(stream, partials * columns, FewerSums{in, partials * columns, out});
    in = out;
  }
  for_each(stream, columns, LastSums<Store>{store, in, columns, partials});
}

// Calls store(c, sum over rows of load(row, c)) for each column c; load is called once for each number. `scratch` holds
// reduction_size(columns) numbers.
template <class Load, class Store>
void sum_columns(const Stream& stream, int64_t rows, int columns, double* scratch, const Load& load,
                 const Store& store) {
  if (columns == 0) return;
  const int64_t partials = partial_count(columns);
  for_each(stream, partials * columns, PartialSums<Load>{load, rows, columns, partials, scratch});
  sum_partials(stream, columns, scratch, store);
}

// A Store: writes to an array.
template <class T>
struct StoreTo {
  T* out;
  DRL_HD void operator()(int column, double sum) const { out[column] = static_cast<T>(sum); }
};

}  // namespace drl::gpu
