// Runs a function object over a range of indices on a CPU, in the lanes of this unit's instruction set. The object
// defines lanes<F>(i), which processes as many indices at once as F has lanes (i, i + 1, ...), or operator()(i), which
// processes one index. It may also define many<F>(i, end), which processes any number of indices from i on and returns
// the first one that it has not processed.
#pragma once

#include <cstdint>

#include "drl/lanes/lanes.hpp"

namespace drl::inline DRL_ISA {

static_assert(kFloatLanes == DRL_LANES, "the compiler's instruction set does not match the namespace DRL_ISA");

template <class Function>
void loop(int64_t begin, int64_t end, const Function& given) {
  const Function function = given;  // a local copy, so that the compiler knows that no store changes it
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

}  // namespace drl::inline DRL_ISA
