#include "adhesion_robots.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<gecko_robot>)
DRL_HOST_LOOP(StepRobots<gecko_elliptic_robot>)

}  // namespace drl::DRL_ISA
