// Checks that a velocity task's header and its model have the same motors, and that the robot starts on its feet.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "drl/physics/mujoco.hpp"
#include "robots/velocity.hpp"

namespace drl {

// Returns the height of a geom's lowest point in m. The geom is a sphere, a capsule or a box.
inline double lowest_point(const mjModel& m, const mjData& data, int geom) {
  const double* size = m.geom_size + 3 * geom;
  const double* up = data.geom_xmat + 9 * geom + 6;  // the world's z axis in the geom's frame
  double below = size[0];
  if (m.geom_type[geom] == mjGEOM_CAPSULE) below += size[1] * std::abs(up[2]);
  if (m.geom_type[geom] == mjGEOM_BOX) {
    below = 0;
    for (int k = 0; k < 3; ++k) below += size[k] * std::abs(up[k]);
  }
  return data.geom_xpos[3 * geom + 2] - below;
}

template <class Config>
void expect_header_agrees_with_model(double kg) {
  static constexpr char here = 0;
  const auto model = load_model(find_model(Config::model, &here));
  const mjModel& m = *model;
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(&m), mj_deleteData);
  ASSERT_EQ(m.nu, std::size(Config::joints));
  data->qpos[2] = Config::height;
  for (int k = 0; k < m.nu; ++k) {
    const velocity::Joint& joint = Config::joints[k];
    const int id = m.actuator_trnid[2 * k];
    EXPECT_STREQ(mj_id2name(&m, mjOBJ_JOINT, id), joint.name) << "the controls are in the order of the joints";
    EXPECT_EQ(m.actuator_gainprm[mjNGAIN * k], joint.motor.stiffness) << joint.name;
    EXPECT_EQ(m.actuator_biasprm[mjNBIAS * k + 1], -joint.motor.stiffness) << joint.name;
    EXPECT_EQ(m.actuator_biasprm[mjNBIAS * k + 2], -joint.motor.damping) << joint.name;
    EXPECT_EQ(m.actuator_forcerange[2 * k], -joint.motor.torque) << joint.name;
    EXPECT_EQ(m.actuator_forcerange[2 * k + 1], joint.motor.torque) << joint.name;
    EXPECT_GT(joint.angle, m.jnt_range[2 * id]) << joint.name;
    EXPECT_LT(joint.angle, m.jnt_range[2 * id + 1]) << joint.name;
    data->qpos[m.jnt_qposadr[id]] = joint.angle;
  }
  EXPECT_NEAR(mj_getTotalmass(&m), kg, 0.05 * kg);

  // Episodes start with the root 1 to 5 cm higher. In this posture, all feet are at the floor.
  mj_kinematics(&m, data.get());
  for (const velocity::Foot& foot : Config::feet) {
    const int site = mj_name2id(&m, mjOBJ_SITE, foot.site), body = mj_name2id(&m, mjOBJ_BODY, foot.body);
    ASSERT_GE(std::min(site, body), 0) << foot.site;
    EXPECT_EQ(m.site_bodyid[site], body);
  }
  for (const char* name : Config::foot_geoms) {
    const int geom = mj_name2id(&m, mjOBJ_GEOM, name);
    ASSERT_GE(geom, 0) << name;
    EXPECT_NEAR(lowest_point(m, *data, geom), 0, 0.04) << name;
  }
}

}  // namespace drl
