// HalfCheetah-v5 of Gymnasium 1.4.0 (envs/mujoco/half_cheetah_v5.py): a planar cheetah of seven links runs forwards.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct HalfCheetah {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "HalfCheetah-v5";
  static constexpr char description[] = "a planar two-legged robot runs forwards";
  static constexpr int obs_dim = 17, max_obs_dim = 18, step_limit = 1000;
  static constexpr double dt = 0.05;                   // s
  static constexpr ContinuousAction<6> action{-1, 1};  // fractions of the motors' largest torques
  static constexpr Quantity observations[] = {{"qpos", "", 8}, {"qvel", "", 9}};
  static constexpr Quantity actions[] = {{"back_thigh", "N m", 1, 120}, {"back_shin", "N m", 1, 90},
                                         {"back_foot", "N m", 1, 60},   {"front_thigh", "N m", 1, 120},
                                         {"front_shin", "N m", 1, 60},  {"front_foot", "N m", 1, 30}};
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl"};
  static constexpr const char* metrics[] = {"x_velocity"};  // m/s
  static constexpr RobotModel model{"half_cheetah.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(0.1), reset_noise_scale = S(0.1);
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
    gym::reset_normal(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 2, 1> step(R& robot, const F* action, const Params& p) {
    const F before = robot.qpos(0);
    robot.advance(action);
    const F velocity = (robot.qpos(0) - before) / F(robot.dt());

    Step<F, 2, 1> result;
    result.terms[0] = p.forward_reward_weight * velocity;
    result.terms[1] = -p.ctrl_cost_weight * gym::squares(action, 6);
    result.reward = result.terms[0] + result.terms[1];
    result.metrics[0] = velocity;
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.exclude_current_positions ? 17 : 18; }
  template <class Out>
  DRL_HD static void observe(const R& robot, const Params& p, Out obs) {
    gym::write_qvel(robot, gym::write_qpos(robot, p.exclude_current_positions ? 1 : 0, obs));
  }

  static constexpr auto preset = gym::preset({.gamma = "0.98", .lam = "0.92", .max_grad_norm = "0.8"});
};

}  // namespace drl

DRL_ROBOT(drl::HalfCheetah)
