// Compares a tendon's forces with values computed by hand, for the two weights of models/windlass.xml: 1 and 2 kg, and
// a tendon of length 2 x - y.
#include <gtest/gtest.h>

#include <cmath>

#include "drl/physics/loop.hpp"
#include "physics/capstan.hpp"
#include "physics/windlass.hpp"
#include "reference.hpp"

namespace drl {
namespace {

using namespace physics;
using P = windlass_robot::Physics<double>;

// The weights' accelerations, and the force of constraints on the first of them.
struct Motion {
  double first, second, constraint;
};
Motion motion(double x, double y, double x_velocity = 0, double y_velocity = 0, double control = 0) {
  P::State state{{x, y}, {x_velocity, y_velocity}, {}, 0};
  P::Stage stage;
  P::Derived derived;
  const P::Forces forces = evaluate<P>(state, &control, stage);
  EXPECT_EQ(stage.unsolved, 0);
  derive_all<P>(stage, forces, derived);
  EXPECT_NEAR(derived.qfrc_actuator[0], 2 * 2 * control, 1e-14);
  EXPECT_NEAR(derived.qfrc_actuator[1], -2 * control, 1e-14);
  return {stage.qacc[0], stage.qacc[1], derived.qfrc_constraint[0]};
}
// The tendon pulls with the force -2 pull on 1 kg and +pull on 2 kg.
void expect_pull(const Motion& motion, double pull) {
  EXPECT_NEAR(motion.first, -2 * pull, 1e-12);
  EXPECT_NEAR(motion.second, pull / 2, 1e-12);
}

TEST(Tendon, SpringIsSlackBetweenItsLengths) {
  expect_pull(motion(0, 0), 0);
  expect_pull(motion(0.05, -0.05), 0);
  expect_pull(motion(0.5, 0.1), 3 * (0.9 - 0.2));
  expect_pull(motion(-0.5, 0.1), 3 * (-1.1 + 0.1));
}
TEST(Tendon, DamperOpposesTheChangeOfLength) {
  expect_pull(motion(0, 0, 1, 0.5), 0.5 * (2 * 1 - 0.5));
  expect_pull(motion(0, 0, 1, 2), 0);
}
TEST(Tendon, MotorPullsByItsGear) { expect_pull(motion(0, 0, 0, 0, 0.3), -2 * 0.3); }

// The limit's inverse weight is 4/1 + 1/2 = 4.5, and its impedance 0.95 deep in the limit. It then pushes with
// 0.95 / 4.5 of the acceleration that the tendon would have, relative to its reference acceleration.
TEST(Tendon, LimitPushesAgainstTheAcceleration) {
  constexpr double kDamping = 2 / (0.95 * 0.02), kStiffness = 1 / (0.95 * 0.95 * 0.02 * 0.02);
  const double beyond = 0.1, speed = 0.4, pull = 3 * (1 + beyond - 0.2) + 0.5 * 2 * speed;
  const double acceleration = 2 * (-2 * pull) - pull / 2;  // without the limit
  const double push = 0.95 / 4.5 * (acceleration + kDamping * 2 * speed + kStiffness * 0.95 * beyond);
  const Motion limited = motion((1 + beyond) / 2, 0, speed, 0);
  expect_pull(limited, pull + push);
  EXPECT_NEAR(limited.constraint, -2 * push, 1e-12);
}

// The length of a rope between two points outside of a circle of this radius around the origin.
double rope_length(double ax, double ay, double bx, double by, double radius) {
  const double a = std::hypot(ax, ay), b = std::hypot(bx, by), straight = std::hypot(bx - ax, by - ay);
  if (std::abs(ax * by - ay * bx) / straight > radius) return straight;  // the line's distance from the origin
  const double turn = std::acos((ax * bx + ay * by) / (a * b)) - std::acos(radius / a) - std::acos(radius / b);
  return std::sqrt(a * a - radius * radius) + std::sqrt(b * b - radius * radius) + radius * turn;
}
// The line between the two sites touches the drum at an angle of about 0.148. Rounding of float must not decide on
// which side of the drum the tendon is.
TEST(Tendon, FindsItsSideOfAGeomInFloat) {
  using Capstan = capstan_robot::Physics<float>;
  int straight = 0;
  for (int k = 0; k < 20000; ++k) {
    Capstan::State state{};
    Capstan::Stage stage;
    Capstan::Derived derived;
    const float control = 0;
    state.qpos[0] = 0.1478f + 3e-8f * static_cast<float>(k);
    evaluate<Capstan>(state, &control, stage);
    Capstan::derive_lengths(stage.qpos, stage.qvel, derived);
    const double q = static_cast<double>(state.qpos[0]), c = std::cos(q), s = std::sin(q);
    const double x = 0.05 * c - 0.12 * s, z = -0.05 * s - 0.12 * c;
    ASSERT_NEAR(static_cast<double>(derived.sensor[0]), rope_length(0.05, 0.15, x, z, 0.04), 1e-6) << "angle " << q;
    straight += std::abs(std::hypot(x - 0.05, z - 0.15) - rope_length(0.05, 0.15, x, z, 0.04)) < 1e-15 ? 1 : 0;
  }
  EXPECT_GT(straight, 100);
  EXPECT_LT(straight, 19900);
}

// A belt whose straight line goes through the drum near its border: the way that libmujoco chooses may turn by more
// than half a turn.
TEST(Tendon, GoesAroundTheFartherSideOfAGeomAsLibmujocoDoes) {
  using Capstan = capstan_robot::Physics<double>;
  test::Reference reference("tests/physics/models/capstan.xml");
  int far = 0, near = 0;
  for (int k = 0; k < 3000; ++k) {
    Capstan::State state{};
    Capstan::Stage stage;
    Capstan::Derived derived;
    const double control = 0, angle = -3 + 0.002 * k;
    state.qpos[0] = angle;
    evaluate<Capstan>(state, &control, stage);
    Capstan::derive_lengths(stage.qpos, stage.qvel, derived);
    const double length = reference.after_forward({{angle}, {0}, {0}, {0}}).ten_length[1];
    ASSERT_NEAR(derived.sensor[1], length, 1e-12) << "angle " << angle;
    (length > 0.04 * 3.2 ? far : near) += 1;
  }
  EXPECT_GT(far, 100);
  EXPECT_GT(near, 100);
}

}  // namespace
}  // namespace drl
