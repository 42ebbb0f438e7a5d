// Pusher-v5 of Gymnasium 1.4.0 (envs/mujoco/pusher_v5.py): an arm of seven joints pushes a cylinder to a goal.
#pragma once

#include "robots/gymnasium.hpp"

namespace drl {

template <class R>
struct Pusher {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Pusher-v5";
  static constexpr char description[] = "an arm pushes an object to a goal";
  static constexpr int obs_dim = 23, step_limit = 100;
  static constexpr double dt = 0.05;                   // s
  static constexpr ContinuousAction<7> action{-2, 2};  // N m
  static constexpr Quantity observations[] = {
      {"joint_pos", "rad", 7}, {"joint_vel", "rad/s", 7}, {"fingertips", "m", 3}, {"object", "m", 3}, {"goal", "m", 3}};
  static constexpr Quantity actions[] = {{"torque", "N m", 7}};
  static constexpr const char* reward_terms[] = {"reward_dist", "reward_ctrl", "reward_near"};
  static constexpr RobotModel model{"pusher.xml", 5};
  static constexpr bool any_frame_skip = true;

  struct Params {
    S reward_near_weight = S(0.5), reward_dist_weight = 1, reward_control_weight = S(0.1);
    template <class V>
    void describe(V& v) {
      v("reward_near_weight", reward_near_weight, "weight of the distance from the fingertips to the object",
        any_number());
      v("reward_dist_weight", reward_dist_weight, "weight of the distance from the object to the goal", any_number());
      v("reward_control_weight", reward_control_weight, "weight of the squared controls", any_number());
    }
  };

  struct Parts {
    BodyId fingertips, object, goal;
    template <class Find>
    constexpr void find(Find& find) {
      find(fingertips, "tips_arm");
      find(object, "object");
      find(goal, "goal");
    }
  };

  // Draws 80 random points in a rectangle. The object starts at the first one that is farther than 17 cm from the goal.
  // All 80 points are nearer in one of 10^33 starts.
  DRL_HD static void reset(R& robot, Draws<F>& draws, const Parts&, const Params&) {
    F y = F(0), x = F(0);
    Mask<F> found = F(0) != F(0);
    for (int attempt = 0; attempt < 80; ++attempt) {
      y = math::select(found, y, draws.uniform(F(-0.3), F(0)));
      x = math::select(found, x, draws.uniform(F(-0.2), F(0.2)));
      found = found | (y * y + x * x > F(0.17 * 0.17));
    }
    robot.set_qpos(7, y);
    robot.set_qpos(8, x);
    gym::perturb_qvel(robot, draws, F(0.005), 7);
    robot.forward();
  }

  DRL_HD static Step<F, 3> step(R& robot, const F* action, const Parts& parts, const Params& p) {
    robot.advance(action);
    const Vec<F, 3> object = robot.position(parts.object);

    Step<F, 3> result;
    result.terms[0] = -gym::distance(object, robot.position(parts.goal)) * p.reward_dist_weight;
    result.terms[1] = -gym::squares(action, 7) * p.reward_control_weight;
    result.terms[2] = -gym::distance(object, robot.position(parts.fingertips)) * p.reward_near_weight;
    result.reward = result.terms[0] + result.terms[1] + result.terms[2];
    return result;
  }

  // Writes the angles and velocities of the arm, and the positions of the fingertips, the object and the goal.
  template <class Out>
  DRL_HD static void observe(const R& robot, const Parts& parts, const Params&, Out obs) {
    for (int k = 0; k < 7; ++k) *obs++ = robot.qpos(k);
    for (int k = 0; k < 7; ++k) *obs++ = robot.qvel(k);
    const BodyId bodies[] = {parts.fingertips, parts.object, parts.goal};
    for (const BodyId body : bodies) obs = gym::write(robot.position(body), obs);
  }

  static constexpr auto preset = gym::preset();
};

}  // namespace drl

DRL_ROBOT(drl::Pusher)
