// Sums in a fixed tree.
#pragma once

#include <cstddef>
#include <span>

namespace drl {

// Adds `count` numbers of each array element by element to those of the first one, as ((0 + 1) + (2 + 3)) + ...; the
// numbers of the other arrays are lost. Arrays of which each is such a sum of equally many give the same result as all
// of their terms at once, if the number of terms is a power of two.
template <class T>
void add_in_tree(std::span<T* const> arrays, size_t count) {
  for (size_t step = 1; step < arrays.size(); step *= 2)
    for (size_t k = 0; k + step < arrays.size(); k += 2 * step)
      for (size_t i = 0; i < count; ++i) arrays[k][i] += arrays[k + step][i];
}

}  // namespace drl
