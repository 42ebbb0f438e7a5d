// A step of a compiled robot in the lanes of one instruction set, with its forces and sensors, as a library of tasks
// contains it. tools/compare_robots --code measures how long it takes to compile and how large it becomes.
#include DRL_HEADER
#include "drl/lanes/loop.hpp"

#include "drl/physics/loop.hpp"

namespace drl {

template void StepRobots<DRL_COMPILED>::lanes<Pack<float, DRL_LANES>>(int64_t) const;

}  // namespace drl
