#include "device/hot_loop.hpp"
#include "stack_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<stack_robot>)
DRL_HOST_LOOP(StepRobots<stack_elliptic_robot>)
DRL_HOST_LOOP(StepRobots<heap_robot>)
DRL_HOST_LOOP(StepRobots<stairs_robot>)

}  // namespace drl::DRL_ISA
