// Reads numbers from bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace drl {

// Returns the number of type T that begins here. The bytes need no alignment.
template <class T>
T number_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Returns the numbers of type T in these bytes, each converted to `As`. The bytes need no alignment; a part of a number
// at the end is left out.
template <class T, class As = T>
std::vector<As> numbers(std::span<const std::byte> bytes) {
  std::vector<As> result(bytes.size() / sizeof(T));
  for (size_t k = 0; k < result.size(); ++k) result[k] = static_cast<As>(number_at<T>(&bytes[k * sizeof(T)]));
  return result;
}

}  // namespace drl
