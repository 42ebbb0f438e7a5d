// HumanoidStandup-v5 of Gymnasium 1.4.0 (envs/mujoco/humanoidstandup_v5.py): a humanoid that lies on its back
// stands up.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct HumanoidStandup {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "HumanoidStandup-v5";
  static constexpr char description[] = "a humanoid stands up from the ground";
  static constexpr int obs_dim = 348, max_obs_dim = gym::HumanoidObservation::kMaxDim, step_limit = 1000;
  static constexpr double dt = 0.015;                         // s
  static constexpr ContinuousAction<17> action{-0.4f, 0.4f};  // in units of 25 to 300 N m, by motor
  static constexpr auto& observations = gym::kHumanoidObservations;
  static constexpr auto& actions = gym::kHumanoidActions;
  static constexpr const char* reward_terms[] = {"reward_linup", "reward_quadctrl", "reward_impact", "reward_constant"};
  static constexpr const char* metrics[] = {"height"};  // of the torso, m
  static constexpr RobotModel model{"humanoid_standup.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S uph_cost_weight = 1, ctrl_cost_weight = S(0.1), impact_cost_weight = S(0.5e-6);
    S impact_cost_min = S(-gym::kNone), impact_cost_max = 10, reset_noise_scale = S(1e-2);
    gym::HumanoidObservation observation;
    template <class V>
    void describe(V& v) {
      v("uph_cost_weight", uph_cost_weight, "weight of the height (Gymnasium ignores this argument and uses 1)",
        any_number());
      v("ctrl_cost_weight", ctrl_cost_weight, "weight of the squared controls", any_number());
      v("impact_cost_weight", impact_cost_weight, "weight of the squared contact forces", any_number());
      v("impact_cost_min", impact_cost_min, "lower bound on the cost of contacts", any_number());
      v("impact_cost_max", impact_cost_max, "upper bound on the cost of contacts", any_number());
      observation.describe(v);
      gym::describe_reset_noise(v, reset_noise_scale);
    }
  };

  DRL_HD static void reset(R& robot, Draws<F>& draws, const Params& p) {
    gym::reset_uniform(robot, draws, p.reset_noise_scale);
  }

  DRL_HD static Step<F, 4, 1> step(R& robot, const F* action, const Params& p) {
    robot.advance(action);
    Step<F, 4, 1> result;
    result.metrics[0] = robot.qpos(2);
    result.terms[0] = p.uph_cost_weight * (robot.qpos(2) / F(robot.timestep()));
    result.terms[1] = -p.ctrl_cost_weight * gym::squares(action, 17);
    result.terms[2] =
        -math::clamp(p.impact_cost_weight * gym::squared_contacts(robot), F(p.impact_cost_min), F(p.impact_cost_max));
    result.terms[3] = F(1);
    result.reward = result.terms[0] + result.terms[1] + result.terms[2] + result.terms[3];
    return result;
  }

  static constexpr int obs_dim_with(const Params& p) { return p.observation.dim(); }
  template <class Out>
  DRL_HD static void observe(const R& robot, const Params& p, Out obs) {
    p.observation.write(robot, obs);
  }

  static constexpr auto preset = gym::preset({.learning_rate = "1e-4", .init_std = "0.3"});
};

}  // namespace drl

DRL_ROBOT(drl::HumanoidStandup)
