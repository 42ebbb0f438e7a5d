#include "device/hot_loop.hpp"
#include "robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<inverted_double_pendulum_robot>)
DRL_HOST_LOOP(StepRobots<half_cheetah_robot>)
DRL_HOST_LOOP(StepRobots<ant_robot>)
DRL_HOST_LOOP(StepRobots<hopper_robot>)
DRL_HOST_LOOP(StepRobots<humanoid_robot>)
DRL_HOST_LOOP(StepRobots<swimmer_robot>)
DRL_HOST_LOOP(StepRobots<tangle_robot>)

}  // namespace drl::DRL_ISA
