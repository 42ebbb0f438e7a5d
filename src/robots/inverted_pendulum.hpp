// InvertedPendulum-v5 of Gymnasium 1.4.0 (envs/mujoco/inverted_pendulum_v5.py): keep a pole upright on a cart.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct InvertedPendulum {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "InvertedPendulum-v5";
  static constexpr char description[] = "balances a pole on a cart by a force, on MuJoCo";
  static constexpr int obs_dim = 4, step_limit = 1000;
  static constexpr double dt = 0.04;                   // s
  static constexpr ContinuousAction<1> action{-3, 3};  // in units of 100 N
  static constexpr Quantity observations[] = {{"x", "m"}, {"theta", "rad"}, {"x_dot", "m/s"}, {"theta_dot", "rad/s"}};
  static constexpr Quantity actions[] = {{"force", "N", 1, 100}};
  static constexpr const char* reward_terms[] = {"reward_survive"};
  static constexpr RobotModel model{"inverted_pendulum.xml", 2};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S reset_noise_scale = S(0.01);
    template <class V>
    void describe(V& v) {
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 1> step(R& robot, const F* action, const Params&) {
    robot.advance(action);
    Step<F, 1> result;
    result.terminated = math::abs(robot.qpos(1)) > F(0.2);  // rad
    result.reward = result.terms[0] = math::select(result.terminated, F(0), F(1));
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const R& robot, const Params&, Out obs) {
    gym::write_qvel(robot, gym::write_qpos(robot, 0, obs));
  }

  static constexpr auto preset = gym::preset({.init_std = "1.0"});
};

}  // namespace drl

DRL_ROBOT(drl::InvertedPendulum)
