// The compiled model of tools/compare_robots: DRL_HEADER is the header that drl_robot wrote, DRL_COMPILED its robot.
#pragma once

#include DRL_HEADER
#include "drl/physics/shared_heights.hpp"
#include "drl/physics/support.hpp"
#include "physics/reference.hpp"

namespace drl {

using Compiled = DRL_COMPILED;

// Draws a control within its range, or from -1 to 1 if it has none.
inline double random_control(const mjModel& m, int actuator, test::Reference& draws) {
  const double* range = m.actuator_ctrlrange + 2 * actuator;
  return m.actuator_ctrllimited[actuator] ? range[0] + (range[1] - range[0]) * 0.5 * (1 + draws.draw()) : draws.draw();
}
// Draws positions within the limits of hinges and slides.
inline void draw_positions(const mjModel& m, mjData& d, test::Reference& draws) {
  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_type[j] != mjJNT_HINGE && m.jnt_type[j] != mjJNT_SLIDE) continue;
    double& position = d.qpos[m.jnt_qposadr[j]];
    const double* range = m.jnt_range + 2 * j;
    position =
        m.jnt_limited[j] ? range[0] + (range[1] - range[0]) * 0.5 * (1 + draws.draw()) : position + 0.5 * draws.draw();
  }
}

}  // namespace drl
