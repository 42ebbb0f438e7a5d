#include "device/hot_loop.hpp"
#include "stiff_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<stiff_foot_robot>)
DRL_HOST_LOOP(StepRobots<stiff_skater_robot>)

}  // namespace drl::DRL_ISA
