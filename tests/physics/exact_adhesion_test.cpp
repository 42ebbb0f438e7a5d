// Tests robots with actuators that adhere to contacts, and with friction that differs by direction.
#include <cmath>

#include "adhesion_robots.hpp"
#include "exact.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

template <>
struct Files<gecko_robot> {
  static constexpr const char* file = "tests/physics/models/gecko.xml";
};
template <>
struct Files<gecko_elliptic_robot> {
  static constexpr const char* file = "tests/physics/models/gecko_elliptic.xml";
};
using AdhesionRobots = testing::Types<gecko_robot, gecko_elliptic_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Adhesion, Exact, AdhesionRobots);
TEST(Lanes, OfGeckoAreIndependentAndAccurate) { expect_lanes<gecko_robot>(Files<gecko_robot>::file); }
TEST(Lanes, OfEllipticGeckoAreIndependentAndAccurate) {
  expect_lanes<gecko_elliptic_robot>(Files<gecko_elliptic_robot>::file);
}

// Counts what adheres in random motion, so that the comparisons above include contacts in the gap, contacts that push,
// several contacts of one body, and moving geoms.
using Gecko = Exact<gecko_robot>;
TEST_F(Gecko, AdheresToAllKindsOfContacts) {
  const mjModel& m = reference.model();
  const int pad = mj_name2id(&m, mjOBJ_BODY, "left_pad");
  int in_gap = 0, pushing = 0, several = 0, moving = 0;
  for (int k = 0; k < 3000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    int here = 0;
    for (int c = 0; c < d.ncon; ++c) {
      const int bodies[] = {m.geom_bodyid[d.contact[c].geom[0]], m.geom_bodyid[d.contact[c].geom[1]]};
      if (bodies[0] != pad && bodies[1] != pad) continue;
      here += 1;
      (d.contact[c].exclude == 1 ? in_gap : pushing) += 1;
      moving += m.body_weldid[bodies[0]] != 0 && m.body_weldid[bodies[1]] != 0 ? 1 : 0;
    }
    several += here > 1 ? 1 : 0;
  }
  EXPECT_GE(in_gap, 300);
  EXPECT_GE(pushing, 300);
  EXPECT_GE(several, 300);
  EXPECT_GE(moving, 30);
}

}  // namespace
}  // namespace drl
