// Reacher-v5 of Gymnasium 1.4.0 (envs/mujoco/reacher_v5.py): move the fingertip of a two-link arm to a goal.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Reacher {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Reacher-v5";
  static constexpr char description[] = "a planar arm reaches a random goal with its tip";
  static constexpr int obs_dim = 10, step_limit = 50;
  static constexpr double dt = 0.02;                   // s
  static constexpr ContinuousAction<2> action{-1, 1};  // in units of 200 N m
  static constexpr Quantity observations[] = {{"cos(joint)", "", 2},
                                              {"sin(joint)", "", 2},
                                              {"target", "m", 2},
                                              {"joint_vel", "rad/s", 2},
                                              {"fingertip_to_target", "m", 2}};
  static constexpr Quantity actions[] = {{"torque", "N m", 2, 200}};
  static constexpr const char* reward_terms[] = {"reward_dist", "reward_ctrl"};
  static constexpr RobotModel model{"reacher.xml", 2};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S reward_dist_weight = 1, reward_control_weight = 1;
    template <class V>
    void describe(V& v) {
      v("reward_dist_weight", reward_dist_weight, "weight of the distance to the goal", any_number());
      v("reward_control_weight", reward_control_weight, "weight of the squared controls", any_number());
    }
  };

  struct Parts {
    BodyId fingertip, target;
    template <class Find>
    constexpr void find(Find& find) {
      find(fingertip, "fingertip");
      find(target, "target");
    }
  };

  // Draws 40 random points in a square. The goal is the first one within 20 cm of the shoulder. All 40 points are
  // farther away in one of 10^26 starts.
  DRL_HD static void reset(R& robot, Draws<F>& draws, const Parts&, const Params&) {
    for (int k = 0; k < 2; ++k) robot.set_qpos(k, robot.qpos(k) + draws.uniform(F(-0.1), F(0.1)));
    F x = F(0), y = F(0);
    Mask<F> found = F(0) != F(0);
    for (int attempt = 0; attempt < 40; ++attempt) {
      x = math::select(found, x, draws.uniform(F(-0.2), F(0.2)));
      y = math::select(found, y, draws.uniform(F(-0.2), F(0.2)));
      found = found | (x * x + y * y < F(0.04));
    }
    robot.set_qpos(2, x);
    robot.set_qpos(3, y);
    gym::perturb_qvel(robot, draws, F(0.005), 2);
    robot.forward();
  }

  DRL_HD static Step<F, 2> step(R& robot, const F* action, const Parts& parts, const Params& p) {
    robot.advance(action);
    Step<F, 2> result;
    result.terms[0] =
        -gym::distance(robot.position(parts.fingertip), robot.position(parts.target)) * p.reward_dist_weight;
    result.terms[1] = -gym::squares(action, 2) * p.reward_control_weight;
    result.reward = result.terms[0] + result.terms[1];
    return result;
  }

  // Writes the cosines and then the sines of the joints' angles, the goal, the joints' velocities, and the vector from
  // the goal to the fingertip.
  template <class Out>
  DRL_HD static void observe(const R& robot, const Parts& parts, const Params&, Out obs) {
    const Vec<F, 3> tip = robot.position(parts.fingertip), goal = robot.position(parts.target);
    for (int k = 0; k < 2; ++k) *obs++ = math::cos(robot.qpos(k));
    for (int k = 0; k < 2; ++k) *obs++ = math::sin(robot.qpos(k));
    obs = gym::write_qpos(robot, 2, obs);
    for (int k = 0; k < 2; ++k) *obs++ = robot.qvel(k);
    for (int k = 0; k < 2; ++k) *obs++ = tip[k] - goal[k];
  }

  static constexpr auto preset = gym::preset({.gamma = "0.95"});
};

}  // namespace drl

DRL_ROBOT(drl::Reacher)
