#include "device/hot_loop.hpp"
#include "tendon_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<cords_robot>)
DRL_HOST_LOOP(StepRobots<cords_elliptic_robot>)
DRL_HOST_LOOP(StepRobots<ropes_robot>)
DRL_HOST_LOOP(StepRobots<balls_robot>)
DRL_HOST_LOOP(StepRobots<muscles_robot>)
DRL_HOST_LOOP(StepRobots<thrusters_robot>)

}  // namespace drl::DRL_ISA
