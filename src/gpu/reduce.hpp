// Sums over many rows in a fixed order, the same on every device: no atomics.
#pragma once

#include <cstdint>

#include "gpu/for_each.hpp"

namespace drl::gpu {

// Partial sums that each of `columns` has after the first stage: enough threads to fill a device, whatever the columns.
constexpr int64_t partial_count(int64_t columns) {
  int64_t partials = 16384;
  while (partials > 1024 && partials * columns > 65536) partials /= 2;
  return partials;
}
inline constexpr int64_t kHalfway = 128;  // sums of each column after the second stage

// Room for the sums of all stages, of so many columns or fewer.
constexpr size_t reduction_size(int64_t columns) {
  return static_cast<size_t>((columns > 64 ? 1024 * columns : 65536) + kHalfway * columns);
}

// in[first] + in[first + stride] + ... before `end`, in this order. Loads do not wait for the sum: eight are under way.
DRL_HD double sum_strided(const double* in, int64_t first, int64_t stride, int64_t end) {
  constexpr int kAtOnce = 8;
  double sum = 0;
  int64_t i = first;
  for (; i + (kAtOnce - 1) * stride < end; i += kAtOnce * stride) {
    double x[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) x[k] = in[i + k * stride];
    for (int k = 0; k < kAtOnce; ++k) sum += x[k];
  }
  for (; i < end; i += stride) sum += in[i];
  return sum;
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

// Second stage: kHalfway sums of each column's partials.
struct HalfwaySums {
  const double* in;  // [partials, columns]
  int64_t columns, partials;
  double* out;  // [kHalfway, columns]
  DRL_HD void operator()(int64_t i) const {
    out[i] = sum_strided(in, i, kHalfway * columns, partials * columns);
  }
};

// Third stage.
template <class Store>
struct LastSums {
  Store store;
  const double* in;  // [kHalfway, columns]
  int64_t columns;
  DRL_HD void operator()(int64_t column) const {
    store(static_cast<int>(column), sum_strided(in, column, columns, kHalfway * columns));
  }
};

// The later stages, for whoever wrote the partials [partial_count(columns), columns] at the front of `scratch` itself:
// calls store(column, sum).
template <class Store>
void sum_partials(const Stream& stream, int columns, double* scratch, const Store& store) {
  const int64_t partials = partial_count(columns);
  double* halfway = scratch + partials * columns;
  for_each(stream, kHalfway * columns, HalfwaySums{scratch, columns, partials, halfway});
  for_each(stream, columns, LastSums<Store>{store, halfway, columns});
}

// Calls store(c, sum over rows of load(row, c)) for each column c. `scratch` holds reduction_size(columns) numbers.
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
