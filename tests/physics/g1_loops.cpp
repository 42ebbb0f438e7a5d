#include "device/hot_loop.hpp"
#include "drl/physics/loop.hpp"
#include "physics/g1.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<g1_robot>)

}  // namespace drl::DRL_ISA
