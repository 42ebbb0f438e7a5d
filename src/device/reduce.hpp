// Sums over many rows in a fixed order, without atomics. A host uses 16 logical lanes on every instruction set: lane l
// sums rows l, l + 16, ..., and then the lanes are added. A GPU computes enough partial sums to keep it busy; then each
// stage adds groups of 16 of them.
#pragma once

#include <cstdint>

#include "device/for_each.hpp"
#include "drl/lanes/lanes.hpp"

namespace drl {

inline constexpr int kSumLanes = 16;

inline constexpr int64_t kManyRows = int64_t{1} << 40;  // stands for a number of rows that is not known
// Returns the number of partial sums per column in a GPU's first stage, one thread each. It is a power of two from 1024
// to 65536. It is halved while all columns together have more than 262144 partial sums, or while half as many would
// suffice for one per row.
constexpr int64_t partial_count(int64_t columns, int64_t rows = kManyRows) {
  int64_t partials = 65536;
  while (partials > 1024 && (partials * columns > 262144 || partials / 2 >= rows)) partials /= 2;
  return partials;
}
// Returns the size of the scratch memory, in doubles, for sums of up to `columns` columns. On a GPU it holds the
// partial sums of all stages, each of which has a sixteenth as many as the previous one.
inline size_t sum_scratch(const Queue& queue, int64_t columns) {
  if (!queue.on_gpu()) return static_cast<size_t>(columns * kSumLanes);
  const int64_t first = columns > 256 ? 1024 * columns : 262144;
  return static_cast<size_t>(first + first / 8);
}

// A function of rows calls sums.add(column, x), where the lanes of x are consecutive rows. `sums` is one of the
// following three types.

// Sums in memory, on a host.
struct HostSums {
  double* lanes;  // [columns, kSumLanes]
  int first;      // the lane of the first row
  template <class X>
  DRL_HD void add(int column, X x) const {
    double* at = lanes + column * kSumLanes + first;
    if constexpr (kLanesOf<X> == 1) {
      *at += static_cast<double>(x);
    } else {
      store(at, Wide<X>::load(at) + convert<Wide<X>>(x));
    }
  }
};
// Sums of `Columns` columns in registers, on a host.
template <class F, int Columns>
struct RegisterSums {
  static constexpr int kParts = kSumLanes / kLanesOf<F>;  // registers for 16 rows
  Wide<F> sums[Columns][kParts];
  int part = 0;
  template <class X>
  DRL_HD void add(int column, X x) {
    sums[column][part] = sums[column][part] + convert<Wide<F>>(x);
  }
};
// The sums of one GPU thread. The first columns stay in its registers.
struct ThreadSums {
  static constexpr int kInRegisters = 8;
  double* memory;  // [columns]
  double registers[kInRegisters] = {};
  template <class X>
  DRL_HD void add(int column, X x) {
    if (column < kInRegisters) {
      registers[column] += static_cast<double>(x);
    } else {
      memory[column] += static_cast<double>(x);
    }
  }
};

// The kernel of add_rows for a function of rows: function.lanes<F>(row, sums) processes rows row, row + 1, ..., one per
// lane of F, and adds to `sums`.
template <class Function>
struct HostSumRows {
  Function function;
  double* out;  // [columns, kSumLanes], added to
  template <class F>
  DRL_HD void lanes(int64_t row) const {
    HostSums sums{out, static_cast<int>(row % kSumLanes)};
    function.template lanes<F>(row, sums);
  }
  // Does the same for whole groups of 16 rows, with the sums in registers: additions in memory would each wait for the
  // previous one. Returns the first row that was not processed.
  template <class F>
  requires requires { Function::Loaded::kColumns; }
  DRL_HD int64_t many(int64_t row, int64_t end) const {
    if (row % kSumLanes != 0) return row;
    constexpr int columns = Function::Loaded::kColumns;
    using Sums = RegisterSums<F, columns>;
    Sums sums;
    for (int c = 0; c < columns; ++c)
      for (int p = 0; p < Sums::kParts; ++p) sums.sums[c][p] = Wide<F>::load(out + c * kSumLanes + p * kLanesOf<F>);
    for (; row + kSumLanes <= end; row += kSumLanes)
      for (sums.part = 0; sums.part < Sums::kParts; ++sums.part)
        function.template lanes<F>(row + sums.part * kLanesOf<F>, sums);
    for (int c = 0; c < columns; ++c)
      for (int p = 0; p < Sums::kParts; ++p) store(out + c * kSumLanes + p * kLanesOf<F>, sums.sums[c][p]);
    return row;
  }
};
template <class Function>
struct GpuSumRows {
  using GpuOnly = void;
  Function function;
  int64_t rows, columns, partials;
  double* out;  // [partials, columns], added to
  DRL_HD void operator()(int64_t p) const {
    ThreadSums sums{out + p * columns};
    for (int64_t row = p; row < rows; row += partials) function.template lanes<float>(row, sums);
    for (int c = 0; c < ThreadSums::kInRegisters && c < columns; ++c) sums.memory[c] += sums.registers[c];
  }
};

// A function of rows that sums all columns of a Load. load.at<F>(row, column) returns the terms of rows row, row + 1,
// ..., one per lane of F, as doubles. It is called once for each row and column. A Load with few columns declares their
// number as kColumns, so that sums stay in registers.
template <class Load>
struct AllColumns {
  using Loaded = Load;
  Load load;
  int columns;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t row, Sums& sums) const {
    if constexpr (requires { Load::kColumns; }) {
      for (int c = 0; c < Load::kColumns; ++c) sums.add(c, load.template at<F>(row, c));
    } else {
      for (int c = 0; c < columns; ++c) sums.add(c, load.template at<F>(row, c));
    }
  }
};
template <class Load>
struct GpuSumColumns {
  using GpuOnly = void;
  Load load;
  int64_t rows, columns, partials;
  double* out;  // [partials, columns], written
  DRL_HD void operator()(int64_t i) const {
    const int column = static_cast<int>(i % columns);
    double sum = 0;
    for (int64_t row = i / columns; row < rows; row += partials) sum += load.template at<float>(row, column);
    out[i] = sum;
  }
};

// Returns in[0] + in[stride] + ... for up to kSumLanes numbers, added in this order. It loads all of them first.
DRL_HD double sum_lanes(const double* in, int64_t stride, int64_t count) {
  double x[kSumLanes], sum = 0;
  for (int k = 0; k < kSumLanes; ++k) x[k] = k < count ? in[k * stride] : 0;
  for (int k = 0; k < kSumLanes; ++k) sum += x[k];
  return sum;
}
// An intermediate stage on a GPU: adds the partial sums p, p + fewer, p + 2 fewer, ...
struct IntermediateSums {
  using GpuOnly = void;
  const double* in;  // [kSumLanes * fewer, columns]
  int64_t stride;    // fewer * columns
  double* out;       // [fewer, columns]
  DRL_HD void operator()(int64_t i) const { out[i] = sum_lanes(in + i, stride, kSumLanes); }
};
// The last stage: adds the remaining partial sums of each column and calls store(column, sum).
template <class Store>
struct FinalSums {
  Store store;
  const double* in;
  int64_t column_stride, stride, count;
  DRL_HD void operator()(int64_t column) const {
    store(static_cast<int>(column), sum_lanes(in + column * column_stride, stride, count));
  }
};

template <class Store>
inline constexpr bool kGpuOnly<FinalSums<Store>> = kGpuOnly<Store>;

// The sums of a function of rows, in three steps: clear_sums, then add_rows for any number of parts of the rows, then
// finish_sums. `scratch` holds sum_scratch(columns) doubles.
inline void clear_sums(Queue& queue, int64_t columns, double* scratch) {
  queue.clear(scratch, static_cast<size_t>(columns * (queue.on_gpu() ? partial_count(columns) : kSumLanes)));
}
template <class Function>
void add_rows(Queue& queue, int64_t rows, int64_t columns, double* scratch, const Function& function) {
  if (!queue.on_gpu()) return for_each(queue, rows, HostSumRows<Function>{function, scratch});
  const int64_t partials = partial_count(columns);
  for_each(queue, partials, GpuSumRows<Function>{function, rows, columns, partials, scratch});
}
template <class Store>
void finish_sums(Queue& queue, int64_t columns, double* scratch, const Store& store, int64_t rows = kManyRows) {
  if (!queue.on_gpu()) return for_each(queue, columns, FinalSums<Store>{store, scratch, kSumLanes, 1, kSumLanes});
  double* in = scratch;
  int64_t partials = partial_count(columns, rows);
  while (partials > kSumLanes) {
    double* out = in + partials * columns;
    partials /= kSumLanes;
    for_each(queue, partials * columns, IntermediateSums{in, partials * columns, out});
    in = out;
  }
  for_each(queue, columns, FinalSums<Store>{store, in, 1, columns, partials});
}

// Enqueues store(c, sum over rows of load(row, c)) for each column c.
template <class Load, class Store>
void sum_columns(Queue& queue, int64_t rows, int64_t columns, double* scratch, const Load& load, const Store& store) {
  if (columns == 0) return;
  if (queue.on_gpu()) {
    const int64_t partials = partial_count(columns, rows);
    for_each(queue, partials * columns, GpuSumColumns<Load>{load, rows, columns, partials, scratch});
  } else if constexpr (!kGpuOnly<Load>) {
    clear_sums(queue, columns, scratch);
    for_each(queue, rows, HostSumRows<AllColumns<Load>>{{load, static_cast<int>(columns)}, scratch});
  }
  finish_sums(queue, columns, scratch, store, rows);
}

// A Store that writes the sums to an array.
struct StoreTo {
  double* out;
  DRL_HD void operator()(int column, double sum) const { out[column] = sum; }
};
// A Store that writes the number of rows, and then the sums.
struct StoreMoments {
  int64_t rows;
  double* out;
  DRL_HD void operator()(int column, double sum) const {
    if (column == 0) *out = static_cast<double>(rows);
    out[1 + column] = sum;
  }
};

}  // namespace drl
