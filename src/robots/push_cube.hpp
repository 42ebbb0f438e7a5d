// PushCube: a robot arm (UR10) pushes a cube over a table to a goal. The task follows EmbodiChain's PushCubeRL
// (configs/agents/rl/push_cube/gym_config.json in its embodichain_tasks), which that project trains with PPO and GRPO.
// docs/reference/robots.md lists the main differences.
//
// EmbodiChain rewards each step for nearness, so that waiting beside the goal pays more than success, which ends the
// episode. Here these terms are costs, which are 0 at their best. As in EmbodiChain, `action_rate` depends on the
// previous action, which is not observed, and neither is the cube's velocity.
#pragma once

#include <cmath>

#include "drl/robots/common.hpp"

namespace drl {

template <class R>
struct PushCube {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "PushCube";
  static constexpr char description[] = "an arm (UR10) pushes a cube to a goal on a table";
  static constexpr int joints = 6, obs_dim = 30, step_limit = 100;
  static constexpr double dt = 0.04;  // s
  static constexpr ContinuousAction<joints> action{-1, 1};
  static constexpr Quantity observations[] = {
      {"joint_pos", "rad", joints},
      {"joint_vel", "rad/s", joints},
      {"tool", "m", 3},
      {"cube.position", "m", 3},
      {"cube.orientation", "", 4},  // a quaternion: w, x, y, z
      {"goal", "m", 2},
      {"behind_cube_from_tool", "m", 3},
      {"goal_from_cube", "m", 2},
      {"goal_distance", "m"},
  };
  static constexpr Quantity actions[] = {{"change_of_joint_pos", "rad", joints, 0.1}};
  static constexpr RewardTerm reward_terms[] = {{"reach", 1}, {"goal", 0.8}, {"action_rate", 0.01}, {"success", 10}};
  static constexpr EndCause ends[] = {{"success"}};
  static constexpr const char* metrics[] = {"goal_distance"};  // m
  static constexpr RobotModel model{"push_cube.xml", 8};

  struct Params {
    S radius = S(0.1), nearest = S(0.2), farthest = S(0.3), spread = S(0.1);
    template <class V>
    void describe(V& v) {
      v("radius", radius, "distance of the cube from the goal below which the episode is a success", above(0),
        unit("m"));
      v("nearest", nearest, "smallest distance of the goal from the cube at the start; radius if that is larger",
        at_least(0), unit("m"));
      v("farthest", farthest, "largest distance of the goal from the cube at the start; nearest if that is larger",
        at_least(0), unit("m"));
      v("spread", spread, "largest distance of the cube from the middle of its places, along x and y", at_least(0),
        unit("m"));
    }
  };

  struct Parts {
    JointId arm[joints], cube;
    BodyId box;
    GeomId shape;
    SiteId tool;
    template <class Find>
    constexpr void find(Find& find) {
      constexpr const char* names[] = {"shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"};
      for (int k = 0; k < joints; ++k) find(arm[k], names[k]);
      find(cube, "cube"), find(box, "cube"), find(shape, "cube"), find(tool, "tool");
    }
  };

  struct State {
    F goal[2];         // m
    F action[joints];  // of the last step; 0 at the start
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("goal", goal), visit("action", action);
    }
  };

  // The arm starts with the gripper pointing down above the table, near the cube.
  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    constexpr double start[joints] = {0, -1.57, 1.57, -1.57, -1.57, 0}, noise = 0.02;  // rad
    constexpr double middle[2] = {-0.6, -0.4};                                         // m
    for (int k = 0; k < joints; ++k) {
      robot.set_qpos(parts.arm[k].qpos, F(start[k]) + draws.uniform(F(-noise), F(noise)));
      s.action[k] = F(0);
    }
    const F nearest = math::max(F(p.nearest), F(p.radius)), farthest = math::max(F(p.farthest), nearest);
    const F distance = draws.uniform(nearest, farthest), angle = draws.uniform(F(-common::kPi), F(common::kPi));
    const F direction[2] = {math::cos(angle), math::sin(angle)};
    for (int k = 0; k < 2; ++k) {
      const F at = F(middle[k]) + draws.uniform(F(-p.spread), F(p.spread));
      robot.set_qpos(parts.cube.qpos + k, at);
      s.goal[k] = at + distance * direction[k];
    }
    robot.set_qpos(parts.cube.qpos + 2,
                   robot.qpos(parts.cube.qpos + 2) * robot.size_factor(parts.shape));  // its middle
    robot.forward();
  }

  DRL_HD static Step<F, 4, 1, 1> step(State& s, R& robot, const F* action, const Parts& parts, const Params& p) {
    F target[joints], change[joints];
    for (int k = 0; k < joints; ++k) {
      target[k] = robot.qpos(parts.arm[k]) + F(0.1) * action[k];
      change[k] = action[k] - s.action[k];
      s.action[k] = action[k];
    }
    robot.advance(target);
    robot.forward();

    const F distance = goal_distance(s, robot, parts);
    const Mask<F> success = distance < F(p.radius);
    Step<F, 4, 1, 1> result;
    result.terms[0] = -math::tanh(F(3) * common::norm(behind_cube_from_tool(s, robot, parts).at, 3));
    result.terms[1] = math::exp(common::square(distance) * F(-0.5 / (0.12 * 0.12))) - F(1);
    result.terms[2] = -common::norm(change, joints);
    result.terms[3] = math::select(success, F(1), F(0));
    result.ends[0] = success;
    result.metrics[0] = distance;
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    const Vec<F, 3> tool = robot.position(parts.tool), cube = robot.position(parts.box);
    const Vec<F, 3> behind = behind_cube_from_tool(s, robot, parts);
    for (int k = 0; k < joints; ++k) *obs++ = robot.qpos(parts.arm[k]);
    for (int k = 0; k < joints; ++k) *obs++ = robot.qvel(parts.arm[k]);
    for (int k = 0; k < 3; ++k) *obs++ = tool[k];
    for (int k = 0; k < 3; ++k) *obs++ = cube[k];
    for (int k = 0; k < 4; ++k) *obs++ = robot.qpos(parts.cube.qpos + 3 + k);
    for (int k = 0; k < 2; ++k) *obs++ = s.goal[k];
    for (int k = 0; k < 3; ++k) *obs++ = behind[k];
    for (int k = 0; k < 2; ++k) *obs++ = s.goal[k] - cube[k];
    *obs++ = goal_distance(s, robot, parts);
  }

  // Draws the edge of the goal.
  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    constexpr int sides = 24;
    const auto corner = [&](int k) {
      const double angle = 2 * common::kPi * k / sides;
      return typename Canvas::Point{static_cast<float>(s.goal[0] + p.radius * std::cos(angle)),
                                    static_cast<float>(s.goal[1] + p.radius * std::sin(angle)), 0.002f};
    };
    for (int k = 0; k < sides; ++k) canvas.capsule(corner(k), corner(k + 1), 0.004f, Canvas::green);
  }

  static constexpr const char* preset = R"(
num_envs = 512
num_steps_per_env = 32
max_iterations = 200
[ppo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 200
num_learning_epochs = 4
num_mini_batches = 8
gamma = 0.98
lam = 0.95
entropy_coef = 0
obs_normalization = true
reward_normalization = true
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = elu
init_std = 0.6
)";

 private:
  DRL_HD static F goal_distance(const State& s, const R& robot, const Parts& parts) {
    const Vec<F, 3> cube = robot.position(parts.box);
    const F way[2] = {s.goal[0] - cube[0], s.goal[1] - cube[1]};
    return common::norm(way, 2);
  }
  // Returns the vector from the tool to the point from which to push, in m: 8 cm behind the middle of the cube, on the
  // side that faces away from the goal. There the fingers almost touch the cube: 5 cm + 2 cm.
  DRL_HD static Vec<F, 3> behind_cube_from_tool(const State& s, const R& robot, const Parts& parts) {
    const Vec<F, 3> tool = robot.position(parts.tool), cube = robot.position(parts.box);
    const F per_metre = F(0.08) / (goal_distance(s, robot, parts) + F(1e-6));
    Vec<F, 3> way{{F(0), F(0), cube[2] - tool[2]}};
    for (int k = 0; k < 2; ++k) way[k] = cube[k] - (s.goal[k] - cube[k]) * per_metre - tool[k];
    return way;
  }
};

}  // namespace drl

DRL_ROBOT(drl::PushCube)
