// Tests ends of episodes and clipping at states that recorded trajectories seldom visit. The limits are those of
// Gymnasium's documentation.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tasks/builtin_tasks.hpp"

namespace drl {
namespace {

template <class Task>
auto step(typename Task::State& state, double action) {
  return Task::step(state, &action, typename Task::Params{});
}
template <class Task>
bool terminates(typename Task::State state, double action) {
  return step<Task>(state, action).terminated;
}

// With explicit Euler, the position after a step is x + 0.02 x_dot for any force.
TEST(Limits, CartPoleEndsBeyond2Point4MetresAnd12Degrees) {
  using Task = CartPoleV1<double>;
  for (double sign : {-1.0, 1.0}) {
    EXPECT_FALSE(terminates<Task>({sign * 2.379, sign * 1, 0, 0}, 0));
    EXPECT_TRUE(terminates<Task>({sign * 2.381, sign * 1, 0, 0}, 0));
    const double limit = 12 * M_PI / 180;
    EXPECT_FALSE(terminates<Task>({0, 0, sign * (limit - 0.021), sign * 1}, 0));
    EXPECT_TRUE(terminates<Task>({0, 0, sign * (limit - 0.019), sign * 1}, 0));
  }
}

// Without velocities, their places hold 0, and the others what they held before.
TEST(Observations, VelocitiesCanBeHidden) {
  for (const bool observe : {true, false}) {
    CartPoleV1<double>::Params cart;
    cart.observe_velocities = observe;
    double of_cart[4];
    CartPoleV1<double>::observe({1, 2, 3, 4}, cart, of_cart);
    EXPECT_EQ(std::vector<double>(of_cart, of_cart + 4),
              observe ? (std::vector<double>{1, 2, 3, 4}) : (std::vector<double>{1, 0, 3, 0}));
    PendulumV1<double>::Params pendulum;
    pendulum.observe_velocities = observe;
    double of_pendulum[3];
    PendulumV1<double>::observe({0, 5}, pendulum, of_pendulum);
    EXPECT_EQ(std::vector<double>(of_pendulum, of_pendulum + 3),
              observe ? (std::vector<double>{1, 0, 5}) : (std::vector<double>{1, 0, 0}));
  }
}

// At these positions the motor is stronger than gravity, so a step at full speed to the right moves the car by 0.07.
TEST(Limits, MountainCarsEndAtTheirGoals) {
  EXPECT_FALSE(terminates<MountainCarV0<double>>({0.4299, 0.07}, 2));
  EXPECT_TRUE(terminates<MountainCarV0<double>>({0.4301, 0.07}, 2));
  EXPECT_FALSE(terminates<MountainCarContinuousV0<double>>({0.3799, 0.07}, 1));
  EXPECT_TRUE(terminates<MountainCarContinuousV0<double>>({0.3801, 0.07}, 1));
}

TEST(Limits, MountainCarsRollingBackOverTheGoalDoNotEnd) {
  EXPECT_FALSE(terminates<MountainCarV0<double>>({0.59, -0.03}, 0));
  EXPECT_FALSE(terminates<MountainCarContinuousV0<double>>({0.59, -0.03}, -1));
}

TEST(Limits, MountainCarsStopAtTheLeftWall) {
  MountainCarV0<double>::State car{-1.19, -0.07};
  step<MountainCarV0<double>>(car, 0);
  EXPECT_EQ(car.position, -1.2);
  EXPECT_EQ(car.velocity, 0);
  MountainCarContinuousV0<double>::State continuous{-1.19, -0.07};
  step<MountainCarContinuousV0<double>>(continuous, -1);
  EXPECT_EQ(continuous.position, -1.2);
  EXPECT_EQ(continuous.velocity, 0);
}

TEST(Limits, AcrobotSpeedsAreAtMost4PiAnd9Pi) {
  for (double sign : {-1.0, 1.0}) {
    AcrobotV1<double>::State state{0, 0, sign * 60, sign * 60};
    step<AcrobotV1<double>>(state, 1);
    EXPECT_NEAR(std::abs(state.theta1_dot), 4 * M_PI, 1e-12);
    EXPECT_NEAR(std::abs(state.theta2_dot), 9 * M_PI, 1e-12);
    EXPECT_LE(std::abs(state.theta1), M_PI);
    EXPECT_LE(std::abs(state.theta2), M_PI);
  }
}

TEST(Limits, PendulumSpeedIsAtMost8AndTorqueAtMost2) {
  using Task = PendulumV1<double>;
  Task::State fast{M_PI / 2, 7.9};
  step<Task>(fast, 2);
  EXPECT_EQ(fast.theta_dot, 8);
  Task::State two{0.5, 0}, five{0.5, 0};
  EXPECT_EQ(step<Task>(two, 2).reward, step<Task>(five, 5).reward);
  EXPECT_EQ(two.theta_dot, five.theta_dot);
}

}  // namespace
}  // namespace drl
