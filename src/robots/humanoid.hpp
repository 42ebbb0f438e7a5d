// Humanoid-v5 of Gymnasium 1.4.0 (envs/mujoco/humanoid_v5.py): a humanoid with 17 joints walks forwards and
// must not fall.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Humanoid {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Humanoid-v5";
  static constexpr char description[] = "a humanoid runs forwards without falling";
  static constexpr int obs_dim = 348, max_obs_dim = gym::HumanoidObservation::kMaxDim, step_limit = 1000;
  static constexpr double dt = 0.015;                         // s
  static constexpr ContinuousAction<17> action{-0.4f, 0.4f};  // in units of 25 to 300 N m, by motor
  static constexpr auto& observations = gym::kHumanoidObservations;
  static constexpr auto& actions = gym::kHumanoidActions;
  static constexpr const char* reward_terms[] = {"reward_survive", "reward_forward", "reward_ctrl", "reward_contact"};
  static constexpr const char* metrics[] = {"x_velocity", "y_velocity"};  // m/s, of the centre of mass
  static constexpr RobotModel model{"humanoid.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S forward_reward_weight = S(1.25), ctrl_cost_weight = S(0.1), contact_cost_weight = S(5e-7);
    S contact_cost_min = S(-gym::kNone), contact_cost_max = 10, healthy_reward = 5;
    bool terminate_when_unhealthy = true;
    S healthy_z_min = 1, healthy_z_max = 2, reset_noise_scale = S(1e-2);
    gym::HumanoidObservation observation;
    template <class V>
    void describe(V& v) {
      v("forward_reward_weight", forward_reward_weight, "weight of the speed along x", any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      v("contact_cost_weight", contact_cost_weight, "weight of the squared contact forces", any_number());
      v("contact_cost_min", contact_cost_min, "lower bound on the cost of contacts", any_number());
      v("contact_cost_max", contact_cost_max, "upper bound on the cost of contacts", any_number());
      v("healthy_reward", healthy_reward, "reward for each healthy step", any_number());
      v("terminate_when_unhealthy", terminate_when_unhealthy, "an episode ends when the robot is not healthy");
      gym::describe_healthy_height(v, healthy_z_min, healthy_z_max);
      observation.describe(v);
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  struct Parts {
    BodyId torso;  // the root of all other bodies
    template <class Find>
    constexpr void find(Find& find) {
      find(torso, "torso");
    }
  };

  using State = gym::Place<F>;  // of the centre of mass

  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
    s.take(robot.subtree_center_of_mass(parts.torso));
  }

  DRL_HD static Step<F, 4, 2> step(State& s, R& robot, const F* action, const Parts& parts, const Params& p) {
    const State before = s;
    robot.advance(action);
    s.take(robot.subtree_center_of_mass(parts.torso));
    const Mask<F> healthy = gym::inside(robot.qpos(2), p.healthy_z_min, p.healthy_z_max);

    Step<F, 4, 2> result;
    result.metrics[0] = (s.x - before.x) / F(robot.dt());
    result.metrics[1] = (s.y - before.y) / F(robot.dt());
    result.terms[0] = math::select(healthy, F(p.healthy_reward), F(0));
    result.terms[1] = p.forward_reward_weight * result.metrics[0];
    result.terms[2] = -p.ctrl_cost_weight * gym::squares(action, 17);
    result.terms[3] = -math::clamp(p.contact_cost_weight * gym::squared_contacts(robot), F(p.contact_cost_min),
                                   F(p.contact_cost_max));
    result.reward = (result.terms[1] + result.terms[0]) + (result.terms[2] + result.terms[3]);
    result.terminated = gym::ended<F>(healthy, p.terminate_when_unhealthy);
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.observation.dim(); }
  template <class Out>
  DRL_HD static void observe(const State&, const R& robot, const Parts&, const Params& p, Out obs) {
    p.observation.write(robot, obs);
  }

  static constexpr auto preset = gym::preset({.learning_rate = "1e-4", .init_std = "0.3"});
};

}  // namespace drl

DRL_ROBOT(drl::Humanoid)
