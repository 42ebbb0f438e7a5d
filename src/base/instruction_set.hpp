#pragma once

namespace drl {

// "x86-64-v4", or what else the hot loops (DRL_CLONES, base/simd.hpp) take on this machine.
const char* instruction_set();

}  // namespace drl
