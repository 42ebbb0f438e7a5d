#include "device/hot_loop.hpp"
#include "physics_robots.hpp"

namespace drl::DRL_ISA {

#define DRL_STEP(robot) DRL_HOST_LOOP(StepRobots<robot>)
DRL_FOR_EACH_ROBOT(DRL_STEP)

}  // namespace drl::DRL_ISA
