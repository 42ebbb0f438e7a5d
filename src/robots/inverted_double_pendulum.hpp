// InvertedDoublePendulum-v5 of Gymnasium 1.4.0 (envs/mujoco/inverted_double_pendulum_v5.py): keep two poles, one on top
// of the other, upright on a cart.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct InvertedDoublePendulum {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "InvertedDoublePendulum-v5";
  static constexpr char description[] = "balances two hinged poles on a cart by a force";
  static constexpr int obs_dim = 9, step_limit = 1000;
  static constexpr double dt = 0.05;                   // s
  static constexpr ContinuousAction<1> action{-1, 1};  // in units of 500 N
  static constexpr Quantity observations[] = {
      {"x", "m"}, {"sin(theta)", "", 2}, {"cos(theta)", "", 2}, {"qvel", "", 3}, {"constraint_force", "N"}};
  static constexpr Quantity actions[] = {{"force", "N", 1, 500}};
  static constexpr const char* reward_terms[] = {"reward_survive", "distance_penalty", "velocity_penalty"};
  static constexpr RobotModel model{"inverted_double_pendulum.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S healthy_reward = 10, reset_noise_scale = S(0.1);
    template <class V>
    void describe(V& v) {
      v("healthy_reward", healthy_reward, "reward for each step with the tip above 1 m", any_number());
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  struct Parts {
    SiteId tip;
    template <class Find>
    constexpr void find(Find& find) {
      find(tip, "tip");
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Parts&, const Params& p) {
    gym::reset_normal(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 3> step(R& robot, const F* action, const Parts& parts, const Params& p) {
    robot.advance(action);
    const Vec<F, 3> tip = robot.position(parts.tip);  // 1.2 m above the cart when upright

    Step<F, 3> result;
    result.terminated = tip[2] <= F(1);
    result.terms[0] = math::select(result.terminated, F(0), F(p.healthy_reward));
    result.terms[1] = -(F(0.01) * gym::square(tip[0]) + gym::square(tip[2] - F(2)));
    result.terms[2] = -(F(1e-3) * gym::square(robot.qvel(1)) + F(5e-3) * gym::square(robot.qvel(2)));
    result.reward = result.terms[0] + result.terms[1] + result.terms[2];
    return result;
  }

  // Writes the position of the cart, the sines and then the cosines of the hinges' angles, the velocities, and the
  // force of the rail's ends on the cart.
  template <class Out>
  DRL_HD static void observe(const R& robot, const Parts&, const Params&, Out obs) {
    *obs++ = robot.qpos(0);
    for (int k = 1; k < 3; ++k) *obs++ = math::sin(robot.qpos(k));
    for (int k = 1; k < 3; ++k) *obs++ = math::cos(robot.qpos(k));
    obs = gym::write_clipped_qvel(robot, 10, obs);
    *obs++ = math::clamp(robot.constraint_force_along(0), F(-10), F(10));
  }

  static constexpr auto preset = gym::preset();
};

}  // namespace drl

DRL_ROBOT(drl::InvertedDoublePendulum)
