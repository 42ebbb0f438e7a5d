// Arrays of a robot's step that are not on the stack of a GPU's thread.
//
// The driver reserves memory for the stacks of all threads that the multiprocessors can hold, although the registers of
// a large robot's step allow an eighth of them. So robots with many rows of pairs have their largest arrays in columns,
// which are allocated for each environment (WorkSizes in drl/physics/work.hpp). Numbers of kColumnEnvs neighbouring
// environments with the same index are next to each other, so that a warp reads them together.
#pragma once

#include "drl/lanes/lanes.hpp"

namespace drl::inline DRL_ISA::physics {

inline constexpr int kColumnEnvs = 32;
template <class T>
struct Column {
  T* first;
  DRL_HD T& operator[](int k) const {
    DRL_IN_GLOBAL_MEMORY(first);
    return first[kColumnEnvs * k];
  }
  friend DRL_HD Column operator+(Column column, int k) { return {&column[k]}; }
};
// Vectors of `size` numbers in a column.
template <class F, int size>
struct VectorColumn {
  F* first;
  DRL_HD Column<F> operator[](int k) const { return Column<F>{first} + size * k; }
};
// The rows of pairs in a column.
template <class F, int nv>
struct PairRowColumn {
  struct Row {
    Column<F> along;
    F& rest;
  };
  F* first;
  DRL_HD Row operator[](int k) const {
    const Column<F> row = Column<F>{first} + (nv + 1) * k;
    return {row, row[nv]};
  }
};
// Returns the numbers of a vector next to each other; `buffer` [n] receives those of a column.
template <int n, class F>
DRL_HD const F* gathered(const F* vector, F*) {
  return vector;
}
template <int n, class F>
DRL_HD const F* gathered(Column<F> vector, F* buffer) {
  DRL_ROLLED
  for (int i = 0; i < n; ++i) buffer[i] = vector[i];
  return buffer;
}

}  // namespace drl::inline DRL_ISA::physics
