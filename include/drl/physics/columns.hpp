// Arrays of a robot's step that are not on the stack of a GPU's thread.
//
// The driver reserves memory for the stacks of all threads that the multiprocessors can hold, although the registers of
// a large robot's step allow an eighth of them. So robots with many rows of pairs have their largest arrays in columns,
// which are allocated for each environment (WorkSizes in drl/physics/work.hpp). Numbers of kColumnEnvs neighbouring
// environments with the same index are next to each other, so that a warp reads them together.
#pragma once

#include <type_traits>

#include "drl/lanes/lanes.hpp"

namespace drl::inline DRL_ISA::physics {

// C++ has no arrays of length 0.
constexpr int at_least_one(int n) { return n > 0 ? n : 1; }
// An array that takes no space if it is empty.
template <class T, int n>
struct Empty {};
template <class T, int n>
using Array = std::conditional_t<(n > 0), T[at_least_one(n)], Empty<T, n>>;

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
}  // namespace drl::inline DRL_ISA::physics
