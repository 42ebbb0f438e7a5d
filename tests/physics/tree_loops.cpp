#include "device/hot_loop.hpp"
#include "tree_robots.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<serpents_robot>)
DRL_HOST_LOOP(StepRobots<snake_robot>)

}  // namespace drl::DRL_ISA
