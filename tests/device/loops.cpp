#include "loops.hpp"

#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(test::MathOf)
DRL_LOOP(test::MultiplyAdd)
DRL_LOOP(test::RandomBits)

}  // namespace drl::DRL_ISA
