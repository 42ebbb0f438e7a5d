#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace drl {

// Returns the numbers of type T in these bytes, each converted to `As`. The bytes need no alignment; a part of a number
// at the end is left out.
template <class T, class As = T>
std::vector<As> numbers(std::span<const std::byte> bytes) {
  std::vector<As> result(bytes.size() / sizeof(T));
  for (size_t k = 0; k < result.size(); ++k) {
    T value;
    std::memcpy(&value, &bytes[k * sizeof(T)], sizeof(T));
    result[k] = static_cast<As>(value);
  }
  return result;
}

}  // namespace drl
