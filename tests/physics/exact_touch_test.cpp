// Tests sensors of touch, force and torque.
#include <algorithm>
#include <cmath>

#include "exact.hpp"
#include "lanes.hpp"
#include "touch_robots.hpp"
#include "two_geoms.hpp"

namespace drl {
namespace {

using physics::ShapeKind;
using test::Draws;

template <>
struct Files<toucher_robot> {
  static constexpr const char* file = "tests/physics/models/toucher.xml";
};
template <>
struct Files<toucher_elliptic_robot> {
  static constexpr const char* file = "tests/physics/models/toucher_elliptic.xml";
};
using TouchRobots = testing::Types<toucher_robot, toucher_elliptic_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Touch, Exact, TouchRobots);
TEST(Lanes, OfToucherAreIndependentAndAccurate) { expect_lanes<toucher_robot>(Files<toucher_robot>::file); }

// Counts what is felt in random motion, so that the comparisons above include it: each touch sensor shows a force, and
// nothing although its body is touched.
using Toucher = Exact<toucher_robot>;
TEST_F(Toucher, FeelsAndDoesNotFeelWhatTouchesItsBodies) {
  const mjModel& m = reference.model();
  std::vector<int> felt(static_cast<size_t>(m.nsensor)), missed = felt;
  for (int k = 0; k < 6000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    for (int s = 0; s < m.nsensor; ++s) {
      if (m.sensor_type[s] != mjSENS_TOUCH) continue;
      const int body = m.site_bodyid[m.sensor_objid[s]];
      const bool is_touched = std::any_of(d.contact, d.contact + d.ncon, [&](const mjContact& c) {
        return c.efc_address >= 0 && (m.geom_bodyid[c.geom[0]] == body || m.geom_bodyid[c.geom[1]] == body);
      });
      const bool is_felt = d.sensordata[m.sensor_adr[s]] > 0;
      felt[static_cast<size_t>(s)] += is_felt, missed[static_cast<size_t>(s)] += is_touched && !is_felt;
    }
  }
  for (int s = 0; s < m.nsensor; ++s)
    if (m.sensor_type[s] == mjSENS_TOUCH) {
      EXPECT_GE(felt[static_cast<size_t>(s)], 10) << mj_id2name(&m, mjOBJ_SENSOR, s);
      EXPECT_GE(missed[static_cast<size_t>(s)], 10) << mj_id2name(&m, mjOBJ_SENSOR, s);
    }
}

// Rays from random places towards volumes of all kinds, also along the volumes' axes, and what libmujoco's rays meet.
TEST(TouchSensor, RaysMeetWhatLibmujocosDo) {
  Draws draw(3);
  for (const ShapeKind kind :
       {ShapeKind::sphere, ShapeKind::capsule, ShapeKind::ellipsoid, ShapeKind::cylinder, ShapeKind::box}) {
    int hits = 0;
    for (int n = 0; n < 5000; ++n) {
      const double size[3] = {draw(0.1, 0.5), draw(0.1, 0.5), draw(0.1, 0.5)};
      const physics::Vec3 from{draw(-0.4, 0.4), draw(-0.4, 0.4), draw(-0.4, 0.4)};
      physics::Vec3 along = draw.direction();
      if (n % 3 == 0) {
        const double sign = n % 2 == 0 ? 1 : -1;
        along = {0, 0, 0}, along[n / 6 % 3] = sign;
      }
      const double origin[3] = {0, 0, 0}, axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      const bool expected =
          mju_rayGeom(origin, axes, size, from.at, along.at, 1 + static_cast<int>(kind), nullptr) >= 0;
      EXPECT_EQ(physics::ray_meets(kind, size, from.at, along.at), expected)
          << "kind " << static_cast<int>(kind) << ", ray " << n;
      hits += expected;
    }
    EXPECT_GT(hits, 1000);
    EXPECT_LT(hits, 4500);
  }
}

}  // namespace
}  // namespace drl
