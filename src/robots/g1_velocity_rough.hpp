// G1-Velocity-Rough is mjlab 1.6.0's Mjlab-Velocity-Rough-Unitree-G1 (tasks/velocity/config/g1): a humanoid follows
// commanded velocities over slopes, stairs and other rough ground.
#pragma once

#include "drl/robots/rough.hpp"
#include "robots/g1.hpp"

namespace drl {

struct G1Rough : velocity::OnRoughGround<G1Robot> {
  static constexpr const char* name = "G1-Velocity-Rough";
  static constexpr char description[] = "a humanoid robot (Unitree G1) walks over rough ground";
  static constexpr RobotModel model{"g1_rough.xml", 4, "unitree_g1/g1.xml",
                                    "tools/fetch_robots in drl's source directory"};
};

template <class R>
struct G1VelocityRough : velocity::Rough<R, G1Rough> {};

}  // namespace drl

DRL_ROBOT(drl::G1VelocityRough)
