// Compares forces of tendons, dry friction, actuators and ball joints with values computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "drl/physics/loop.hpp"
#include "physics/capstan.hpp"
#include "physics/pivot.hpp"
#include "physics/pump.hpp"
#include "physics/rocket.hpp"
#include "physics/slider.hpp"
#include "physics/windlass.hpp"
// These must come after the robots' headers.
#include "exact_robot_of.hpp"
#include "reference.hpp"

namespace drl {

namespace test {
DRL_EXACT_ROBOT(slider, slider_robot)  // here, so that its physics in double are compiled once
}  // namespace test

namespace {

using namespace physics;

// The constants of a limit by MuJoCo's defaults.
constexpr double kDamping = 2 / (0.95 * 0.02), kStiffness = 1 / (0.95 * 0.95 * 0.02 * 0.02);

// A state of a robot that was evaluated with a control.
template <class P>
struct Evaluated {
  Evaluated(typename P::State from, double control) : state(from) {
    const auto forces = evaluate<P>(state, &control, stage);
    EXPECT_EQ(stage.unsolved, 0);
    derive_all<P>(stage, forces, derived);
  }
  typename P::State state;
  typename P::Stage stage;
  typename P::Derived derived;
};

// --- Tendons: two weights of 1 and 2 kg, and a tendon of length 2 x - y (models/windlass.xml) ---

// The weights' accelerations, and the force of constraints on the first of them.
struct Motion {
  double first, second, constraint;
};
Motion motion(double x, double y, double x_velocity = 0, double y_velocity = 0, double control = 0) {
  const Evaluated<windlass_robot::Physics<double>> now({{}, {x, y}, {x_velocity, y_velocity}, {}, 0}, control);
  EXPECT_NEAR(now.derived.qfrc_actuator[0], 2 * 2 * control, 1e-14);
  EXPECT_NEAR(now.derived.qfrc_actuator[1], -2 * control, 1e-14);
  return {now.stage.qacc[0], now.stage.qacc[1], now.derived.qfrc_constraint[0]};
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
    const double angle = -3 + 0.002 * k;
    const Evaluated<Capstan> now({{}, {angle}, {}, {}, 0}, 0);
    const double length = reference.after_forward({{angle}, {0}, {0}, {0}}).ten_length[1];
    ASSERT_NEAR(now.derived.sensor[1], length, 1e-12) << "angle " << angle;
    (length > 0.04 * 3.2 ? far : near) += 1;
  }
  EXPECT_GT(far, 100);
  EXPECT_GT(near, 100);
}

// --- Dry friction of 3 N, for 2 kg on a rail (models/slider.xml) ---
// With MuJoCo's defaults R is 1/9 of the inverse weight 1/2. So the friction is -18 y as long as that is less than 3 N,
// where y = acceleration + kDamping v.

using Slider = slider_robot::Physics<double>;

Evaluated<Slider> slide(double velocity, double pull, double warm_start = 0) {
  return {{{}, {0}, {velocity}, {warm_start}, 0}, pull};
}
void expect(const Evaluated<Slider>& now, double acceleration, double friction) {
  EXPECT_NEAR(now.stage.qacc[0], acceleration, 1e-14);
  EXPECT_NEAR(now.derived.qfrc_constraint[0], friction, 1e-14);
}

// While sliding: 2 a = pull -+ 3.
TEST(DryFriction, SlidingIsOpposedByTheFullForce) {
  expect(slide(0, 10), 3.5, -3);
  expect(slide(0, -10), -3.5, 3);
  expect(slide(1, 0), -1.5, -3);
  expect(slide(-1, 0), 1.5, 3);
  expect(slide(1, -10), -6.5, -3);  // braked
}
// While sticking: (2 + 18) a = pull - 18 2 / (0.95 0.02) v.
TEST(DryFriction, SticksAndCreeps) {
  expect(slide(0, 0), 0, 0);
  expect(slide(0, 2), 0.1, -1.8);
  expect(slide(0, -3), -0.15, 2.7);
  const double slow = 18 * kDamping * 1e-3 / 20;
  expect(slide(1e-3, 0), -slow, 2 * -slow);
  expect(slide(1e-3, 1), 0.05 - slow, 2 * (0.05 - slow) - 1);
  expect(slide(2 / (18 * kDamping), 2), 0, -2);  // at the speed at which a pulled body creeps
}
// Sticking and sliding give the same acceleration at 10/3 N, and the solution does not depend on the warm start.
TEST(DryFriction, BreaksAwayAtTheLargestForce) {
  for (const double warm_start : {-1e6, -1.0, 0.0, 0.2, 1e6}) {
    expect(slide(0, 10.0 / 3 - 1e-3, warm_start), 1.0 / 6 - 1e-3 / 20, -3 + 18 * 1e-3 / 20);
    expect(slide(0, 10.0 / 3 + 1e-3, warm_start), 1.0 / 6 + 1e-3 / 2, -3);
  }
}

constexpr physics::DryFriction kRow{0, 18, 3};
// Huber's function: 9 y^2 up to 1/6, and 3 |y| - 1/4 beyond.
double cost(double y) { return std::abs(y) < 1.0 / 6 ? 9 * y * y : 3 * std::abs(y) - 0.25; }
constexpr double kPlaces[] = {-2, -0.2, -0.16, -0.01, 0, 0.1, 0.17, 5};

TEST(DryFriction, ForceIsTheNegativeGradientOfTheCost) {
  for (const double y : kPlaces) {
    FrictionRow<double> row;
    row.begin_solution();
    row.next_y = y;
    EXPECT_NEAR(row.push(kRow), -(cost(y + 1e-6) - cost(y - 1e-6)) / 2e-6, 1e-8) << y;
    EXPECT_TRUE(row.differs(kRow));
    row.take_next(kRow);
    EXPECT_FALSE(row.differs(kRow));
    EXPECT_NEAR(-(row.active * y + row.slip), row.push(kRow), 1e-15);
  }
}
TEST(DryFriction, LineSearchSlopesAreDerivativesOfTheCost) {
  for (const double from : kPlaces)
    for (const double to : kPlaces) {
      FrictionRow<double> row;
      row.y = from, row.next_y = to;
      const auto at = [&](double x) { return cost(from + x * (to - from)); };
      double first = 1, second = 2, here = 0, there = 0, unused = 0;  // the derivatives of everything else
      row.add_slopes(kRow, 0.3, first, second);
      EXPECT_NEAR(first - 1, (at(0.3 + 1e-6) - at(0.3 - 1e-6)) / 2e-6, 1e-7) << from << " " << to;
      row.add_slopes(kRow, 0.3 - 1e-6, here, unused), row.add_slopes(kRow, 0.3 + 1e-6, there, unused);
      EXPECT_NEAR(second - 2, (there - here) / 2e-6, 1e-6) << from << " " << to;
    }
}

// --- Actuators ---

// A force of 3 N upwards, 0.5 m in front of the centre of 2 kg and 1 kg m^2, and a torque of 0.4 N m (rocket.xml). The
// body looks along y, so that the torque of the force is about the world's x axis, and qacc has it in the body's axes.
TEST(Actuator, OnASitePushesInItsAxes) {
  const double half = std::sqrt(0.5), control = 0.7;
  const Evaluated<rocket_robot::Physics<double>> now({{}, {0, 0, 0, half, 0, 0, half}, {}, {}, 0}, control);
  const double expected[] = {0, 0, 1.5 * control, 0, -1.5 * control, 0.4 * control};
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(now.stage.qacc[k], expected[k], 1e-14) << k;
}

// The filter approaches its control of 1 by 1 - exp(-0.01 / 0.1) of the way in a step of 0.01 s. The muscle has its
// optimal length, 0.25 / 0.3 of its range from 0.75 to 1.05, where it pulls with 40 N times its activation; at 0.2 this
// rises with the time 0.01 (0.5 + 1.5 0.2) s.
TEST(Actuator, ActivationsFollowTheirControls) {
  using P = pump_robot::Physics<double>;
  const double control[] = {1, 1};
  P::State state{{.act = {0.2, 0.2}}, {0, 0.25 / 0.3}, {}, {}, 0};
  P::Stage stage;
  step<P>(state, control, stage);
  EXPECT_NEAR(stage.qacc[0], 3 * 0.2 / 2, 1e-15);
  EXPECT_NEAR(stage.qacc[1], -40 * 0.2 / 2, 1e-14);
  EXPECT_NEAR(state.act[0], 0.2 + 0.8 * (1 - std::exp(-0.1)), 1e-15);
  EXPECT_NEAR(state.act[1], 0.2 + 0.01 * 0.8 / (0.01 * 0.8), 1e-14);
}

// --- A ball joint of 1 kg m^2 on a spring of 2 N m (models/pivot.xml) ---

using Pivot = pivot_robot::Physics<double>;

// Returns the joint's acceleration after a turn about z.
Vec3 acceleration(double angle, double speed, double control) {
  const Evaluated<Pivot> now({{}, {std::cos(angle / 2), 0, 0, std::sin(angle / 2)}, {0, 0, speed}, {}, 0}, control);
  return {now.stage.qacc[0], now.stage.qacc[1], now.stage.qacc[2]};
}

TEST(BallJoint, SpringAndMotorTurnIt) {
  const Vec3 a = acceleration(0.3, 0, 0.7);
  EXPECT_NEAR(a[0], 0.1 * 0.7, 1e-14);
  EXPECT_NEAR(a[1], 0.2 * 0.7, 1e-14);
  EXPECT_NEAR(a[2], 0.3 * 0.7 - 2 * 0.3, 1e-14);
  EXPECT_NEAR(acceleration(-0.3, 0, 0)[2], 2 * 0.3, 1e-14);
}
// The limit's impedance is 0.95 deep in it. It leaves 1 - 0.95 of the acceleration, relative to its reference.
TEST(BallJoint, LimitPushesBack) {
  const double speed = 0.2, free = -2 * 0.6, push = free + kDamping * speed + kStiffness * 0.95 * 0.1;
  EXPECT_NEAR(acceleration(0.6, speed, 0)[2], free - 0.95 * push, 1e-11);
}
// A step of 0.002 s at 3 rad/s turns it by 0.006 about z.
TEST(BallJoint, TurnsByItsVelocity) {
  Pivot::State state{{}, {1, 0, 0, 0}, {0, 0, 3}, {}, 0};
  Pivot::Stage stage;
  const double control = 0;
  step<Pivot>(state, &control, stage);
  EXPECT_NEAR(state.qpos[0], std::cos(0.003), 1e-15);
  EXPECT_NEAR(state.qpos[3], std::sin(0.003), 1e-15);
}

}  // namespace
}  // namespace drl
