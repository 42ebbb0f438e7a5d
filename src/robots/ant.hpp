// Ant-v5 of Gymnasium 1.4.0 (envs/mujoco/ant_v5.py): a body on four legs of two joints each runs forwards.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Ant {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Ant-v5";
  static constexpr char description[] = "a four-legged robot runs forwards";
  static constexpr int obs_dim = 105, max_obs_dim = 107, step_limit = 1000;
  static constexpr double dt = 0.05;                   // s
  static constexpr ContinuousAction<8> action{-1, 1};  // in units of 150 N m
  static constexpr Quantity observations[] = {{"qpos", "", 13}, {"qvel", "", 14}, {"contact_force", "", 78}};
  static constexpr Quantity actions[] = {{"torque", "N m", 8, 150}};
  static constexpr const char* reward_terms[] = {"reward_forward", "reward_ctrl", "reward_contact", "reward_survive"};
  static constexpr const char* metrics[] = {"x_velocity", "y_velocity"};  // m/s
  static constexpr RobotModel model{"ant.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = 1, ctrl_cost_weight = S(0.5), contact_cost_weight = S(5e-4), healthy_reward = 1;
    int32_t main_body = 1;
    bool terminate_when_unhealthy = true;
    S healthy_z_min = S(0.2), healthy_z_max = 1, contact_force_min = -1, contact_force_max = 1;
    S reset_noise_scale = S(0.1);
    bool exclude_current_positions = true, include_contacts = true;
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the speed along x", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      v("contact_cost_weight", contact_cost_weight, "weight of the squared contact forces", any_number());
      v("healthy_reward", healthy_reward, "reward for each healthy step", any_number());
      v("main_body", main_body, "number of the body whose speed is rewarded; 1 is the torso", between(0, 13));
      v("terminate_when_unhealthy", terminate_when_unhealthy, "an episode ends when the robot is not healthy");
      v("healthy_z_min", healthy_z_min, "the robot is healthy if its torso is at least this high", any_number(),
        unit("m"));
      v("healthy_z_max", healthy_z_max, "the robot is healthy if its torso is at most this high", any_number(),
        unit("m"));
      v("contact_force_min", contact_force_min, "contact forces are clipped to at least this", any_number(), unit("N"));
      v("contact_force_max", contact_force_max, "contact forces are clipped to at most this", any_number(), unit("N"));
      v("include_cfrc_ext_in_observation", include_contacts, "observe the contact torques and forces on the bodies");
      gym::describe_exclusion(v, exclude_current_positions);
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  using State = gym::Place<F>;  // of the main body

  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_normal(robot, draws, p.reset_noise_scale);
    s.take(robot.position(BodyId{p.main_body}));
  }

  DRL_HD static Step<F, 4, 2> step(State& s, R& robot, const F* action, const Params& p) {
    const State before = s;
    robot.advance(action);
    s.take(robot.position(BodyId{p.main_body}));
    const Mask<F> healthy = (F(p.healthy_z_min) <= robot.qpos(2)) & (robot.qpos(2) <= F(p.healthy_z_max));

    Step<F, 4, 2> result;
    result.metrics[0] = (s.x - before.x) / F(robot.dt());
    result.metrics[1] = (s.y - before.y) / F(robot.dt());
    result.terms[0] = result.metrics[0] * p.forward_reward_weight;
    result.terms[1] = -p.ctrl_cost_weight * gym::squares(action, 8);
    result.terms[2] = -p.contact_cost_weight * squared_contacts(robot, p);
    result.terms[3] = math::select(healthy, F(p.healthy_reward), F(0));
    result.reward = (result.terms[0] + result.terms[3]) + (result.terms[1] + result.terms[2]);
    result.terminated = gym::ended<F>(healthy, p.terminate_when_unhealthy);
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) {
    return (p.exclude_current_positions ? 27 : 29) + (p.include_contacts ? 13 * 6 : 0);
  }
  // Writes qpos, without x and y if they are excluded; qvel; contact torque and force on each body except the world.
  template <class Out>
  DRL_HD static void observe(const State&, const R& robot, const Params& p, Out obs) {
    obs = gym::write_qvel(robot, gym::write_qpos(robot, p.exclude_current_positions ? 2 : 0, obs));
    for (int b = 1; p.include_contacts && b < robot.nbody(); ++b) obs = gym::write(contacts(robot, b, p), obs);
  }

  static constexpr auto preset = gym::preset({.init_std = "0.4"});

 private:
  DRL_HD static Vec<F, 6> contacts(const R& robot, int body, const Params& p) {
    Vec<F, 6> force = robot.external_force(BodyId{body});
    for (int k = 0; k < 6; ++k) force[k] = math::clamp(force[k], F(p.contact_force_min), F(p.contact_force_max));
    return force;
  }
  DRL_HD static F squared_contacts(const R& robot, const Params& p) {
    F sum = F(0);
    for (int b = 0; b < robot.nbody(); ++b) sum = sum + gym::squares(contacts(robot, b, p).at, 6);
    return sum;
  }
};

}  // namespace drl

DRL_ROBOT(drl::Ant)
