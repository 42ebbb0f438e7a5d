// MountainCarContinuous-v0 of Gymnasium 1.2.0 (envs/classic_control/continuous_mountain_car.py): leave a valley with an
// engine that is too weak to climb out directly, and pay for its use. Gymnasium stores this state as float32.
#pragma once

#include "drl/task.hpp"
#include "tasks/mountain.hpp"

namespace drl {

template <class F>
struct MountainCarContinuousV0 {
  using S = Scalar<F>;
  struct State {
    F position, velocity;  // the velocity is per step
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("position", position);
      visit("velocity", velocity);
    }
  };
  struct Params {
    S min_position = S(-1.2), max_position = S(0.6), max_speed = S(0.07), goal = S(0.45), power = S(0.0015);
    double gravity = 0.0025;
  };

  static constexpr char name[] = "MountainCarContinuous-v0";
  static constexpr char description[] = "drives an underpowered car up a hill by a force";
  static constexpr int obs_dim = 2, step_limit = 999;
  static constexpr double dt = 1;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr Quantity observations[] = {{"position"}, {"velocity"}};
  static constexpr Quantity actions[] = {{"force"}};

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.position = draws.uniform(F(-0.6), F(-0.4));
    s.velocity = 0;
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F force = math::clamp(action[0], F(-1), F(1));
    // Like Gymnasium, computes the slope in double and rounds it, so that float trajectories equal Gymnasium's.
    const F push = force * p.power - math::scaled_cos(p.gravity, 3 * s.position);
    const F velocity = math::clamp(s.velocity + push, -p.max_speed, p.max_speed);
    s.position = math::clamp(s.position + velocity, p.min_position, p.max_position);
    s.velocity = math::select(s.position == p.min_position, math::max(velocity, F(0)), velocity);  // the wall stops it
    // One comparison for position >= goal and velocity >= 0: GCC does not vectorise the combination of two.
    const Mask<F> at_goal = math::min(s.position - p.goal, velocity) >= 0;
    const F cost = F(0.1) * (action[0] * action[0]);
    return {.reward = math::select(at_goal, F(100), F(0)) - cost, .terminated = at_goal};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.position;
    obs[1] = s.velocity;
  }

  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    draw_mountain_car(s.position, p.min_position, p.max_position, p.goal, canvas);
  }

  static constexpr char preset[] = R"(
num_envs = 32
num_steps_per_env = 64
max_iterations = 200
[ppo]
learning_rate = 3e-3
schedule = linear
num_learning_epochs = 1
num_mini_batches = 8
gamma = 0.999
lam = 0.95
entropy_coef = 0.005
max_grad_norm = 0.5
reward_scale = 0.1
obs_normalization = true
obs_normalization_eps = 1e-4
obs_normalization_clip = 0
schedule_iterations = 200
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init_std = 1.0
init = orthogonal
)";
};

}  // namespace drl

DRL_TASK(drl::MountainCarContinuousV0)
