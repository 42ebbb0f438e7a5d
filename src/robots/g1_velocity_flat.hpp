// G1-Velocity-Flat is mjlab 1.6.0's Mjlab-Velocity-Flat-Unitree-G1 (tasks/velocity/config/g1): a humanoid follows
// commanded velocities on flat ground.
#pragma once

#include "robots/g1.hpp"

namespace drl {

struct G1 : G1Robot {
  static constexpr const char* name = "G1-Velocity-Flat";
  static constexpr char description[] = "a humanoid robot (Unitree G1) walks at a commanded velocity";
  static constexpr RobotModel model{"g1.xml", 4, "unitree_g1/g1.xml", "tools/fetch_robots in drl's source directory"};
};

template <class R>
struct G1VelocityFlat : velocity::Flat<R, G1> {};

}  // namespace drl

DRL_ROBOT(drl::G1VelocityFlat)
