// Compares a ball joint with values computed by hand, for 1 kg m^2 on a spring of 2 N m (models/pivot.xml).
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "drl/physics/loop.hpp"
#include "physics/pivot.hpp"

namespace drl {
namespace {

using namespace physics;
using P = pivot_robot::Physics<double>;

// Returns the joint's acceleration after a turn about z.
std::array<double, 3> acceleration(double angle, double speed, double control) {
  P::State state{{std::cos(angle / 2), 0, 0, std::sin(angle / 2)}, {0, 0, speed}, {}, 0};
  P::Stage stage;
  evaluate<P>(state, &control, stage);
  EXPECT_EQ(stage.unsolved, 0);
  return {{stage.qacc[0], stage.qacc[1], stage.qacc[2]}};
}

TEST(BallJoint, SpringAndMotorTurnIt) {
  const auto a = acceleration(0.3, 0, 0.7);
  EXPECT_NEAR(a[0], 0.1 * 0.7, 1e-14);
  EXPECT_NEAR(a[1], 0.2 * 0.7, 1e-14);
  EXPECT_NEAR(a[2], 0.3 * 0.7 - 2 * 0.3, 1e-14);
  EXPECT_NEAR(acceleration(-0.3, 0, 0)[2], 2 * 0.3, 1e-14);
}
// The limit's impedance is 0.95 deep in it. It leaves 1 - 0.95 of the acceleration, relative to its reference.
TEST(BallJoint, LimitPushesBack) {
  constexpr double kDamping = 2 / (0.95 * 0.02), kStiffness = 1 / (0.95 * 0.95 * 0.02 * 0.02);
  const double speed = 0.2, free = -2 * 0.6, push = free + kDamping * speed + kStiffness * 0.95 * 0.1;
  EXPECT_NEAR(acceleration(0.6, speed, 0)[2], free - 0.95 * push, 1e-11);
}
// A step of 0.002 s at 3 rad/s turns it by 0.006 about z.
TEST(BallJoint, TurnsByItsVelocity) {
  P::State state{{1, 0, 0, 0}, {0, 0, 3}, {}, 0};
  P::Stage stage;
  const double control = 0;
  step<P>(state, &control, stage);
  EXPECT_NEAR(state.qpos[0], std::cos(0.003), 1e-15);
  EXPECT_NEAR(state.qpos[3], std::sin(0.003), 1e-15);
}

}  // namespace
}  // namespace drl
