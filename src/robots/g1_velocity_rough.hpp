// G1-Velocity-Rough is mjlab 1.6.0's Mjlab-Velocity-Rough-Unitree-G1 (tasks/velocity/config/g1): a humanoid follows
// commanded velocities over slopes, stairs and other rough ground.
#pragma once

#include "drl/robots/rough.hpp"
#include "robots/g1.hpp"

namespace drl {

struct G1Rough : G1Robot {
  static constexpr const char* name = "G1-Velocity-Rough";
  static constexpr char description[] = "a humanoid robot (Unitree G1) walks over rough ground";
  static constexpr RobotModel model{"g1_rough.xml", 4, "unitree_g1/g1.xml",
                                    "tools/fetch_robots in drl's source directory"};

  static constexpr EndCause ends[] = {{"fell_over"}, {"out_of_terrain_bounds", EndsAs::time_out}};
  static constexpr bool ends_by_touch = false, follows_ground = false;
  static constexpr int touch_kinds = 0;
  static constexpr std::array<velocity::Touch, 0> touches{};
  static constexpr double half = 0.015, far = 0.025980762113533160;  // of 0.03 m, at 60 degrees
  static constexpr std::array<Vec<double, 2>, 6> ring{
      {{{0.03, 0}}, {{half, far}}, {{-half, far}}, {{-0.03, 0}}, {{-half, -far}}, {{half, -far}}}};
};

template <class R>
struct G1VelocityRough : velocity::Rough<R, G1Rough> {};

}  // namespace drl

DRL_ROBOT(drl::G1VelocityRough)
