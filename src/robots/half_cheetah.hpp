#pragma once

#include "drl/robot.hpp"

namespace drl {

// Gymnasium's HalfCheetah-v5: a planar cheetah of seven links, whose six motors make it run as fast as it can.
template <class R>
struct HalfCheetah {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "HalfCheetah-v5";
  static constexpr int obs_dim = 17, step_limit = 1000;
  static constexpr double dt = 0.05;                   // s
  static constexpr ContinuousAction<6> action{-1, 1};  // shares of the motors' torques
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl"};
  static constexpr const char* metrics[] = {"x_velocity"};
  static constexpr RobotModel model{"half_cheetah.xml", 5};

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(0.1), reset_noise_scale = S(0.1);
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the speed forwards", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      v("reset_noise_scale", reset_noise_scale, "how far starts are from the model's", at_least(0));
    }
  };

  static void reset(R& robot, Draws<F>& draws, const Params& p) {
    for (int k = 0; k < robot.nq(); ++k)
      robot.set_qpos(k, robot.qpos(k) + draws.uniform(F(-p.reset_noise_scale), F(p.reset_noise_scale)));
    for (int k = 0; k < robot.nv(); ++k) robot.set_qvel(k, robot.qvel(k) + F(p.reset_noise_scale) * draws.normal());
    robot.forward();
  }

  static Step<F, 2, 1> step(R& robot, const F* action, const Params& p) {
    const F before = robot.qpos(0);
    robot.advance(action);
    const F velocity = (robot.qpos(0) - before) / F(dt);
    F squares = F(0);
    for (int a = 0; a < 6; ++a) squares += action[a] * action[a];

    Step<F, 2, 1> result;
    result.terms[0] = p.forward_reward_weight * velocity;
    result.terms[1] = -p.ctrl_cost_weight * squares;
    result.reward = result.terms[0] + result.terms[1];
    result.metrics[0] = velocity;
    return result;
  }

  template <class Out>
  static void observe(const R& robot, const Params&, Out obs) {
    for (int k = 1; k < 9; ++k) *obs++ = robot.qpos(k);
    for (int k = 0; k < 9; ++k) *obs++ = robot.qvel(k);
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
gamma = 0.98
lam = 0.92
entropy_coef = 0.0
value_loss_coef = 0.5
max_grad_norm = 0.8
grad_clip = joint
obs_normalization = true
reward_normalization = true
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init_std = 0.5
init = orthogonal
)";
};

}  // namespace drl

DRL_ROBOT(drl::HalfCheetah)
