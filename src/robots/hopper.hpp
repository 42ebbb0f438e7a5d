// Hopper-v5 of Gymnasium 1.4.0 (envs/mujoco/hopper_v5.py): a robot with one leg hops forwards and must
// not fall.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Hopper {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Hopper-v5";
  static constexpr char description[] = "a planar one-legged robot hops forwards";
  static constexpr int obs_dim = 11, max_obs_dim = 12, step_limit = 1000;
  static constexpr double dt = 0.008;                  // s
  static constexpr ContinuousAction<3> action{-1, 1};  // in units of 200 N m
  static constexpr Quantity observations[] = {{"qpos", "", 5}, {"qvel", "", 6}};
  static constexpr Quantity actions[] = {{"torque", "N m", 3, 200}};
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl", "reward_survive"};
  static constexpr const char* metrics[] = {"x_velocity"};  // m/s
  static constexpr RobotModel model{"hopper.xml", 4};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(1e-3), healthy_reward = 1;
    bool terminate_when_unhealthy = true;
    S healthy_state_min = -100, healthy_state_max = 100, healthy_z_min = S(0.7), healthy_z_max = S(gym::kNone);
    S healthy_angle_min = S(-0.2), healthy_angle_max = S(0.2), reset_noise_scale = S(5e-3);
    bool exclude_current_positions = true;
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the forward speed", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      v("healthy_reward", healthy_reward, "reward for each healthy step", any_number());
      v("terminate_when_unhealthy", terminate_when_unhealthy, "an episode ends when the robot is not healthy");
      v("healthy_state_min", healthy_state_min, "the robot is healthy if angles and velocities exceed this",
        any_number());
      v("healthy_state_max", healthy_state_max, "the robot is healthy if angles and velocities are below this",
        any_number());
      v("healthy_z_min", healthy_z_min, "the robot is healthy if its torso is higher than this", any_number(),
        unit("m"));
      v("healthy_z_max", healthy_z_max, "the robot is healthy if its torso is lower than this", any_number(),
        unit("m"));
      v("healthy_angle_min", healthy_angle_min, "the robot is healthy if its torso's angle exceeds this", any_number(),
        unit("rad"));
      v("healthy_angle_max", healthy_angle_max, "the robot is healthy if its torso's angle is below this", any_number(),
        unit("rad"));
      gym::describe_exclusion(v, exclude_current_positions);
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 3, 1> step(R& robot, const F* action, const Params& p) {
    const F x = robot.qpos(0);
    robot.advance(action);
    const Mask<F> healthy = is_healthy(robot, p);

    Step<F, 3, 1> result;
    result.metrics[0] = (robot.qpos(0) - x) / F(robot.dt());
    result.terms[0] = p.forward_reward_weight * result.metrics[0];
    result.terms[1] = -p.ctrl_cost_weight * gym::squares(action, 3);
    result.terms[2] = math::select(healthy, F(p.healthy_reward), F(0));
    result.reward = result.terms[0] + result.terms[2] + result.terms[1];
    result.terminated = gym::ended<F>(healthy, p.terminate_when_unhealthy);
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.exclude_current_positions ? 11 : 12; }
  template <class Out>
  DRL_HD static void observe(const R& robot, const Params& p, Out obs) {
    gym::write_clipped_qvel(robot, 10, gym::write_qpos(robot, p.exclude_current_positions ? 1 : 0, obs));
  }

  static constexpr auto preset = gym::preset();

 private:
  DRL_HD static Mask<F> is_healthy(const R& robot, const Params& p) {
    Mask<F> healthy = gym::inside(robot.qpos(1), p.healthy_z_min, p.healthy_z_max) &
                      gym::inside(robot.qpos(2), p.healthy_angle_min, p.healthy_angle_max);
    for (int k = 2; k < 6; ++k)
      healthy = healthy & gym::inside(robot.qpos(k), p.healthy_state_min, p.healthy_state_max);
    for (int k = 0; k < 6; ++k)
      healthy = healthy & gym::inside(robot.qvel(k), p.healthy_state_min, p.healthy_state_max);
    return healthy;
  }
};

}  // namespace drl

DRL_ROBOT(drl::Hopper)
