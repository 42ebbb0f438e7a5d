// Compares dry friction with values computed by hand, for 2 kg on a rail with 3 N of friction (models/slider.xml). With
// MuJoCo's defaults R is 1/9 of the inverse weight 1/2. So the friction is -18 y as long as that is less than 3 N,
// where y = acceleration + 2 / (0.95 0.02) v.
#include <gtest/gtest.h>

#include <cmath>

#include "drl/physics/loop.hpp"
#include "physics/slider.hpp"
// Must come after the robot's header.
#include "exact_robot_of.hpp"

namespace drl {

namespace test {
DRL_EXACT_ROBOT(slider, slider_robot)  // here, so that its physics in double are compiled once
}  // namespace test

namespace {

using namespace physics;
using P = slider_robot::Physics<double>;
constexpr double kDamping = 2 / (0.95 * 0.02);

struct Motion {
  double acceleration, friction;
};
Motion motion(double velocity, double pull, double warm_start = 0) {
  P::State state{{0}, {velocity}, {warm_start}, 0};
  P::Stage stage;
  P::Derived derived;
  const P::Forces forces = evaluate<P>(state, &pull, stage);
  EXPECT_EQ(stage.unsolved, 0);
  derive_all<P>(stage, forces, derived);
  return {stage.qacc[0], derived.qfrc_constraint[0]};
}
void expect(const Motion& motion, double acceleration, double friction) {
  EXPECT_NEAR(motion.acceleration, acceleration, 1e-14);
  EXPECT_NEAR(motion.friction, friction, 1e-14);
}

// While sliding: 2 a = pull -+ 3.
TEST(DryFriction, SlidingIsOpposedByTheFullForce) {
  expect(motion(0, 10), 3.5, -3);
  expect(motion(0, -10), -3.5, 3);
  expect(motion(1, 0), -1.5, -3);
  expect(motion(-1, 0), 1.5, 3);
  expect(motion(1, -10), -6.5, -3);  // braked
}
// While sticking: (2 + 18) a = pull - 18 2 / (0.95 0.02) v.
TEST(DryFriction, SticksAndCreeps) {
  expect(motion(0, 0), 0, 0);
  expect(motion(0, 2), 0.1, -1.8);
  expect(motion(0, -3), -0.15, 2.7);
  const double slow = 18 * kDamping * 1e-3 / 20;
  expect(motion(1e-3, 0), -slow, 2 * -slow);
  expect(motion(1e-3, 1), 0.05 - slow, 2 * (0.05 - slow) - 1);
  expect(motion(2 / (18 * kDamping), 2), 0, -2);  // at the speed at which a pulled body creeps
}
// Sticking and sliding give the same acceleration at 10/3 N, and the solution does not depend on the warm start.
TEST(DryFriction, BreaksAwayAtTheLargestForce) {
  for (const double warm_start : {-1e6, -1.0, 0.0, 0.2, 1e6}) {
    expect(motion(0, 10.0 / 3 - 1e-3, warm_start), 1.0 / 6 - 1e-3 / 20, -3 + 18 * 1e-3 / 20);
    expect(motion(0, 10.0 / 3 + 1e-3, warm_start), 1.0 / 6 + 1e-3 / 2, -3);
  }
}

// Huber's function: 9 y^2 up to 1/6, and 3 |y| - 1/4 beyond.
double cost(double y) { return std::abs(y) < 1.0 / 6 ? 9 * y * y : 3 * std::abs(y) - 0.25; }
constexpr double kPlaces[] = {-2, -0.2, -0.16, -0.01, 0, 0.1, 0.17, 5};

TEST(DryFriction, ForceIsTheNegativeGradientOfTheCost) {
  for (const double y : kPlaces) {
    FrictionRow<double> row;
    row.begin_solution();
    row.next_y = y;
    EXPECT_NEAR(row.push(physics::DryFriction{0, 18, 3}), -(cost(y + 1e-6) - cost(y - 1e-6)) / 2e-6, 1e-8) << y;
    EXPECT_TRUE(row.differs(physics::DryFriction{0, 18, 3}));
    row.take_next(physics::DryFriction{0, 18, 3});
    EXPECT_FALSE(row.differs(physics::DryFriction{0, 18, 3}));
    EXPECT_NEAR(-(row.active * y + row.slip), row.push(physics::DryFriction{0, 18, 3}), 1e-15);
  }
}
TEST(DryFriction, LineSearchSlopesAreDerivativesOfTheCost) {
  for (const double from : kPlaces)
    for (const double to : kPlaces) {
      FrictionRow<double> row;
      row.y = from, row.next_y = to;
      const auto at = [&](double x) { return cost(from + x * (to - from)); };
      double first = 1, second = 2, here = 0, there = 0, unused = 0;  // the derivatives of everything else
      row.add_slopes(physics::DryFriction{0, 18, 3}, 0.3, first, second);
      EXPECT_NEAR(first - 1, (at(0.3 + 1e-6) - at(0.3 - 1e-6)) / 2e-6, 1e-7) << from << " " << to;
      row.add_slopes(physics::DryFriction{0, 18, 3}, 0.3 - 1e-6, here, unused),
          row.add_slopes(physics::DryFriction{0, 18, 3}, 0.3 + 1e-6, there, unused);
      EXPECT_NEAR(second - 2, (there - here) / 2e-6, 1e-6) << from << " " << to;
    }
}

}  // namespace
}  // namespace drl
