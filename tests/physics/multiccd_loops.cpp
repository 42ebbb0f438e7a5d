#include "device/hot_loop.hpp"
#include "multiccd_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<bricks_robot>)
DRL_HOST_LOOP(StepRobots<drums_robot>)

}  // namespace drl::DRL_ISA
