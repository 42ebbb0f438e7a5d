// Tables with a row for each enumerator, whose order the compiler checks.
#pragma once

#include <array>
#include <cstddef>

namespace drl {

template <class Enum, class Value>
struct EnumRow {
  Enum key;
  Value value;
};

// Returns the values of `rows`. A table whose rows are not in the order of the enumerators, from 0 to `last`, does not
// compile.
template <class Enum, class Value, size_t N>
consteval std::array<Value, N> by_enum(Enum last, const EnumRow<Enum, Value> (&rows)[N]) {
  std::array<Value, N> values{};
  for (size_t k = 0; k < N; ++k) {
    if (rows[k].key != static_cast<Enum>(k)) throw "the rows are not in the order of the enumerators";
    values[k] = rows[k].value;
  }
  if (static_cast<size_t>(last) + 1 != N) throw "an enumerator has no row";
  return values;
}

}  // namespace drl
