#include "cone_robots.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(StepRobots<crawler_robot>)
DRL_HOST_LOOP(StepRobots<feeler_cones_robot>)
DRL_HOST_LOOP(StepRobots<feeler_plane_robot>)
DRL_HOST_LOOP(StepRobots<feeler_pyramids_robot>)
DRL_HOST_LOOP(StepRobots<pincers_robot>)
DRL_HOST_LOOP(StepRobots<skater_robot>)
#if DRL_HAS_GO1
DRL_HOST_LOOP(StepRobots<go1_robot>)
#endif

}  // namespace drl::DRL_ISA
