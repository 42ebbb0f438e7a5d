#include "device/hot_loop.hpp"
#include "noslip_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<noslip_robot>)
DRL_HOST_LOOP(StepRobots<noslip_elliptic_robot>)
DRL_HOST_LOOP(StepRobots<gears_robot>)

}  // namespace drl::DRL_ISA
