// MountainCar-v0 of Gymnasium 1.2.0 (envs/classic_control/mountain_car.py): leave a valley with an engine that is too
// weak to climb out directly.
#pragma once

#include "drl/task.hpp"
#include "tasks/mountain.hpp"

namespace drl {

template <class F>
struct MountainCarV0 {
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
    S min_position = S(-1.2), max_position = S(0.6), max_speed = S(0.07), goal = S(0.5);
    S force = S(0.001), gravity = S(0.0025);
  };

  static constexpr char name[] = "MountainCar-v0";
  static constexpr char description[] = "drives an underpowered car up a hill by three actions";
  static constexpr int obs_dim = 2, step_limit = 200;
  static constexpr double dt = 1;
  static constexpr DiscreteAction<3> action{};  // left, nothing, right
  static constexpr Quantity observations[] = {{"position"}, {"velocity"}};
  static constexpr Quantity actions[] = {{"push"}};

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.position = draws.uniform(F(-0.6), F(-0.4));
    s.velocity = 0;
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F push = (action[0] - 1) * p.force + math::cos(3 * s.position) * -p.gravity;
    const F velocity = math::clamp(s.velocity + push, -p.max_speed, p.max_speed);
    s.position = math::clamp(s.position + velocity, p.min_position, p.max_position);
    s.velocity = math::select(s.position == p.min_position, math::max(velocity, F(0)), velocity);  // the wall stops it
    // One comparison for position >= goal and velocity >= 0: GCC does not vectorise the combination of two.
    const Mask<F> at_goal = math::min(s.position - p.goal, velocity) >= 0;
    return {.reward = -1, .terminated = at_goal};
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
