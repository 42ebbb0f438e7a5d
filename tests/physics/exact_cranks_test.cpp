// Tests slider-cranks.
#include "crank_robots.hpp"
#include "exact.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

template <>
struct Files<crank_robot> {
  static constexpr const char* file = "tests/physics/models/crank.xml";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cranks, Exact, crank_robot);
TEST(Lanes, OfCranksAreIndependentAndAccurate) { expect_lanes<crank_robot>(Files<crank_robot>::file); }

// The short rod reaches its rail in some of the states that the other tests compare.
TEST(Crank, RodReachesInSomeStatesOnly) {
  test::Reference reference(Files<crank_robot>::file);
  const mjModel& m = reference.model();
  const int pin = mj_name2id(&m, mjOBJ_SITE, "pin"), rail = mj_name2id(&m, mjOBJ_SITE, "rail");
  int reaches = 0;
  for (int k = 0; k < 1000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    double way[3], axis[3];
    for (int i = 0; i < 3; ++i)
      way[i] = d.site_xpos[3 * pin + i] - d.site_xpos[3 * rail + i], axis[i] = d.site_xmat[9 * rail + 3 * i + 2];
    mju_cross(axis, way, axis);
    reaches += mju_norm3(axis) < m.actuator_cranklength[1] ? 1 : 0;
  }
  EXPECT_GE(reaches, 100);
  EXPECT_LE(reaches, 900);
}

}  // namespace
}  // namespace drl
