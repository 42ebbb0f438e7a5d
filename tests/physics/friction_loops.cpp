#include "device/hot_loop.hpp"
#include "friction_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<slider_robot>)
DRL_HOST_LOOP(StepRobots<manipulator_robot>)

}  // namespace drl::DRL_ISA
