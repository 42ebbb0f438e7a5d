// The loop over environments of a compiled robot for one instruction set, as a library of tasks contains it.
// tools/compare_robots --code measures how long it takes to compile and how large it becomes.
#include DRL_HEADER
#include "drl/lanes/loop.hpp"
#include "drl/physics/loop.hpp"

namespace drl::DRL_ISA {

using Step = StepRobots<DRL_COMPILED>;
template void loop<Step>(int64_t, int64_t, const Step&);

}  // namespace drl::DRL_ISA
