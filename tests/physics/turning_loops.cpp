#include "device/hot_loop.hpp"
#include "turning_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<tumbler_robot>)

}  // namespace drl::DRL_ISA
