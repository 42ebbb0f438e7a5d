// Swimmer-v5 of Gymnasium 1.4.0 (envs/mujoco/swimmer_v5.py): three links with two joints swim in a viscous
// fluid.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Swimmer {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Swimmer-v5";
  static constexpr char description[] = "a planar chain of three links swims forwards";
  static constexpr int obs_dim = 8, max_obs_dim = 10, step_limit = 1000;
  static constexpr double dt = 0.04;                   // s
  static constexpr ContinuousAction<2> action{-1, 1};  // in units of 150 N m
  static constexpr Quantity observations[] = {{"qpos", "rad", 3}, {"qvel", "", 5}};
  static constexpr Quantity actions[] = {{"torque", "N m", 2, 150}};
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl"};
  static constexpr const char* metrics[] = {"x_velocity", "y_velocity"};  // m/s
  static constexpr RobotModel model{"swimmer.xml", 4};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(1e-4), reset_noise_scale = S(0.1);
    bool exclude_current_positions = true;
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the forward speed", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      gym::describe_exclusion(v, exclude_current_positions);
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 2, 2> step(R& robot, const F* action, const Params& p) {
    const F x = robot.qpos(0), y = robot.qpos(1);
    robot.advance(action);

    Step<F, 2, 2> result;
    result.metrics[0] = (robot.qpos(0) - x) / F(robot.dt());
    result.metrics[1] = (robot.qpos(1) - y) / F(robot.dt());
    result.terms[0] = p.forward_reward_weight * result.metrics[0];
    result.terms[1] = -p.ctrl_cost_weight * gym::squares(action, 2);
    result.reward = result.terms[0] + result.terms[1];
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.exclude_current_positions ? 8 : 10; }
  template <class Out>
  DRL_HD static void observe(const R& robot, const Params& p, Out obs) {
    gym::write_qvel(robot, gym::write_qpos(robot, p.exclude_current_positions ? 2 : 0, obs));
  }

  static constexpr auto preset =
      gym::preset({.num_envs = "4", .num_steps_per_env = "256", .gamma = "0.9999", .lam = "0.98"});
};

}  // namespace drl

DRL_ROBOT(drl::Swimmer)
