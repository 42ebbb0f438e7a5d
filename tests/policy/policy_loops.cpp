#include "policy_loops.hpp"

#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_DISTRIBUTIONS(DRL_LOOP, test::Sample)
DRL_DISTRIBUTIONS(DRL_LOOP, test::MostProbable)
DRL_DISTRIBUTIONS(DRL_SUM_ROWS, test::Differentiate)

}  // namespace drl::DRL_ISA
