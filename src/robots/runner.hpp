// Gymnasium's tasks of robots that run, hop or swim along x in a plane. A header such as hopper.hpp configures the
// robot.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl::gym {

// The defaults of a runner's configuration, a struct that derives from this one. It also has the task's `name`,
// `description`, `dt`, `model`, `observations` and `actions`, and `joints`, `obs_dim`, `ctrl_cost_weight` and
// `reset_noise_scale`.
struct Runs {
  static constexpr int hidden = 1;                 // positions along the ground, which are not observed by default
  static constexpr bool starts_normally = false;   // velocities at the start are normal, otherwise uniform
  static constexpr bool clips_velocities = false;  // observed velocities are clipped to 10
  // Robots that must stay healthy also have `healthy_z` and `healthy_angle`, the bounds of the torso's height and
  // angle.
  static constexpr bool has_health = false;
  static constexpr bool bounds_state = false;  // such a robot's angles and velocities have bounds, too
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl"};
  static constexpr const char* metrics[] = {"x_velocity"};  // m/s
  static constexpr auto preset = gym::preset();
};
struct RunsHealthily : Runs {
  static constexpr bool has_health = true, clips_velocities = true;
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl", "reward_survive"};
  static constexpr double ctrl_cost_weight = 1e-3, reset_noise_scale = 5e-3;
};

// The options of robots that must stay healthy.
template <class S, class Config, bool = Config::has_health>
struct Health {
  S reward = 1;
  bool terminates = true;
  S state_min = -100, state_max = 100, z_min = S(Config::healthy_z[0]), z_max = S(Config::healthy_z[1]);
  S angle_min = S(Config::healthy_angle[0]), angle_max = S(Config::healthy_angle[1]);
  template <class V>
  void describe(V& v) {
    v("healthy_reward", reward, "reward for each healthy step", any_number());
    v("terminate_when_unhealthy", terminates, "an episode ends when the robot is not healthy");
    if constexpr (Config::bounds_state) {
      v("healthy_state_min", state_min, "the robot is healthy if angles and velocities exceed this", any_number());
      v("healthy_state_max", state_max, "the robot is healthy if angles and velocities are below this", any_number());
    }
    describe_healthy_height(v, z_min, z_max);
    v("healthy_angle_min", angle_min, "the robot is healthy if its torso's angle exceeds this", any_number(),
      unit("rad"));
    v("healthy_angle_max", angle_max, "the robot is healthy if its torso's angle is below this", any_number(),
      unit("rad"));
  }
  template <class R, class F = typename R::F>
  DRL_HD Mask<F> holds(const R& robot) const {
    Mask<F> healthy = inside(robot.qpos(1), z_min, z_max) & inside(robot.qpos(2), angle_min, angle_max);
    if constexpr (Config::bounds_state) {
      for (int k = 2; k < robot.nq(); ++k) healthy = healthy & inside(robot.qpos(k), state_min, state_max);
      for (int k = 0; k < robot.nv(); ++k) healthy = healthy & inside(robot.qvel(k), state_min, state_max);
    }
    return healthy;
  }
};
template <class S, class Config>
struct Health<S, Config, false> {
  template <class V>
  void describe(V&) {}
};

template <class R, class Config>
struct Runner {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char *name = Config::name, *description = Config::description, *preset = Config::preset;
  static constexpr int obs_dim = Config::obs_dim, max_obs_dim = obs_dim + Config::hidden, step_limit = 1000;
  static constexpr double dt = Config::dt;  // s
  static constexpr ContinuousAction<Config::joints> action{-1, 1};
  static constexpr auto& observations = Config::observations;
  static constexpr auto& actions = Config::actions;
  static constexpr auto& reward_terms = Config::reward_terms;
  static constexpr auto& metrics = Config::metrics;
  static constexpr RobotModel model = Config::model;
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(Config::ctrl_cost_weight);
    Health<S, Config> health;
    bool exclude_current_positions = true;
    S reset_noise_scale = S(Config::reset_noise_scale);
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the forward speed", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      health.describe(v);
      describe_exclusion(v, exclude_current_positions);
      describe_reset_noise(v, reset_noise_scale);
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Params& p) {
    if constexpr (Config::starts_normally)
      reset_normal(robot, draws, p.reset_noise_scale);
    else
      reset_uniform(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static auto step(R& robot, const F* action, const Params& p) {
    constexpr int axes = std::size(Config::metrics);
    F before[axes];
    for (int k = 0; k < axes; ++k) before[k] = robot.qpos(k);
    robot.advance(action);

    Step<F, std::size(Config::reward_terms), axes> result;
    for (int k = 0; k < axes; ++k) result.metrics[k] = (robot.qpos(k) - before[k]) / F(robot.dt());
    result.terms[0] = p.forward_reward_weight * result.metrics[0];
    result.terms[1] = -p.ctrl_cost_weight * squares(action, Config::joints);
    if constexpr (Config::has_health) {
      const Mask<F> healthy = p.health.holds(robot);
      result.terms[2] = math::select(healthy, F(p.health.reward), F(0));
      result.reward = result.terms[0] + result.terms[2] + result.terms[1];
      result.terminated = ended<F>(healthy, p.health.terminates);
    } else {
      result.reward = result.terms[0] + result.terms[1];
    }
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.exclude_current_positions ? obs_dim : max_obs_dim; }
  template <class Out>
  DRL_HD static void observe(const R& robot, const Params& p, Out obs) {
    obs = write_qpos(robot, p.exclude_current_positions ? Config::hidden : 0, obs);
    if constexpr (Config::clips_velocities)
      write_clipped_qvel(robot, 10, obs);
    else
      write_qvel(robot, obs);
  }
};

}  // namespace drl::gym
