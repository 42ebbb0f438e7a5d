// Reorient: a hand (Allegro) on a robot arm (KUKA iiwa) brings a cube that it holds to a commanded pose. The task
// follows Isaac Lab's Isaac-Dexsuite-Kuka-Allegro-Reorient-v0, with its actions, rewards and weights.
// docs/reference/robots.md lists the main differences.
//
// A success ends the episode like a time-out, so that the rewards that would follow count by the critic's value of the
// last state: otherwise, waiting beside the goal would pay more. Positions, orientations and forces are those of the
// last time step, 0.01 s before the joints' angles. Quaternions are (w, x, y, z).
#pragma once

#include "drl/robots/common.hpp"

namespace drl {

template <class R>
struct Reorient {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr const char* name = "Reorient";
  static constexpr char description[] = "a hand (Allegro) on an arm brings a cube to a pose";
  static constexpr int joints = 23, fingers = 4, obs_dim = 110, step_limit = 120;
  static constexpr double dt = 0.05;  // s
  static constexpr bool scale_rewards_by_dt = true;
  static constexpr ContinuousAction<joints> action{-1, 1};
  static constexpr Quantity observations[] = {
      {"joint_pos", "rad", joints},
      {"joint_vel", "rad/s", joints},
      {"last_action", "", joints},
      {"fingertips_from_cube", "m", 3 * fingers},
      {"fingertips.force", "N", 3 * fingers},
      {"palm.orientation", "", 4},
      {"cube_from_palm", "m", 3},
      {"cube.orientation", "", 4},
      {"goal_from_cube.position", "m", 3},
      {"goal_from_cube.rotation", "rad", 3},
  };
  static constexpr Quantity actions[] = {{"change_of_joint_pos", "rad", joints, 0.1}};
  static constexpr RewardTerm reward_terms[] = {
      {"action_l2", -0.005},        {"action_rate_l2", -0.005},  {"fingers_to_object", 0.5},
      {"position_tracking", 2},     {"orientation_tracking", 4}, {"success", 10},
      {"good_finger_contact", 0.5},
  };
  static constexpr EndCause ends[] = {{"success", EndsAs::time_out}, {"dropped"}};
  static constexpr const char* metrics[] = {"position_error", "orientation_error"};  // m, rad
  static constexpr RobotModel model{"reorient.xml", 5};

  struct Params {
    S farthest = S(0.05), smallest_angle = S(0.5), largest_angle = S(1.5);
    S position_tolerance = S(0.05), angle_tolerance = S(0.2), hold = S(0.5);
    template <class V>
    void describe(V& v) {
      v("farthest", farthest, "largest distance of the goal from the cube at the start, along x, y and z", at_least(0),
        unit("m"));
      v("smallest_angle", smallest_angle, "smallest angle between the cube at the start and the goal", at_least(0),
        unit("rad"));
      v("largest_angle", largest_angle, "largest of these angles; smallest_angle if that is larger", at_least(0),
        unit("rad"));
      v("position_tolerance", position_tolerance, "distance from the goal below which the cube is at the goal",
        above(0), unit("m"));
      v("angle_tolerance", angle_tolerance, "angle from the goal below which the cube is at the goal", above(0),
        unit("rad"));
      v("hold", hold, "time at the goal after which the episode is a success", at_least(0), unit("s"));
    }
  };

  struct Parts {
    JointId joint[joints], cube;
    BodyId palm, box;
    SiteId start, tip[fingers];
    SensorId contact[fingers];
    template <class Find>
    constexpr void find(Find& find) {
      constexpr const char* names[joints] = {"arm_1",    "arm_2",    "arm_3",    "arm_4",   "arm_5",   "arm_6",
                                             "arm_7",    "index_0",  "index_1",  "index_2", "index_3", "middle_0",
                                             "middle_1", "middle_2", "middle_3", "ring_0",  "ring_1",  "ring_2",
                                             "ring_3",   "thumb_0",  "thumb_1",  "thumb_2", "thumb_3"};
      constexpr const char* tips[fingers] = {"index_tip", "middle_tip", "ring_tip", "thumb_tip"};
      constexpr const char* sensors[fingers] = {"index", "middle", "ring", "thumb"};
      for (int k = 0; k < joints; ++k) find(joint[k], names[k]);
      for (int k = 0; k < fingers; ++k) find(tip[k], tips[k]), find(contact[k], sensors[k]);
      find(cube, "cube"), find(box, "cube"), find(palm, "palm"), find(start, "palm");
    }
  };

  struct State {
    F position[3], orientation[4];  // of the goal: m; a quaternion
    F action[joints];               // of the last step; 0 at the start
    F held;                         // time at the goal without interruption, in s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("position", position), visit("orientation", orientation), visit("action", action), visit("held", held);
    }
  };

  // The cube lies on the palm, which faces upwards, turned about the vertical by up to 45 degrees.
  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    constexpr double arm_noise = 0.05, hand_noise = 0.1;  // rad
    robot.keyframe("start");
    for (int k = 0; k < joints; ++k) {
      const double noise = k < 7 ? arm_noise : hand_noise;
      const int at = parts.joint[k].qpos;
      robot.set_qpos(at, robot.qpos(at) + draws.uniform(F(-noise), F(noise)));
      s.action[k] = F(0);
    }
    robot.forward();
    const Vec<F, 4> turn = rotation_about({{F(1), F(0), F(0)}}, draws.uniform(F(-common::kPi / 4), F(common::kPi / 4)));
    const Vec<F, 4> cube = common::product(robot.orientation(parts.palm), turn);
    const Vec<F, 3> start = robot.position(parts.start);
    for (int k = 0; k < 3; ++k) robot.set_qpos(parts.cube.qpos + k, start[k]);
    for (int k = 0; k < 4; ++k) robot.set_qpos(parts.cube.qpos + 3 + k, cube[k]);
    robot.forward();

    // The axis of the goal's rotation is uniform on the sphere.
    const F z = draws.uniform(F(-1), F(1)), angle = draws.uniform(F(-common::kPi), F(common::kPi));
    const F width = math::sqrt(math::max(F(1) - common::square(z), F(0)));
    const Vec<F, 3> axis{{width * math::cos(angle), width * math::sin(angle), z}};
    const F smallest = F(p.smallest_angle), largest = math::max(F(p.largest_angle), smallest);
    const Vec<F, 4> goal = common::product(rotation_about(axis, draws.uniform(smallest, largest)), cube);
    for (int k = 0; k < 4; ++k) s.orientation[k] = goal[k];
    for (int k = 0; k < 3; ++k) s.position[k] = start[k] + draws.uniform(F(-p.farthest), F(p.farthest));
    s.held = F(0);
  }

  DRL_HD static Step<F, 7, 2, 2> step(State& s, R& robot, const F* action, const Parts& parts, const Params& p) {
    F target[joints], change[joints];
    for (int k = 0; k < joints; ++k) {
      target[k] = robot.qpos(parts.joint[k]) + F(0.1) * action[k];
      change[k] = action[k] - s.action[k];
      s.action[k] = action[k];
    }
    robot.advance(target);

    const Vec<F, 3> way = position_error(s, robot, parts), rotation = rotation_error(s, robot, parts);
    const F distance = common::norm(way.at, 3), angle = common::norm(rotation.at, 3);
    const F grip = math::select(is_gripped(robot, parts), F(1), F(0));
    Step<F, 7, 2, 2> result;
    result.terms[0] = common::squares(action, joints);
    result.terms[1] = common::squares(change, joints);
    result.terms[2] = nearness(farthest_part_of_hand(robot, parts), 0.4);
    result.terms[3] = nearness(distance, 0.2) * grip;
    result.terms[4] = nearness(angle, 1.5) * grip;
    result.terms[5] = nearness(distance, 0.1) * nearness(angle, 0.5);
    result.terms[6] = grip;

    const Mask<F> is_there = (distance < F(p.position_tolerance)) & (angle < F(p.angle_tolerance));
    s.held = math::select(is_there, s.held + F(dt), F(0));
    const Vec<F, 3> fallen = between(robot.position(parts.start), robot.position(parts.box));
    result.ends[0] = is_there & (s.held > F(p.hold) - F(0.5 * dt));
    result.ends[1] = common::norm(fallen.at, 3) > F(0.15);
    result.metrics[0] = distance;
    result.metrics[1] = angle;
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    const Vec<F, 3> cube = robot.position(parts.box), from_palm = between(robot.position(parts.start), cube);
    const Vec<F, 4> palm = robot.orientation(parts.palm), orientation = robot.orientation(parts.box);
    const Vec<F, 3> way = position_error(s, robot, parts), rotation = rotation_error(s, robot, parts);
    for (int k = 0; k < joints; ++k) *obs++ = robot.qpos(parts.joint[k]);
    for (int k = 0; k < joints; ++k) *obs++ = robot.qvel(parts.joint[k]);
    for (int k = 0; k < joints; ++k) *obs++ = s.action[k];
    for (int f = 0; f < fingers; ++f)
      for (int k = 0; k < 3; ++k) *obs++ = robot.position(parts.tip[f])[k] - cube[k];
    for (int f = 0; f < fingers; ++f)
      for (int k = 0; k < 3; ++k) *obs++ = math::clamp(robot.sensor(parts.contact[f], k), F(-20), F(20));
    for (int k = 0; k < 4; ++k) *obs++ = palm[k];
    for (int k = 0; k < 3; ++k) *obs++ = from_palm[k];
    for (int k = 0; k < 4; ++k) *obs++ = orientation[k];
    for (int k = 0; k < 3; ++k) *obs++ = way[k];
    for (int k = 0; k < 3; ++k) *obs++ = rotation[k];
  }

  // Draws the edges of a cube at the goal, a little larger than the cube itself. Three edges that meet have the colours
  // of the faces that they point to.
  template <class Canvas>
  static void draw(const State& s, const Params&, Canvas& canvas) {
    constexpr float half = 0.027f;
    const auto number = [](F x) { return static_cast<float>(x); };
    const Vec<float, 4> q{
        {number(s.orientation[0]), number(-s.orientation[1]), number(-s.orientation[2]), number(-s.orientation[3])}};
    const auto corner = [&](int k) {
      const auto side = [&](int axis) { return (k >> axis) % 2 == 0 ? -half : half; };
      const Vec<float, 3> at = common::in_body_frame(q, Vec<float, 3>{{side(0), side(1), side(2)}});
      return typename Canvas::Point{number(s.position[0]) + at[0], number(s.position[1]) + at[1],
                                    number(s.position[2]) + at[2]};
    };
    constexpr typename Canvas::Color colors[] = {Canvas::red, Canvas::green, Canvas::blue};
    for (int k = 0; k < 8; ++k)
      for (int axis = 0; axis < 3; ++axis)
        if ((k >> axis) % 2 == 0)
          canvas.capsule(corner(k), corner(k + (1 << axis)), 0.0015f, k == 0 ? colors[axis] : Canvas::white);
  }

  static constexpr const char* preset = R"(
num_envs = 256
num_steps_per_env = 32
max_iterations = 300
[ppo]
learning_rate = 5e-4
schedule = linear
schedule_iterations = 300
num_learning_epochs = 5
num_mini_batches = 4
gamma = 0.95
lam = 0.95
entropy_coef = 0
obs_normalization = true
reward_normalization = true
[policy]
actor_hidden_dims = 128,128
critic_hidden_dims = 128,128
activation = elu
init_std = 0.6
)";

 private:
  DRL_HD static Vec<F, 3> between(const Vec<F, 3>& from, const Vec<F, 3>& to) { return common::difference(to, from); }
  // Returns the quaternion of a rotation about an axis of length 1 by an angle in rad.
  DRL_HD static Vec<F, 4> rotation_about(const Vec<F, 3>& axis, F angle) {
    const F half = F(0.5) * angle, sine = math::sin(half);
    return {{math::cos(half), sine * axis[0], sine * axis[1], sine * axis[2]}};
  }
  // Dexsuite's kernel: 1 at a distance of 0, and 0 far away.
  DRL_HD static F nearness(F distance, double scale) { return F(1) - math::tanh(distance * F(1 / scale)); }
  DRL_HD static Vec<F, 3> position_error(const State& s, const R& robot, const Parts& parts) {
    return between(robot.position(parts.box), {{s.position[0], s.position[1], s.position[2]}});
  }
  // Returns the shortest rotation from the cube to the goal, as its axis times its angle, in world coordinates.
  DRL_HD static Vec<F, 3> rotation_error(const State& s, const R& robot, const Parts& parts) {
    const Vec<F, 4> goal{{s.orientation[0], s.orientation[1], s.orientation[2], s.orientation[3]}};
    const Vec<F, 4> error = common::product(goal, common::inverse(robot.orientation(parts.box)));
    const F sine = common::norm(error.at + 1, 3), sign = math::select(error[0] < F(0), F(-1), F(1));
    const F by = F(2) * math::atan2(sine, math::abs(error[0])) * sign / math::max(sine, F(1e-6));
    return {{by * error[1], by * error[2], by * error[3]}};
  }
  // Returns whether the thumb and another fingertip press the cube, each with more than 1 N.
  DRL_HD static Mask<F> is_gripped(const R& robot, const Parts& parts) {
    F squared[fingers];
    for (int f = 0; f < fingers; ++f) {
      const F force[3] = {robot.sensor(parts.contact[f], 0), robot.sensor(parts.contact[f], 1),
                          robot.sensor(parts.contact[f], 2)};
      squared[f] = common::squares(force, 3);
    }
    return (squared[3] > F(1)) & (math::max(math::max(squared[0], squared[1]), squared[2]) > F(1));
  }
  // Returns the largest distance of the palm and the fingertips from the cube, in m.
  DRL_HD static F farthest_part_of_hand(const R& robot, const Parts& parts) {
    const Vec<F, 3> cube = robot.position(parts.box);
    F farthest = common::norm(between(cube, robot.position(parts.palm)).at, 3);
    for (int f = 0; f < fingers; ++f)
      farthest = math::max(farthest, common::norm(between(cube, robot.position(parts.tip[f])).at, 3));
    return farthest;
  }
};

}  // namespace drl

DRL_ROBOT(drl::Reorient)
