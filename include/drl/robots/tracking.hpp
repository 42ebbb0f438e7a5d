// Implements mjlab's tracking task (version 1.6.0, tasks/tracking; BeyondMimic): a robot with a motor in each joint
// follows a motion of a file of drl_motion, is pushed now and then, and differs slightly between environments.
// Episodes begin at a random frame; those in parts of the motion where episodes fail are drawn more often. What differs
// from mjlab is in docs/howto/motion.md. A struct `Config` describes the robot, as for velocity.hpp, and what it
// tracks:
//
//   struct G1Follower : G1Robot {  // joints, motors, feet
//     static constexpr const char* name = "G1-Tracking";
//     static constexpr drl::RobotModel model{"g1.xml", 4};
//     static constexpr const char* bodies[] = {"pelvis", "left_knee_link", ..., "torso_link", ...};
//     static constexpr int anchor = 7, ends_at[] = {3, 6, 10, 13};
//     static constexpr const char* clip = "g1_exercise.h5";
//     static constexpr auto& preset = drl::tracking::kPreset;
//   };
//   template <class R>
//   struct G1Tracking : drl::tracking::Task<R, G1Follower> {};
//   DRL_ROBOT(G1Tracking)
//
// As in mjlab, rewards and the end of an episode use the bodies' positions and velocities at the beginning of the last
// time step, and the reference's bodies relative to the anchor of the previous observation.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include "drl/robots/mjlab.hpp"
#include "drl/task/motion.hpp"

namespace drl::tracking {

using namespace mjlab;

// The motions that all environments of this process track. Empty until Params::prepare reads them.
inline MotionFrames motions{};
// Returns them. GPUs cannot read them, and refuse the task.
DRL_HD const MotionFrames* tracked() {
#if defined(DRL_GPU_COMPILER)
  return nullptr;
#else
  return &motions;
#endif
}

// The value of the option `sampling`: how the first frame of an episode is drawn.
enum class Sampling : int32_t { adaptive, uniform, start };
constexpr const char* kSamplings[] = {"adaptive", "uniform", "start"};
constexpr std::string_view name_of(Sampling sampling) { return kSamplings[static_cast<int32_t>(sampling)]; }
static_assert(name_of(Sampling::adaptive) == "adaptive" && name_of(Sampling::uniform) == "uniform" &&
              name_of(Sampling::start) == "start");

// All motions together are cut into this many parts of equal length. The numbers of episodes that fail in each part
// decide how often episodes begin there.
constexpr int kParts = 20;
constexpr const char* kFailed[kParts] = {"failed_00", "failed_01", "failed_02", "failed_03", "failed_04",
                                         "failed_05", "failed_06", "failed_07", "failed_08", "failed_09",
                                         "failed_10", "failed_11", "failed_12", "failed_13", "failed_14",
                                         "failed_15", "failed_16", "failed_17", "failed_18", "failed_19"};
// These metrics precede those of kFailed. Lengths are in m, angles in rad.
constexpr const char* kErrors[] = {"error_anchor_pos", "error_anchor_rot", "error_body_pos",
                                   "error_body_rot",   "error_joint_pos",  "error_joint_vel"};
constexpr int kErrorCount = std::size(kErrors);

// A preset for one core, which has fewer environments than mjlab's GPU (4096): smaller networks, and episodes that
// begin more evenly.
constexpr char kPreset[] = R"(
num_envs = 512
num_steps_per_env = 24
max_iterations = 500
[ppo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 500
num_learning_epochs = 5
num_mini_batches = 4
clip_param = 0.2
use_clipped_value_loss = true
value_clip = 0.2
value_loss_coef = 1.0
entropy_coef = 0.002
gamma = 0.985
lam = 0.95
max_grad_norm = 1.0
obs_normalization = true
[policy]
actor_hidden_dims = 128,128,128
critic_hidden_dims = 128,128,128
activation = elu
init_std = 0.8
std_type = scalar
[env]
push = 0.5
uniform_ratio = 1
)";

// Rotates a vector by q, from a body's frame to world coordinates.
template <class F>
DRL_HD Vec<F, 3> rotated(const Vec<F, 4>& q, const Vec<F, 3>& v) {
  return in_body_frame(inverse(q), v);
}
// Returns the angle between two orientations, in [0, pi] rad.
template <class F>
DRL_HD F angle_between(const Vec<F, 4>& a, const Vec<F, 4>& b) {
  const Vec<F, 4> q = product(a, inverse(b));
  return F(2) * math::atan2(norm(q.at + 1, 3), math::abs(q[0]));
}
// Returns the rotation about z by a half of which cosine and sine are given.
template <class F>
DRL_HD Vec<F, 4> about_z(F cosine, F sine) {
  return {{cosine, F(0), F(0), sine}};
}
// Returns the rotation by roll, pitch and yaw about the fixed axes x, y and z, in this order.
template <class F>
DRL_HD Vec<F, 4> from_euler(F roll, F pitch, F yaw) {
  const auto about = [](int axis, F angle) DRL_LAMBDA {
    Vec<F, 4> q{{math::cos(F(0.5) * angle), F(0), F(0), F(0)}};
    q[1 + axis] = math::sin(F(0.5) * angle);
    return q;
  };
  return product(about(2, yaw), product(about(1, pitch), about(0, roll)));
}
// Writes the first two columns of the rotation matrix, row by row.
template <class F, class Out>
DRL_HD Out write_rotation(const Vec<F, 4>& q, Out obs) {
  const F x = q[1], y = q[2], z = q[3], w = q[0];
  *obs++ = F(1) - F(2) * (y * y + z * z), *obs++ = F(2) * (x * y - w * z);
  *obs++ = F(2) * (x * y + w * z), *obs++ = F(1) - F(2) * (x * x + z * z);
  *obs++ = F(2) * (x * z - w * y), *obs++ = F(2) * (y * z + w * x);
  return obs;
}

// The frames of the lanes' environments. Numbers of no file are 1.
template <class F>
class Reference {
 public:
  static constexpr int kLanes = kLanesOf<F>;

  DRL_HD explicit Reference(F frame) : all_(tracked()) {
    Scalar<F> numbers[kLanes];
    store(numbers, frame);
    // A checkpoint may contain any number: those beyond the motions are their last frame, and NaN is the first.
    const auto last = static_cast<Scalar<F>>(is_empty() ? 0 : all_->count - 1);
    for (int l = 0; l < kLanes; ++l)
      at_[l] = numbers[l] > 0 ? static_cast<int64_t>(numbers[l] < last ? numbers[l] : last) : 0;
  }
  DRL_HD F left() const { return is_empty() ? F(1) : read(all_->left, 1, 0); }
  DRL_HD F joint_pos(int k) const { return is_empty() ? F(1) : read(all_->joint_pos, all_->joints, all_->joint[k]); }
  DRL_HD F joint_vel(int k) const { return is_empty() ? F(1) : read(all_->joint_vel, all_->joints, all_->joint[k]); }
  DRL_HD Vec<F, 3> position(int body) const { return row<3>(all_ ? all_->body_pos : nullptr, body); }
  DRL_HD Vec<F, 4> orientation(int body) const { return row<4>(all_ ? all_->body_quat : nullptr, body); }
  DRL_HD Vec<F, 3> linear_velocity(int body) const { return row<3>(all_ ? all_->body_lin_vel : nullptr, body); }
  DRL_HD Vec<F, 3> angular_velocity(int body) const { return row<3>(all_ ? all_->body_ang_vel : nullptr, body); }

 private:
  DRL_HD bool is_empty() const { return !all_ || all_->count == 0; }
  DRL_HD F read(const float* numbers, int width, int column) const {
    Scalar<F> read[kLanes];
    for (int l = 0; l < kLanes; ++l) read[l] = static_cast<Scalar<F>>(numbers[at_[l] * width + column]);
    return load<F>(read);
  }
  template <int N>
  DRL_HD Vec<F, N> row(const float* numbers, int body) const {
    Vec<F, N> all;
    for (int k = 0; k < N; ++k) all[k] = is_empty() ? F(1) : read(numbers, N * all_->bodies, N * all_->body[body] + k);
    return all;
  }

  const MotionFrames* all_;
  int64_t at_[kLanes];
};

// Config is as for velocity.hpp, and has these members besides:
// - `bodies`: the names of the bodies that should follow the motion; the first is the root;
// - `anchor`: the index of the body whose pose in the world should follow it;
// - `ends_at`: the indices of the bodies whose height ends an episode, if it is wrong;
// - `clip`: the file that is tracked if the option `motion` is not given, in the directory of the robot's model.
// Lengths in rewards, ends and the start's noise are mjlab's for G1, times `height` by that of G1.
template <class R, class Config>
struct Task {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr int joints = std::size(Config::joints), bodies = std::size(Config::bodies);
  static constexpr int geoms = std::size(Config::foot_geoms), anchor = Config::anchor;

  static constexpr double size = Config::height / 0.76;

  static constexpr const char *name = Config::name, *description = Config::description, *preset = Config::preset;
  static constexpr RobotModel model = Config::model;
  static constexpr int obs_dim = 15 + 5 * joints, critic_obs_dim = obs_dim + 9 * bodies;
  static constexpr int step_limit = 0;  // the option `episode_length` limits the steps
  static constexpr double dt = 0.02;    // s
  static constexpr const char* why_not_on_gpu = "its motions are in the memory of the CPU";
  static constexpr ActionPerDimension<joints> action{};  // unbounded
  static constexpr Quantity observations[] = {
      {"command.joint_pos", "rad", joints},
      {"command.joint_vel", "rad/s", joints},
      {"motion_anchor_pos_b", "m", 3},
      {"motion_anchor_ori_b", "", 6},
      {"base_lin_vel", "m/s", 3},
      {"base_ang_vel", "rad/s", 3},
      {"joint_pos", "rad", joints},
      {"joint_vel", "rad/s", joints},
      {"actions", "", joints},
  };
  static constexpr const char* commands[] = {"motion"};
  static constexpr auto actions = joint_targets<Config>();
  static constexpr RewardTerm reward_terms[] = {
      {"motion_global_root_pos", 0.5}, {"motion_global_root_ori", 0.5},
      {"motion_body_pos", 1},          {"motion_body_ori", 1},
      {"motion_body_lin_vel", 1},      {"motion_body_ang_vel", 1},
      {"action_rate_l2", -0.1},        {"joint_limit", -10},
      {"self_collisions", -10},
  };
  static constexpr bool scale_rewards_by_dt = true;
  static constexpr EndCause ends[] = {{"anchor_pos"},
                                      {"anchor_ori"},
                                      {"ee_body_pos"},
                                      {"motion_end", EndsAs::time_out},
                                      {"time_out", EndsAs::time_out}};
  static constexpr auto metrics = [] {
    std::array<const char*, kErrorCount + kParts> all{};
    for (int k = 0; k < kErrorCount; ++k) all[k] = kErrors[k];
    for (int k = 0; k < kParts; ++k) all[kErrorCount + k] = kFailed[k];
    return all;
  }();
  using Outcome = Step<F, std::size(reward_terms), kErrorCount + kParts, std::size(ends)>;

  struct Params {
    FileName motion;
    int32_t sampling = static_cast<int32_t>(Sampling::adaptive);
    S noise = 1, push = 1, start_noise = 1, episode_length = 10, uniform_ratio = S(0.1);
    // Failures in each part per step of all environments: an exponential average, equal on all ranks.
    struct Curriculum {
      float failed[kParts] = {};
      template <class V>
      void describe(V& visit) {
        for (int k = 0; k < kParts; ++k) visit(kFailed[k], failed[k]);
      }
      // mjlab's average has a weight of 0.001 for each step of an iteration. A mean over episodes times their number
      // is the number of episodes that failed in a part, up to rounding.
      void update(const TrainingStats& stats) {
        const auto steps = static_cast<double>(stats.steps);
        const double weight = std::min(0.001, 1 / steps);
        for (int k = 0; k < kParts; ++k) {
          const double failures = std::nearbyint(stats.metrics[kErrorCount + k] * stats.episodes);
          failed[k] = static_cast<float>((1 - steps * weight) * static_cast<double>(failed[k]) + weight * failures);
        }
      }
    } curriculum;
    template <class V>
    void describe(V& v) {
      v("motion", motion, "file of motions to track, from drl_motion; none = the clip that comes with drl");
      v("sampling", sampling,
        "where episodes begin: adaptive (more often where they fail), uniform, start (at the first frame)",
        named_values(kSamplings));
      v("uniform_ratio", uniform_ratio, "failures per step that adaptive sampling adds, spread over the whole motion",
        above(0), only_with("sampling", "adaptive"));
      v("episode_length", episode_length, "seconds until an episode is cut off", above(0), unit("s"));
      v("start_noise", start_noise, "factor on the noise in the state in which an episode begins", at_least(0));
      v("noise", noise, "factor on the noise in the actor's observations", at_least(0));
      v("push", push, "factor on the velocity changes by pushes", at_least(0));
    }
    // Reads the motions. `model_file` is the path of the robot's model.
    void prepare(const std::string& model_file) const {
      const char* joint_names[joints];
      for (int k = 0; k < joints; ++k) joint_names[k] = Config::joints[k].name;
      std::string path = motion.path;
      if (path.empty()) path = (std::filesystem::path(model_file).parent_path() / Config::clip).string();
      motions = read_motions(path, joint_names, Config::bodies, 1 / dt);
    }
  };

  struct Parts {
    JointId base, joint[joints];
    BodyId body[bodies], root;
    GeomId foot_geom[geoms];
    SensorId gyro, velocimeter, self_contact;
    template <class Find>
    constexpr void find(Find& find) {
      find(base, Config::base), find(root, Config::root);
      for (int k = 0; k < joints; ++k) find(joint[k], Config::joints[k].name);
      for (int k = 0; k < bodies; ++k) find(body[k], Config::bodies[k]);
      for (int k = 0; k < geoms; ++k) find(foot_geom[k], Config::foot_geoms[k]);
      find(gyro, "imu_ang_vel"), find(velocimeter, "imu_lin_vel"), find(self_contact, Config::self_contact);
    }
  };

  struct State {
    F friction[3];                          // of the feet: sliding, torsional, rolling
    F encoder_bias[joints];                 // rad
    F com_shift[3];                         // m, offset of the anchor's centre of mass
    F action[joints], last_action[joints];  // of this step and the step before
    F frame, age;                           // frame to track in this step; steps in this episode
    F place[2], turn[2];  // of the robot's anchor in the last observation: m along x and y; cosine and
                          // sine of half of its heading relative to the reference's
    F until_push;         // s
    F self_contacts;      // time steps of the last step in which the robot touched itself with over 10 N
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("friction", friction), visit("encoder_bias", encoder_bias), visit("com_shift", com_shift);
      visit("action", action), visit("last_action", last_action), visit("frame", frame), visit("steps", age);
      visit("place", place), visit("turn", turn), visit("until_push", until_push);
      visit("self_contacts", self_contacts);
    }
  };

  // --- Episodes and observations ---

  DRL_HD static void create(State& s, R&, Draws<F>& draws, const Parts&, const Params&) {
    constexpr double shift[3] = {0.025, 0.05, 0.05};  // m
    const Vec<F, 3> friction = Config::template friction<F>(draws);
    for (int k = 0; k < 3; ++k) s.friction[k] = friction[k];
    for (F& bias : s.encoder_bias) bias = draws.uniform(F(-0.01), F(0.01));
    for (int k = 0; k < 3; ++k) s.com_shift[k] = draws.uniform(F(-shift[k]), F(shift[k]));
  }
  DRL_HD static void apply(const State& s, R& robot, const Parts& parts, const Params&) {
    apply_drawn(s, robot, parts.foot_geom, parts.body[anchor]);
  }

  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    s.frame = first_frame(draws, p);
    begin_at(robot, Reference<F>(s.frame), draws, parts, p);
    robot.forward();
    for (int k = 0; k < joints; ++k) s.action[k] = s.last_action[k] = F(0);
    s.until_push = draws.uniform(F(1), F(3));
    s.age = s.self_contacts = F(0);
    s.frame = s.frame + F(1);
    keep_anchor(s, robot, parts);
  }

  DRL_HD static Outcome step(State& s, R& robot, const F* action, Draws<F>& draws, const Parts& parts,
                             const Params& p) {
    F target[joints];
    for (int k = 0; k < joints; ++k) {
      s.last_action[k] = s.action[k], s.action[k] = action[k];
      target[k] = F(pose(k).angle) + F(pose(k).action_scale) * action[k] - s.encoder_bias[k];
    }
    s.self_contacts = F(0);
    robot.advance(target,
                  [&]() DRL_LAMBDA { s.self_contacts = s.self_contacts + is_pressed(robot, parts.self_contact); });
    s.age = s.age + F(1);

    Outcome result;
    const Reference<F> now(s.frame);
    compare_bodies(s, robot, now, parts, result);
    compare_joints(s, robot, now, parts, result);
    result.ends[3] = now.left() < F(1);
    result.ends[4] = F(dt) * s.age >= F(p.episode_length) - F(1e-4);
    count_failure(s, result);

    push(s, robot, draws, parts, p);
    robot.forward();
    s.frame = s.frame + math::select(result.ends[3], F(0), F(1));
    keep_anchor(s, robot, parts);
    return result;
  }

  // Writes what the actor observes; see `observations`. The reference and the actions have no noise.
  template <class Out>
  DRL_HD static void observe(const State& s, const R& robot, Draws<F>& draws, const Parts& parts, const Params& p,
                             Out obs) {
    constexpr struct {
      int size;
      double noise;
    } blocks[] = {{3, 0.25}, {6, 0.05}, {3, 0.5}, {3, 0.2}, {joints, 0.01}, {joints, 0.5}};
    const Reference<F> now(s.frame);
    write_sensors(s, robot, parts, F(1), write_reference(robot, now, parts, obs));
    obs += 2 * joints;
    for (const auto& block : blocks)
      for (int k = 0; k < block.size; ++k, ++obs) *obs += p.noise * draws.uniform(F(-block.noise), F(block.noise));
  }
  // Writes the same numbers without noise and encoder errors, and the bodies' poses relative to the anchor, which
  // follow the first 9 + 2 * joints.
  template <class Out>
  DRL_HD static void observe_critic(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    obs = write_reference(robot, Reference<F>(s.frame), parts, obs);
    const Vec<F, 3> at = robot.position(parts.body[anchor]);
    const Vec<F, 4> q = robot.orientation(parts.body[anchor]);
    for (const BodyId body : parts.body) {
      const Vec<F, 3> from = in_body_frame(q, difference(robot.position(body), at));
      for (int k = 0; k < 3; ++k) *obs++ = from[k];
    }
    for (const BodyId body : parts.body) obs = write_rotation(product(inverse(q), robot.orientation(body)), obs);
    write_sensors(s, robot, parts, F(0), obs);
  }

  template <class Canvas>
  static void draw(const State& s, const Params&, Canvas& canvas) {
    const Reference<float> now(static_cast<float>(s.frame));
    for (int k = 0; k < bodies; ++k) {
      const Vec<float, 3> at = now.position(k);
      canvas.sphere({at[0], at[1], at[2]}, 0.03f, Canvas::orange);
    }
    canvas.text("frame", static_cast<double>(s.frame), "");
  }

  // Draws the frame at which an episode begins: not the last one of a motion. `draws` is used alike for all samplings.
  DRL_HD static F first_frame(Draws<F>& draws, const Params& p) {
    const MotionFrames* all = tracked();
    const F count = F(all && all->count > 0 ? static_cast<double>(all->count) : 2);
    const F part = draws.uniform(F(0), F(1)), within = draws.uniform(F(0), F(1));
    F share[kParts], sum = F(0);
    for (int k = 0; k < kParts; ++k) {
      share[k] = F(p.curriculum.failed[k]) + F(p.uniform_ratio) * F(1.0 / kParts);
      sum = sum + share[k];
    }
    F below = F(0), chosen = F(0);  // the sum of the shares of the parts up to k; the part in which `part` of all lies
    for (int k = 0; k < kParts - 1; ++k) {
      below = below + share[k];
      chosen = chosen + math::select(part * sum >= below, F(1), F(0));
    }
    const F adaptive = (chosen + within) * F(1.0 / kParts), first = F(0);
    const int32_t how = p.sampling;
    const F phase = how == static_cast<int32_t>(Sampling::adaptive)  ? adaptive
                    : how == static_cast<int32_t>(Sampling::uniform) ? part
                                                                     : first;
    const F frame = math::min(math::floor(phase * (count - F(1))), count - F(2));
    return frame - math::select(Reference<F>(frame).left() < F(1), F(1), F(0));
  }

  // Keeps the pose of the robot's anchor relative to the frame to track.
  DRL_HD static void keep_anchor(State& s, const R& robot, const Parts& parts) {
    const Vec<F, 3> at = robot.position(parts.body[anchor]);
    const Reference<F> now(s.frame);
    const F half = F(0.5) * heading(product(robot.orientation(parts.body[anchor]), inverse(now.orientation(anchor))));
    s.place[0] = at[0], s.place[1] = at[1];
    s.turn[0] = math::cos(half), s.turn[1] = math::sin(half);
  }

 private:
  DRL_HD static const Pose& pose(int k) { return pose_of<F, Config>(k); }
  // Returns the middle of a joint's range, and half of the middle 90 % of it (the soft limits).
  DRL_HD static Vec<F, 2> soft_range(const R& robot, JointId joint) {
    const Vec<F, 2> range = robot.range(joint);
    const F half = math::select(range[0] < range[1], F(0.45) * (range[1] - range[0]), F(1e6));  // (0, 0) is no limit
    return {{F(0.5) * (range[0] + range[1]), half}};
  }

  // Sets the robot's state to that of a frame, with noise.
  DRL_HD static void begin_at(R& robot, const Reference<F>& frame, Draws<F>& draws, const Parts& parts,
                              const Params& p) {
    constexpr double place[3] = {0.05 * size, 0.05 * size, 0.01 * size}, turn[3] = {0.1, 0.1, 0.2};  // m, rad
    const auto noise = [&](double most) DRL_LAMBDA { return p.start_noise * draws.uniform(F(-most), F(most)); };
    const int at = parts.base.qpos, to = parts.base.qvel;
    const Vec<F, 3> position = frame.position(0);
    for (int k = 0; k < 3; ++k) robot.set_qpos(at + k, position[k] + noise(place[k]));
    F turned[3];
    for (int k = 0; k < 3; ++k) turned[k] = noise(turn[k]);
    const Vec<F, 4> orientation = product(from_euler(turned[0], turned[1], turned[2]), frame.orientation(0));
    for (int k = 0; k < 4; ++k) robot.set_qpos(at + 3 + k, orientation[k]);
    Vec<F, 3> linear = frame.linear_velocity(0), angular = frame.angular_velocity(0);
    for (int k = 0; k < 3; ++k) linear[k] = linear[k] + noise(limit(k));
    for (int k = 0; k < 3; ++k) angular[k] = angular[k] + noise(limit(3 + k));
    angular = in_body_frame(orientation, angular);
    for (int k = 0; k < 3; ++k) robot.set_qvel(to + k, linear[k]), robot.set_qvel(to + 3 + k, angular[k]);
    for (int k = 0; k < joints; ++k) {
      const Vec<F, 2> soft = soft_range(robot, parts.joint[k]);
      const F angle = frame.joint_pos(k) + noise(0.1);
      robot.set_qpos(parts.joint[k].qpos, math::clamp(angle, soft[0] - soft[1], soft[0] + soft[1]));
      robot.set_qvel(parts.joint[k].qvel, frame.joint_vel(k));
    }
  }
  // The largest change of the root's velocity by noise and pushes: m/s along x, y, z; rad/s about them.
  DRL_HD static double limit(int k) {
    constexpr double all[6] = {0.5, 0.5, 0.2, 0.52, 0.52, 0.78};
    return all[k];
  }

  DRL_HD static Vec<F, 3> velocity_of(const R& robot, const Parts& parts, BodyId body) {
    return velocity_at(robot, parts.root, body, robot.position(body));
  }

  // --- Rewards, ends and metrics ---

  // Sets the reward terms, ends and metrics that compare bodies. The reference's bodies are moved as a whole to the
  // robot's anchor: along x and y, and about z.
  DRL_HD static void compare_bodies(const State& s, const R& robot, const Reference<F>& now, const Parts& parts,
                                    Outcome& result) {
    const Vec<F, 3> at = now.position(anchor);
    const Vec<F, 4> turn = about_z(s.turn[0], s.turn[1]);
    const Vec<F, 3> moved{{s.place[0], s.place[1], at[2]}};
    F place = F(0), angle = F(0), linear = F(0), angular = F(0), mean_place = F(0), mean_angle = F(0), wrong = F(0);
    for (int k = 0; k < bodies; ++k) {
      const BodyId body = parts.body[k];
      const Vec<F, 3> from = rotated(turn, difference(now.position(k), at)), here = robot.position(body);
      const F off[3] = {moved[0] + from[0] - here[0], moved[1] + from[1] - here[1], moved[2] + from[2] - here[2]};
      const F rotation = angle_between(product(turn, now.orientation(k)), robot.orientation(body));
      const F distance2 = squares(off, 3);
      place = place + distance2, angle = angle + square(rotation);
      mean_place = mean_place + math::sqrt(distance2), mean_angle = mean_angle + rotation;
      linear = linear + squares(difference(now.linear_velocity(k), velocity_of(robot, parts, body)).at, 3);
      angular = angular + squares(difference(now.angular_velocity(k), angular_velocity_of(robot, body)).at, 3);
      if (is_end(k)) wrong = math::max(wrong, math::abs(off[2]));
    }
    const Vec<F, 3> here = robot.position(parts.body[anchor]);
    const Vec<F, 4> orientation = robot.orientation(parts.body[anchor]), wanted = now.orientation(anchor);
    const F anchor_off = squares(difference(at, here).at, 3), anchor_angle = angle_between(wanted, orientation);
    constexpr double share = 1.0 / bodies;
    result.terms[0] = math::exp(anchor_off * F(-1 / square(0.3 * size)));
    result.terms[1] = math::exp(square(anchor_angle) * F(-1 / (0.4 * 0.4)));
    result.terms[2] = math::exp(place * F(-share / square(0.3 * size)));
    result.terms[3] = math::exp(angle * F(-share / (0.4 * 0.4)));
    result.terms[4] = math::exp(linear * F(-share));
    result.terms[5] = math::exp(angular * F(-share / (3.14 * 3.14)));
    const Vec<F, 3> up{{F(0), F(0), F(1)}};
    result.ends[0] = math::abs(at[2] - here[2]) > F(0.25 * size);
    result.ends[1] = math::abs(in_body_frame(wanted, up)[2] - in_body_frame(orientation, up)[2]) > F(0.8);
    result.ends[2] = wrong > F(0.25 * size);
    result.metrics[0] = math::sqrt(anchor_off), result.metrics[1] = anchor_angle;
    result.metrics[2] = mean_place * F(share), result.metrics[3] = mean_angle * F(share);
  }
  DRL_HD static constexpr bool is_end(int body) {
    for (const int k : Config::ends_at)
      if (k == body) return true;
    return false;
  }
  // Sets the reward terms and metrics of joints and actions.
  DRL_HD static void compare_joints(const State& s, const R& robot, const Reference<F>& now, const Parts& parts,
                                    Outcome& result) {
    F change = F(0), beyond = F(0), off = F(0), rate = F(0);
    for (int k = 0; k < joints; ++k) {
      const F angle = robot.qpos(parts.joint[k]);
      const Vec<F, 2> soft = soft_range(robot, parts.joint[k]);
      change = change + square(s.action[k] - s.last_action[k]);
      beyond = beyond + math::max(math::abs(angle - soft[0]) - soft[1], F(0));
      off = off + square(now.joint_pos(k) - angle);
      rate = rate + square(now.joint_vel(k) - robot.qvel(parts.joint[k]));
    }
    result.terms[6] = change, result.terms[7] = beyond, result.terms[8] = s.self_contacts;
    result.metrics[4] = math::sqrt(off), result.metrics[5] = math::sqrt(rate);
  }
  // Sets the metrics that count failures. An episode's metrics are means over its steps, so that the number of its
  // steps, at its last step, counts as 1.
  DRL_HD static void count_failure(const State& s, Outcome& result) {
    const MotionFrames* all = tracked();
    const F parts_per_frame = F(kParts) / F(all && all->count > 0 ? static_cast<double>(all->count) : 2);
    const F part = math::min(math::floor(s.frame * parts_per_frame), F(kParts - 1));
    const F failed = math::select(result.ends[0] | result.ends[1] | result.ends[2], s.age, F(0));
    for (int k = 0; k < kParts; ++k) result.metrics[kErrorCount + k] = math::select(part == F(k), failed, F(0));
  }

  // --- Pushes, and the frame that is observed ---

  // If a push is due, sets the root's velocity to that of the last stage plus a random change.
  DRL_HD static void push(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    s.until_push = s.until_push - F(dt);
    const Mask<F> is_due = (s.until_push < F(1e-6)) & (F(p.push) > F(0));
    s.until_push = math::select(is_due, draws.uniform(F(1), F(3)), s.until_push);
    Vec<F, 3> linear = velocity_of(robot, parts, parts.root), angular = angular_velocity_of(robot, parts.root);
    for (int k = 0; k < 3; ++k) linear[k] = linear[k] + p.push * draws.uniform(F(-limit(k)), F(limit(k)));
    for (int k = 0; k < 3; ++k) angular[k] = angular[k] + p.push * draws.uniform(F(-limit(3 + k)), F(limit(3 + k)));
    set_base_velocity(robot, parts.base, is_due, linear, angular);
  }

  // Writes the frame to track: joints, and the anchor's pose relative to the robot's.
  template <class Out>
  DRL_HD static Out write_reference(const R& robot, const Reference<F>& now, const Parts& parts, Out obs) {
    for (int k = 0; k < joints; ++k) *obs++ = now.joint_pos(k);
    for (int k = 0; k < joints; ++k) *obs++ = now.joint_vel(k);
    const Vec<F, 4> q = robot.orientation(parts.body[anchor]);
    const Vec<F, 3> from = in_body_frame(q, difference(now.position(anchor), robot.position(parts.body[anchor])));
    for (int k = 0; k < 3; ++k) *obs++ = from[k];
    return write_rotation(product(inverse(q), now.orientation(anchor)), obs);
  }
  // Writes the measurements and the actions; `biased` is 1 to add the encoders' errors to the joint angles, else 0.
  template <class Out>
  DRL_HD static void write_sensors(const State& s, const R& robot, const Parts& parts, F biased, Out obs) {
    for (int k = 0; k < 3; ++k) *obs++ = robot.sensor(parts.velocimeter, k);
    for (int k = 0; k < 3; ++k) *obs++ = robot.sensor(parts.gyro, k);
    for (int k = 0; k < joints; ++k)
      *obs++ = robot.qpos(parts.joint[k]) - F(pose(k).angle) + biased * s.encoder_bias[k];
    for (int k = 0; k < joints; ++k) *obs++ = robot.qvel(parts.joint[k]);
    for (const F action : s.action) *obs++ = action;
  }
};

}  // namespace drl::tracking
