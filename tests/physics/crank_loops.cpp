#include "crank_robots.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<crank_robot>)

}  // namespace drl::DRL_ISA
