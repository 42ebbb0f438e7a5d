// Compares Isaac Lab's Cartpole with equations of motion that are derived independently.
#include "tasks/cartpole.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl {
namespace {

using Task = Cartpole<double>;
using State = Task::State;
using Params = Task::Params;

struct Accelerations {
  double x, theta;
};

// Lagrange's equations of a cart (x) and a rod hinged on it, whose centre is at (x + l sin, l cos), with L = T - V:
//   (M + m) x'' + m l cos(theta) theta'' = force - c x' + m l sin(theta) theta'^2
//   m l cos(theta) x'' + (m l^2 + m (2 l)^2/12) theta'' = m g l sin(theta)
// Solves this 2x2 system by Cramer's rule, with 1 kg, 0.1 kg, 1 m, 10 N s/m and 9.81 m/s^2.
Accelerations lagrange(const State& s, double force) {
  const double cart = 1, rod = 0.1, length = 1, half = length / 2;
  const double a = cart + rod, b = rod * half * std::cos(s.theta);
  const double d = rod * half * half + rod * length * length / 12;
  const double p = force - 10 * s.x_dot + rod * half * std::sin(s.theta) * s.theta_dot * s.theta_dot;
  const double q = rod * 9.81 * half * std::sin(s.theta);
  const double determinant = a * d - b * b;
  return {(p * d - b * q) / determinant, (a * q - b * p) / determinant};
}

// Returns the kinetic and potential energy, from the velocities of the cart and of the rod's centre and the rod's
// rotation about its centre.
double energy(const State& s, const Params& p) {
  const double l = p.half_length, inertia = p.pole_mass * l * l / 3;
  const double vx = s.x_dot + l * std::cos(s.theta) * s.theta_dot, vy = -l * std::sin(s.theta) * s.theta_dot;
  return 0.5 * p.cart_mass * s.x_dot * s.x_dot + 0.5 * p.pole_mass * (vx * vx + vy * vy) +
         0.5 * inertia * s.theta_dot * s.theta_dot + p.pole_mass * p.gravity * l * std::cos(s.theta);
}

const State kStates[] = {{0, 0, 0, 0}, {0.3, 0.2, -0.7, 1.1}, {-1, 2.5, 3, -4}, {2, -7, -0.1, 0.01}};

TEST(Cartpole, PhysicsStepsAreSemiImplicitEulerOfLagrangesEquations) {
  for (const State& start : kStates) {
    for (double action : {0.0, 1.0, -2.5}) {
      State expected = start;
      for (int i = 0; i < 2; ++i) {
        const Accelerations acceleration = lagrange(expected, 100 * action);
        expected.x_dot += acceleration.x / 120;
        expected.theta_dot += acceleration.theta / 120;
        expected.x += expected.x_dot / 120;
        expected.theta += expected.theta_dot / 120;
      }
      State state = start;
      Task::step(state, &action, Params{});
      EXPECT_NEAR(state.x, expected.x, 1e-12);
      EXPECT_NEAR(state.theta, expected.theta, 1e-12);
      EXPECT_NEAR(state.x_dot, expected.x_dot, 1e-12);
      EXPECT_NEAR(state.theta_dot, expected.theta_dot, 1e-12);
    }
  }
}

// Without damping and force, the change of energy in a second is proportional to the time step, since the method is of
// first order.
TEST(Cartpole, EnergyIsConservedAsTheTimeStepShrinks) {
  const auto drift = [](int steps) {
    Params params;
    params.damping = 0;
    params.physics_dt = 1.0 / steps;
    params.decimation = steps;
    State state{0, 0.5, 0.2, 0};
    const double before = energy(state, params), action = 0;
    Task::step(state, &action, params);
    return std::abs(energy(state, params) - before);
  };
  EXPECT_LT(drift(10000), 1e-4);
  EXPECT_NEAR(drift(2000) / drift(4000), 2, 0.1);
}

TEST(Cartpole, ForceIsLimitedTo400Newton) {
  for (double sign : {-1.0, 1.0}) {
    State limited{}, beyond{};
    const double four = 4 * sign, hundred = 100 * sign;
    Task::step(limited, &four, Params{});
    Task::step(beyond, &hundred, Params{});
    EXPECT_EQ(limited.x_dot, beyond.x_dot);
  }
}

// Returns a term's contribution to the reward. Weights are per second.
double part(int term, const Step<double, 5>& step) {
  return step.terms[term] * Task::reward_terms[term].weight * Task::dt;
}

// Isaac Lab's reward is (1 alive - 2 terminated - theta^2 - 0.01 |x'| - 0.005 |theta'|) / 60, for the state after the
// step.
TEST(Cartpole, RewardIsThatOfIsaacLab) {
  for (State state : kStates) {
    const double action = 0.5;
    const auto result = Task::step(state, &action, Params{});
    const double penalty = state.theta * state.theta + 0.01 * std::abs(state.x_dot) + 0.005 * std::abs(state.theta_dot);
    EXPECT_FALSE(result.terminated);
    EXPECT_EQ(result.reward, 0);  // drl adds up the terms
    double sum = 0;
    for (int term = 0; term < 5; ++term) sum += part(term, result);
    EXPECT_NEAR(sum, (1 - penalty) / 60, 1e-14);
  }
}

TEST(Cartpole, LeavingTheRailEndsTheEpisode) {
  for (double sign : {-1.0, 1.0}) {
    State outside{sign * 2.999, 0, sign * 1, 0}, inside{sign * 2.9, 0, sign * 1, 0};
    const double action = 0;
    const auto end = Task::step(outside, &action, Params{});
    EXPECT_GT(std::abs(outside.x), 3);
    EXPECT_TRUE(end.terminated);
    EXPECT_EQ(part(0, end), 0);
    EXPECT_NEAR(part(1, end), -2.0 / 60, 1e-15);
    EXPECT_FALSE(Task::step(inside, &action, Params{}).terminated);
  }
}

}  // namespace
}  // namespace drl
