// A CPU's loop over a function object, in the lanes of this unit's instruction set. Its lanes<F>(i) does the indices
// i, i + 1, ... of F's lanes at once; one that has operator()(i) instead does them one by one. Its many<F>(i, end), if
// it has that, does as many from i as it likes and gives the first that it did not.
#pragma once

#include <cstdint>

#include "drl/lanes.hpp"

namespace drl {
inline namespace DRL_ISA {

static_assert(kFloatLanes == DRL_LANES, "compiled for another instruction set than the namespace says");

template <class Function>
void loop(int64_t begin, int64_t end, const Function& given) {
  const Function function = given;  // which no store of its own can change
  int64_t i = begin;
  if constexpr (requires { function(i); }) {
    for (; i < end; ++i) function(i);
  } else {
    using Lanes = Pack<float, kFloatLanes>;
    if constexpr (requires { function.template many<Lanes>(i, end); }) i = function.template many<Lanes>(i, end);
    for (; i + kFloatLanes <= end; i += kFloatLanes) function.template lanes<Lanes>(i);
    for (; i < end; ++i) function.template lanes<float>(i);
  }
}

}  // namespace DRL_ISA
}  // namespace drl
