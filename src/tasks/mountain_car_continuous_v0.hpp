// MountainCarContinuous-v0 of Gymnasium 1.2.0 (envs/classic_control/continuous_mountain_car.py): leave a valley with an
// engine that is too weak to climb out directly, and pay for its use. Gymnasium stores this state as float32.
#pragma once

#include "tasks/mountain.hpp"

namespace drl {

template <class F>
struct MountainCarContinuousV0 : MountainCar<F> {
  using S = Scalar<F>;
  using State = typename MountainCar<F>::State;
  struct Params {
    S min_position = S(-1.2), max_position = S(0.6), max_speed = S(0.07), goal = S(0.45), power = S(0.0015);
    double gravity = 0.0025;
  };

  static constexpr char name[] = "MountainCarContinuous-v0";
  static constexpr char description[] = "drives an underpowered car up a hill by a force";
  static constexpr int step_limit = 999;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr Quantity actions[] = {{"force"}};

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F force = math::clamp(action[0], F(-1), F(1));
    // Like Gymnasium, computes the slope in double and rounds it, so that float trajectories equal Gymnasium's.
    const F push = force * p.power - math::scaled_cos(p.gravity, 3 * s.position);
    const Mask<F> at_goal = MountainCar<F>::move(s, push, p);
    const F cost = F(0.1) * (action[0] * action[0]);
    return {.reward = math::select(at_goal, F(100), F(0)) - cost, .terminated = at_goal};
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
