// The host's loops over function objects, for a unit that is compiled once for each instruction set. Such a unit holds
// nothing but these: a function of the standard library would be compiled for that instruction set too, and the linker
// could take it for all others.
#pragma once

#include <cstdint>
#include "drl/lanes.hpp"

namespace drl::DRL_ISA {

template <class Function>
void loop(int64_t begin, int64_t end, const Function& given) {
  const Function function = given;  // which no store of its own can change
  int64_t i = begin;
  if constexpr (requires { function(i); }) {
    for (; i < end; ++i) function(i);
  } else {
    using Lanes = Pack<float, kFloatLanes>;
    for (; i + kFloatLanes <= end; i += kFloatLanes) function.template lanes<Lanes>(i);
    for (; i < end; ++i) function.template lanes<float>(i);
  }
}

#define DRL_INSTANTIATE_LOOP(Function) template void loop<Function>(int64_t, int64_t, const Function&);

}  // namespace drl::DRL_ISA
