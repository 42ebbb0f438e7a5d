// Go1-Velocity-Flat is mjlab 1.6.0's Mjlab-Velocity-Flat-Unitree-Go1 (tasks/velocity/config/go1): a four-legged robot
// follows commanded velocities on flat ground.
#pragma once

#include "robots/go1.hpp"

namespace drl {

struct Go1 : Go1Robot {
  static constexpr const char* name = "Go1-Velocity-Flat";
  static constexpr char description[] = "a quadruped (Unitree Go1) walks at a commanded velocity";
  static constexpr RobotModel model{"go1.xml", 4, "unitree_go1/go1.xml",
                                    "tools/fetch_robots in drl's source directory"};
};

template <class R>
struct Go1VelocityFlat : velocity::Flat<R, Go1> {};

}  // namespace drl

DRL_ROBOT(drl::Go1VelocityFlat)
