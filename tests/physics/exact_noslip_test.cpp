// Tests the noslip solver.
#include "exact.hpp"
#include "lanes.hpp"
#include "noslip_robots.hpp"

namespace drl {
namespace {

template <>
struct Files<noslip_robot> {
  static constexpr const char* file = "tests/physics/models/noslip.xml";
};
template <>
struct Files<noslip_elliptic_robot> {
  static constexpr const char* file = "tests/physics/models/noslip_elliptic.xml";
};
template <>
struct Files<gears_robot> {
  static constexpr const char* file = "tests/physics/models/gears.xml";
};
template <>
struct Files<gears_rk4_robot> {
  static constexpr const char* file = "tests/physics/models/gears_rk4.xml";
};
using NoslipRobots = testing::Types<noslip_robot, noslip_elliptic_robot, gears_robot, gears_rk4_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Noslip, Exact, NoslipRobots);
TEST(Lanes, OfNoslipAreIndependentAndAccurate) { expect_lanes<noslip_robot>(Files<noslip_robot>::file, 1e-6); }
TEST(Lanes, OfEllipticNoslipAreIndependentAndAccurate) {
  expect_lanes<noslip_elliptic_robot>(Files<noslip_elliptic_robot>::file, 1e-6);
}
TEST(Lanes, OfNoslipWithoutContactsAreIndependentAndAccurate) {
  static_assert(gears_robot::Physics<double>::kPairs == 0 && gears_robot::Physics<double>::kDense);
  expect_lanes<gears_robot>(Files<gears_robot>::file, 1e-6);
}

// The states that the other tests compare have contacts of all dimensions.
TEST(NoslipSolver, ComparesContactsOfAllDimensions) {
  for (const char* file : {Files<noslip_robot>::file, Files<noslip_elliptic_robot>::file}) {
    test::Reference reference(file);
    int contacts[7] = {};
    for (int k = 0; k < 3000; ++k) {
      const mjData& d = reference.after_forward(reference.next_state());
      for (int c = 0; c < d.ncon; ++c) contacts[d.contact[c].dim] += 1;
    }
    for (const int dimensions : {1, 3, 4, 6}) EXPECT_GE(contacts[dimensions], 50) << file << ": " << dimensions;
  }
}

// Most states that the other tests compare would differ without the noslip solver.
TEST(NoslipSolver, ChangesMostStates) {
  for (const char* file : {Files<noslip_robot>::file, Files<noslip_elliptic_robot>::file, Files<gears_robot>::file}) {
    test::Reference reference(file), without(file);
    without.disable_noslip();
    int differ = 0;
    for (int k = 0; k < 300; ++k) {
      const RobotState at = reference.next_state();
      const mjData& d = reference.after_forward(at);
      differ += test::difference(without.after_forward(at).qacc, d.qacc, reference.model().nv) > 1e-4 ? 1 : 0;
    }
    EXPECT_GE(differ, 150) << file;
  }
}

// A force within the friction cone does not move the sled at all. A larger one does, against the friction coefficient
// times the normal force, which balances the weight and accelerates the sled upwards.
TEST(NoslipSolver, HoldsForcesWithinTheFrictionCone) {
  using P = sled_robot::Physics<double>;
  constexpr double kFriction = 0.5, kGravity = 9.81;
  P::State state{};
  P::Stage stage{};
  for (const double pull : {0.0, 1.0, -2.0, 4.0, 40.0, -60.0}) {
    physics::evaluate<P>(state, &pull, stage);
    const double normal = stage.qacc[2] + kGravity;  // of 1 kg
    ASSERT_GT(kFriction * normal, 4);
    ASSERT_LT(kFriction * normal, 40);
    const double held = std::abs(pull) < 40 ? pull : std::copysign(kFriction * normal, pull);
    EXPECT_NEAR(stage.qacc[0], pull - held, 1e-9) << pull;
    EXPECT_NEAR(stage.qacc[1], 0, 1e-9);
    EXPECT_EQ(stage.unsolved, 0);
  }
}

}  // namespace
}  // namespace drl
