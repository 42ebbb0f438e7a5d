// MountainCar-v0 of Gymnasium 1.2.0 (envs/classic_control/mountain_car.py): leave a valley with an engine that is too
// weak to climb out directly.
#pragma once

#include "tasks/mountain.hpp"

namespace drl {

template <class F>
struct MountainCarV0 : MountainCar<F> {
  using S = Scalar<F>;
  using State = typename MountainCar<F>::State;
  struct Params {
    S min_position = S(-1.2), max_position = S(0.6), max_speed = S(0.07), goal = S(0.5);
    S force = S(0.001), gravity = S(0.0025);
  };

  static constexpr char name[] = "MountainCar-v0";
  static constexpr char description[] = "drives an underpowered car up a hill by three actions";
  static constexpr int step_limit = 200;
  static constexpr DiscreteAction<3> action{};  // left, nothing, right
  static constexpr Quantity actions[] = {{"push"}};

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F push = (action[0] - 1) * p.force + math::cos(3 * s.position) * -p.gravity;
    const Mask<F> at_goal = MountainCar<F>::move(s, push, p);
    return {.reward = -1, .terminated = at_goal};
  }

  static constexpr char preset[] = R"(
num_envs = 32
num_steps_per_env = 64
max_iterations = 800
[ppo]
learning_rate = 2e-3
schedule = linear
num_learning_epochs = 3
num_mini_batches = 16
gamma = 0.99
lam = 0.9
entropy_coef = 0.01
max_grad_norm = 0.5
use_clipped_value_loss = false
obs_normalization = true
obs_normalization_eps = 1e-4
obs_normalization_clip = 0
schedule_iterations = 800
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init = orthogonal
)";
};

}  // namespace drl

DRL_TASK(drl::MountainCarV0)
