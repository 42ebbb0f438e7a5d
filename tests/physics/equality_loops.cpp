#include "device/hot_loop.hpp"
#include "equality_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<coupled_robot>)
DRL_HOST_LOOP(StepRobots<linkage_robot>)

}  // namespace drl::DRL_ISA
