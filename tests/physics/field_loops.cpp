#include "device/hot_loop.hpp"
#include "field_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<bumps_robot>)
DRL_HOST_LOOP(StepRobots<hills_robot>)
DRL_HOST_LOOP(StepRobots<stones_robot>)

}  // namespace drl::DRL_ISA
