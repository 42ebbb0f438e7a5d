// InvertedPendulum-v5 of Gymnasium 1.4.0 (envs/mujoco/inverted_pendulum_v5.py): keep a pole upright on a cart.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct InvertedPendulum {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "InvertedPendulum-v5";
  static constexpr int obs_dim = 4, step_limit = 1000;
  static constexpr double dt = 0.04;                   // s
  static constexpr ContinuousAction<1> action{-3, 3};  // 100 N each
  static constexpr const char* reward_terms[] = {"reward_survive"};
  static constexpr RobotModel model{"inverted_pendulum.xml", 2};

  struct Params {
    S reset_noise_scale = S(0.01);
    template <class V>
    void describe(V& v) {
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  static void reset(R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
  }

  static Step<F, 1> step(R& robot, const F* action, const Params&) {
    robot.advance(action);
    Step<F, 1> result;
    result.terminated = math::abs(robot.qpos(1)) > F(0.2);  // rad
    result.reward = result.terms[0] = math::select(result.terminated, F(0), F(1));
    return result;
  }

  template <class Out>
  static void observe(const R& robot, const Params&, Out obs) {
    gym::see_qvel(robot, gym::see_qpos(robot, 0, obs));
  }

  static constexpr const char* preset = R"(
num_envs = 8
num_steps_per_env = 128
max_iterations = 977
[ppo]
learning_rate = 3e-4
schedule = linear
schedule_iterations = 977
num_learning_epochs = 10
num_mini_batches = 16
gamma = 0.99
lam = 0.95
entropy_coef = 0.0
value_loss_coef = 0.5
max_grad_norm = 0.5
grad_clip = joint
obs_normalization = true
reward_normalization = true
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init_std = 1.0
init = orthogonal
)";
};

}  // namespace drl

DRL_ROBOT(drl::InvertedPendulum)
