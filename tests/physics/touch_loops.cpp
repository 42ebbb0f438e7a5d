#include "device/hot_loop.hpp"
#include "touch_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<toucher_robot>)
DRL_HOST_LOOP(StepRobots<toucher_elliptic_robot>)

}  // namespace drl::DRL_ISA
