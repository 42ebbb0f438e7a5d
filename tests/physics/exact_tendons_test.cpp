// Tests robots with tendons, with actuators on other parts than joints, with activations, and with ball joints.
#include "exact.hpp"
#include "lanes.hpp"
#include "tendon_robots.hpp"

namespace drl {
namespace {

template <>
struct Files<cords_robot> {
  static constexpr const char* file = "tests/physics/models/cords.xml";
};
template <>
struct Files<cords_elliptic_robot> {
  static constexpr const char* file = "tests/physics/models/cords_elliptic.xml";
};
template <>
struct Files<ropes_robot> {
  static constexpr const char* file = "tests/physics/models/ropes.xml";
};
template <>
struct Files<thrusters_robot> {
  static constexpr const char* file = "tests/physics/models/thrusters.xml";
};
template <>
struct Files<muscles_robot> {
  static constexpr const char* file = "tests/physics/models/muscles.xml";
};
template <>
struct Files<muscles_rk4_robot> {
  static constexpr const char* file = "tests/physics/models/muscles_rk4.xml";
};
template <>
struct Files<balls_robot> {
  static constexpr const char* file = "tests/physics/models/balls.xml";
};
using TendonRobots = testing::Types<cords_robot, cords_elliptic_robot, ropes_robot, thrusters_robot, muscles_robot,
                                    muscles_rk4_robot, balls_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Tendons, Exact, TendonRobots);
// The tendons' rows are stiffer than those of contacts.
TEST(Lanes, OfCordsAreIndependentAndAccurate) { expect_lanes<cords_robot>(Files<cords_robot>::file, 5e-4); }
TEST(Lanes, OfEllipticCordsAreIndependentAndAccurate) {
  expect_lanes<cords_elliptic_robot>(Files<cords_elliptic_robot>::file, 5e-4);
}
TEST(Lanes, OfThrustersAreIndependentAndAccurate) { expect_lanes<thrusters_robot>(Files<thrusters_robot>::file); }
TEST(Lanes, OfMusclesAreIndependentAndAccurate) { expect_lanes<muscles_robot>(Files<muscles_robot>::file); }
TEST(Lanes, OfBallsAreIndependentAndAccurate) { expect_lanes<balls_robot>(Files<balls_robot>::file); }
TEST(Lanes, OfRopesAreIndependentAndAccurate) { expect_lanes<ropes_robot>(Files<ropes_robot>::file); }

}  // namespace
}  // namespace drl
