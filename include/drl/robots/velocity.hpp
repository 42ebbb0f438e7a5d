// Implements mjlab's velocity tasks (version 1.6.0, tasks/velocity), on flat ground or rough ground (rough.hpp): a
// robot with a motor in each joint follows commanded velocities, is pushed now and then, and differs slightly between
// environments. A struct `Config` describes the robot, for example H1:
//
//   struct H1 : drl::velocity::Humanoid {  // or Quadruped (quadruped.hpp): friction, reward terms
//     static constexpr const char* name = "H1-Velocity-Flat";
//     static constexpr char description[] = "a humanoid robot (Unitree H1) walks at a commanded velocity";
//     static constexpr drl::RobotModel model{"h1.xml", 4};  // 4 time steps of 5 ms per step of the task
//     static constexpr drl::velocity::Motor hip{200, 150, 5};  // N m, N m/rad, N m s/rad
//     static constexpr drl::velocity::Joint joints[] = {{"left_hip_yaw", 0, hip, 0.05, 0.15, 0.2}, ...};
//     static constexpr drl::velocity::Foot feet[] = {{"left_foot", "left_ankle_link", "left_foot_contact"}, ...};
//     static constexpr const char* foot_geoms[] = {"left_foot1", ...};
//     static constexpr const char *root = "pelvis", *torso = "torso_link";  // bodies
//     static constexpr double height = 0.978;  // m, of the root at the start
//   };
//   template <class R>
//   struct H1VelocityFlat : drl::velocity::Flat<R, H1> {};  // Rough (rough.hpp): on rough ground
//   DRL_ROBOT(H1VelocityFlat)
//
// The model needs a position actuator for each joint, in the order of `joints`; a free joint `base`;
// the sensors imu_ang_vel (gyro), imu_lin_vel (velocimeter) and root_angmom (subtreeangmom) of the root; and for each
// foot a site at its sole and a contact sensor (data="found force" reduce="netforce") with the floor.
// `drl_new_task --robot` writes such a header and such a model for a robot of yours.
//
// As in mjlab, rewards and the end of an episode use the bodies' positions and velocities at the beginning of the last
// time step, and the feet's heights of the previous observation. Joint angles and all observations are up to date.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "drl/robots/mjlab.hpp"

namespace drl::velocity {

using namespace mjlab;

// Returns whether a mirror turns the part `a` into `b`. The names of parts on a side begin with a text of `sides`, and
// those on the other side with the other text of the same pair.
template <class Sides>
constexpr bool are_mirrored(std::string_view a, std::string_view b, const Sides& sides) {
  for (const auto& pair : sides)
    for (int k = 0; k < 2; ++k) {
      const std::string_view side = pair[k], other = pair[1 - k];
      if (a.starts_with(side)) return b.starts_with(other) && a.substr(side.size()) == b.substr(other.size());
    }
  return a == b;
}
// Returns what a mirror does to N parts with the names name(0), name(1), ...: parts of the two sides change places.
template <int N, class Sides, class Name>
constexpr MirrorTable<N> mirrored_parts(const Sides& sides, const Name& name) {
  MirrorTable<N> table;
  for (; table.size < N; ++table.size) {
    int& source = table.numbers[table.size].source;
    source = -1;  // drl refuses a table without the other side
    for (int k = 0; k < N; ++k)
      if (are_mirrored(name(table.size), name(k), sides)) source = k;
  }
  return table;
}

// Returns the table, or an empty struct for a robot without a mirror.
struct NoMirror {};
template <class Config, class Table>
constexpr auto mirror_if_symmetric(const Table& table) {
  if constexpr (Config::is_symmetric)
    return table;
  else
    return NoMirror{};
}

// Returns mjlab's reward terms and five of drl (write_own_terms), which weigh nothing unless a preset or an option says
// so. Weights of body_ang_vel and angular_momentum, and further terms, differ between robots.
constexpr int kMjlabTerms = 13, kOwnTerms = 5;
constexpr auto reward_terms(double body_ang_vel, double angular_momentum, auto... more) {
  return std::array<RewardTerm, kMjlabTerms + kOwnTerms + sizeof...(more)>{{
      {"track_linear_velocity", 2},
      {"track_angular_velocity", 2},
      {"upright", 1},
      {"pose", 1},
      {"body_ang_vel", body_ang_vel},
      {"angular_momentum", angular_momentum},
      {"dof_pos_limits", -1},
      {"action_rate_l2", -0.1},
      {"air_time", 0},
      {"foot_clearance", -2},
      {"foot_swing_height", -0.25},
      {"foot_slip", -0.1},
      {"soft_landing", -1e-5},
      more...,
      {"linear_velocity_error", 0},
      {"angular_velocity_error", 0},
      {"track_turning_rate", 0},
      {"stepping", 0},
      {"alive", 0},
  }};
}

// Draws a number in [low, high) whose logarithm is uniform.
template <class F>
DRL_HD F log_uniform(Draws<F>& draws, double low, double high) {
  return math::exp(draws.uniform(math::log(F(low)), math::log(F(high))));
}

// Returns the standard deviation of the first actions, as text, with which half of the joints' targets vary by at least
// 0.45 rad: enough that no robot can stand still with them.
template <class Config>
constexpr std::array<char, 4> first_std() {
  std::array<double, std::size(Config::joints)> scales{};
  for (size_t k = 0; k < scales.size(); ++k) scales[k] = Config::joints[k].motor.action_scale();
  std::sort(scales.begin(), scales.end());
  const int tenths = static_cast<int>(std::clamp(4.5 / scales[scales.size() / 2], 1.0, 99.0) + 0.5);
  return {static_cast<char>('0' + tenths / 10), '.', static_cast<char>('0' + tenths % 10)};
}
// Returns the preset of a robot that has none of its own. With mjlab's weights (examples/configs/mjlab_velocity.ini), a
// robot that stands still earns most of the reward, and with few environments robots learn just that. Here, a wrong
// velocity costs in proportion, however wrong it is; first actions are too random to stand; time on half of the feet is
// rewarded; commands to the sides and back grow while the robot follows; and each sample also counts as its mirror
// image.
template <class Config>
constexpr common::Preset preset() {
  constexpr bool is_biped = std::size(Config::feet) == 2;
  const char* of_feet = is_biped ? R"(
[env.reward]
angular_velocity_error = -2
[ppo]
learning_rate = 1e-3
num_learning_epochs = 3
entropy_coef = 0.002
)"
                                 : R"(
[env.reward]
angular_velocity_error = -1.5
upright = 3
[ppo]
learning_rate = 1.5e-3
num_learning_epochs = 2
entropy_coef = 0
)";
  return {"\nnum_envs = 256\nnum_steps_per_env = ",
          is_biped ? "24" : "16",
          "\nmax_iterations = ",
          is_biped ? "1000\nprecision = auto" : "800",
          R"(
[policy]
actor_hidden_dims = 128,128,128
critic_hidden_dims = 128,128,128
activation = elu
std_type = scalar
init_std = )",
          first_std<Config>().data(),
          R"(
[env]
noise = 0.5
push = 0.1
first_commands = 0.6
[env.reward]
linear_velocity_error = -4
track_turning_rate = 2
stepping = 8
alive = 3
track_angular_velocity = 0
pose = 0.5
action_rate_l2 = -0.01
foot_clearance = -0.5
[ppo]
schedule = linear
num_mini_batches = 4
max_grad_norm = 1.0
obs_normalization = true
gamma = 0.985
schedule_iterations = )",
          is_biped ? "1150" : "800",
          "\nsymmetry = ",
          Config::is_symmetric ? "augment\n" : "none\n",
          of_feet};
}

// Returns the metrics: |command - velocity| in m/s and in rad/s; mean |second difference| of the actions; 1 while the
// command is at least a second old, else 0; the first two multiplied by that; the time for which steps are rewarded, in
// s; and further ones.
constexpr auto metric_names(auto... more) {
  return std::array<const char*, 7 + sizeof...(more)>{
      "error_vel_xy",     "error_vel_yaw",     "mean_action_acc", "settled",
      "settled_error_xy", "settled_error_yaw", "stepping_time",   more...};
}
// Returns the gate of a robot that follows commands with an error of at most `speed`.
constexpr std::array<GateBound, 3> gate(double speed) {
  return {{{"settled_error_xy", 0, speed, "m/s", "settled"},
           {"settled_error_yaw", 0, 0.15, "rad/s", "settled"},
           {"early_ends", 0, 1.0 / 64}}};
}

// What differs on rough ground (rough.hpp) does nothing on flat ground.
struct FlatGround {
  static constexpr bool is_rough = false;
  static constexpr int scan = 0;  // heights that are observed
  static constexpr EndCause ends[] = {{"fell_over"}};
  static constexpr auto metrics = metric_names();
  template <class Table>
  static constexpr Table mirror_scan(const Table& table) {
    return table;
  }
  struct Options {
    template <class V>
    void describe(V&) {}
  };
  struct Parts {
    template <class Find>
    constexpr void find(Find&) {}
  };
  template <class F>
  struct State {
    template <class V>
    DRL_HD void describe(V&) {}
  };
};

// The task for a robot that is described by a struct `Config`, such as Go1 in go1_velocity_flat.hpp.
template <class R, class Config, class Ground = FlatGround>
struct Task {
  using F = typename R::F;
  using S = Scalar<F>;

  static constexpr int joints = std::size(Config::joints), feet = std::size(Config::feet);
  static constexpr int geoms = std::size(Config::foot_geoms), terms = std::size(Config::reward_terms);
  static constexpr bool is_biped = feet == 2, has_self_contact = Config::self_contact != nullptr;

  static constexpr const char *name = Config::name, *description = Config::description;
  static constexpr auto recipe = velocity::preset<Config>();
  static constexpr const char* preset = [] {
    if constexpr (requires { Config::preset; })
      return static_cast<const char*>(Config::preset);
    else
      return static_cast<const char*>(recipe);
  }();
  static constexpr RobotModel model = Config::model;
  static constexpr int obs_dim = 12 + 3 * joints + Ground::scan, critic_obs_dim = obs_dim + 6 * feet, step_limit = 1000;
  static constexpr double dt = 0.02;                     // s
  static constexpr ActionPerDimension<joints> action{};  // unbounded
  // Observations and commands have mjlab's names.
  static constexpr auto observations = [] {
    std::array<Quantity, Ground::is_rough ? 9 : 8> all{{
        {"base_lin_vel", "m/s", 3},
        {"base_ang_vel", "rad/s", 3},
        {"projected_gravity", "", 3},
        {"joint_pos", "rad", joints},
        {"joint_vel", "rad/s", joints},
        {"actions", "", joints},
        {"command.lin_vel", "m/s", 2},
        {"command.ang_vel_z", "rad/s"},
    }};
    if constexpr (Ground::is_rough) all[8] = {"height_scan", "m", Ground::scan, Ground::scan_unit};
    return all;
  }();
  static constexpr const char* commands[] = {"twist"};
  static constexpr auto actions = joint_targets<Config>();
  // A mirror exchanges left and right. Joints whose names contain a word of Config::flips then turn the other way.
  static constexpr MirrorTable<feet> mirrored_feet =
      mirrored_parts<feet>(Config::sides, [](int k) { return std::string_view(Config::feet[k].site); });
  static constexpr MirrorTable<joints> mirrored_action = [] {
    const auto name = [](int k) { return std::string_view(Config::joints[k].name); };
    MirrorTable<joints> table = mirrored_parts<joints>(Config::sides, name);
    for (int k = 0; k < joints; ++k)
      for (const std::string_view word : Config::flips)
        if (name(k).find(word) != std::string_view::npos) table.numbers[k].sign = -1;
    return table;
  }();
  // Adds the numbers of write_observation and of the scan.
  template <class Table>
  static constexpr Table mirror_observation(const Table& empty) {
    const Table table = empty.add("+-+").add("-+-").add("+-+").add(mirrored_action).add(mirrored_action);
    return Ground::mirror_scan(table.add(mirrored_action).add("+--"));
  }
  static constexpr auto mirrored_obs = mirror_if_symmetric<Config>(mirror_observation(MirrorTable<obs_dim>()));
  static constexpr auto mirrored_critic_obs =
      mirror_if_symmetric<Config>(mirror_observation(MirrorTable<critic_obs_dim>())
                                      .add(mirrored_feet)
                                      .add(mirrored_feet)
                                      .add(mirrored_feet)
                                      .add(mirrored_feet, "+-+"));
  static constexpr auto& reward_terms = Config::reward_terms;
  static constexpr bool scale_rewards_by_dt = true;
  static constexpr auto gate = velocity::gate(Config::gate_speed);
  static constexpr const char* gate_options = R"(
noise = 0
push = 0
first_commands = 1
command = none
command_schedule = none
command_x = none
command_y = none
command_yaw = none
)";
  static constexpr auto& ends = Ground::ends;
  static constexpr auto& metrics = Ground::metrics;
  using Outcome = Step<F, terms, std::size(Ground::metrics), std::size(Ground::ends)>;

  struct Params {
    S noise = 1, push = 1, first_commands = 1, faster_after = 5000, fastest_after = 10000;
    // Commands become faster during training. `falls` is the share of the last episodes that ended by a fall, `error`
    // their mean error of the velocity in m/s, `reach` how much of the range of commands has been opened (0 to 1),
    // `stepping` the mean time for which steps were rewarded, in s, and `gait` 1 once the robot has learnt to step.
    struct Curriculum {
      float iteration = 0, falls = 1, error = 1, reach = 0, stepping = 0, gait = 0;
      template <class V>
      void describe(V& visit) {
        visit("iteration", iteration), visit("falls", falls), visit("error", error), visit("reach", reach);
        visit("stepping", stepping), visit("gait", gait);
      }
      void update(const TrainingStats& stats) {
        iteration = static_cast<float>(stats.iteration + 1);
        const float share = static_cast<float>(stats.episodes / (stats.episodes + 50));
        falls += share * (static_cast<float>(stats.ends[0]) - falls);
        error += share * (static_cast<float>(stats.metrics[0]) - error);
        stepping += share * (static_cast<float>(stats.metrics[6]) - stepping);
        if (stepping > 0.08f) gait = 1;
        if (falls < 0.6f && error < 0.35f) reach = std::min(reach + 0.01f, 1.0f);
      }
    } curriculum;
    [[no_unique_address]] typename Ground::Options terrain;
    Interval command_x, command_y, command_yaw;
    Numbers<6> reset_velocity;
    Numbers<3> command;
    Schedule<3> command_schedule;
    template <class V>
    void describe(V& v) {
      constexpr ParamCondition drawn = only_with("command", "none"), unplanned = only_with("command_schedule", "none");
      v("noise", noise, "factor on the noise in the actor's observations", at_least(0));
      v("push", push, "factor on the velocity changes by pushes", at_least(0));
      v("reset_velocity", reset_velocity,
        "largest velocities of the base at a reset, both ways: X,Y,Z,ROLL,PITCH,YAW, in m/s and rad/s; none = at rest",
        between(0, 10));
      v("first_commands", first_commands,
        "part of the range of commands to the sides and back with which a training begins; it grows while the robot "
        "follows and falls are rare",
        between(0, 1));
      v("faster_after", faster_after, "iterations until commands reach -1.5 to 2 m/s and 0.7 rad/s", at_least(0),
        at_most_option("fastest_after"), drawn, unplanned);
      v("fastest_after", fastest_after, "iterations until commands reach -2 to 3 m/s", at_least(0), drawn, unplanned);
      const Range limits = between(-10, 10);
      v("command_x", command_x, "range of commanded velocities ahead, LOW,HIGH; none = that of the curriculum", limits,
        unit("m/s"), drawn, unplanned);
      v("command_y", command_y, "range of commanded velocities to the left, LOW,HIGH; none = -1 to 1", limits,
        unit("m/s"), drawn, unplanned);
      v("command_yaw", command_yaw, "range of commanded turning rates, LOW,HIGH; none = that of the curriculum", limits,
        unit("rad/s"), drawn, unplanned);
      v("command", command, "command that never changes: AHEAD,LEFT,TURN, in m/s and rad/s; none = drawn commands",
        limits, unplanned);
      v("command_schedule", command_schedule,
        "text file with the commands of an episode: lines of SECONDS AHEAD LEFT TURN, such as 2.5 1 0 -0.3", limits);
      terrain.describe(v);
    }
  };

  struct Parts {
    JointId base, joint[joints];
    BodyId root, torso, foot_body[feet];
    SiteId foot[feet];
    GeomId foot_geom[geoms];
    SensorId gyro, velocimeter, angular_momentum, contact[feet], self_contact;
    [[no_unique_address]] typename Ground::Parts ground;
    template <class Find>
    constexpr void find(Find& find) {
      find(base, Config::base), find(root, Config::root), find(torso, Config::torso);
      for (int k = 0; k < joints; ++k) find(joint[k], Config::joints[k].name);
      for (int k = 0; k < feet; ++k) {
        find(foot[k], Config::feet[k].site), find(foot_body[k], Config::feet[k].body),
            find(contact[k], Config::feet[k].contact);
      }
      for (int k = 0; k < geoms; ++k) find(foot_geom[k], Config::foot_geoms[k]);
      find(gyro, "imu_ang_vel"), find(velocimeter, "imu_lin_vel"), find(angular_momentum, "root_angmom");
      if constexpr (has_self_contact) find(self_contact, Config::self_contact);
      ground.find(find);
    }
  };

  struct State {
    F friction[3];                                              // of the feet: sliding, torsional, rolling
    F encoder_bias[joints];                                     // rad
    F com_shift[3];                                             // m, offset of the torso's centre of mass
    F action[joints], last_action[joints], one_before[joints];  // of this step and the two steps before
    F command[3];                                               // m/s ahead, m/s to the left, rad/s
    F heading, keeps_heading;                                   // rad; 1 if the command turns towards `heading`, else 0
    F stands;                                                   // 1 if the command is to stand still, else 0
    F until_command, command_age, until_push;                   // s
    F air_time[feet], contact_time[feet];  // s since the foot lifted off or landed; one of them is 0
    F height[feet], peak_height[feet];     // m; height in the last observation, and its maximum since the foot landed
    F self_contacts;  // time steps of the last step in which the robot touched itself with over 10 N
    [[no_unique_address]] typename Ground::template State<F> ground;
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("friction", friction), visit("encoder_bias", encoder_bias), visit("com_shift", com_shift);
      visit("action", action), visit("last_action", last_action), visit("one_before", one_before);
      visit("command", command), visit("heading", heading), visit("keeps_heading", keeps_heading);
      visit("stands", stands), visit("until_command", until_command), visit("command_age", command_age);
      visit("until_push", until_push);
      visit("air_time", air_time), visit("contact_time", contact_time);
      visit("height", height), visit("peak_height", peak_height), visit("self_contacts", self_contacts);
      ground.describe(visit);
    }
  };

  // --- Episodes and observations ---

  DRL_HD static void create(State& s, R&, Draws<F>& draws, const Parts&, [[maybe_unused]] const Params& p) {
    const Vec<F, 3> friction = Config::template friction<F>(draws);
    for (int k = 0; k < 3; ++k) s.friction[k] = friction[k];
    DRL_ROLLED
    for (F& bias : s.encoder_bias) bias = draws.uniform(F(-0.015), F(0.015));
    for (int k = 0; k < 3; ++k) s.com_shift[k] = F(k < 2 ? 0.025 : 0.03) * draws.uniform(F(-1), F(1));
    for (F& peak : s.peak_height) peak = F(0);
    if constexpr (Ground::is_rough) Ground::create(s.ground, draws, p.terrain);
  }
  DRL_HD static void apply(const State& s, R& robot, const Parts& parts, const Params&) {
    apply_drawn(s, robot, parts.foot_geom, parts.torso);
  }

  // As in mjlab, peak_height is not reset: it keeps the value of a swing that was interrupted by the end of the
  // previous episode.
  DRL_HD static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    const int at = parts.base.qpos;
    for (int k = 0; k < 2; ++k) robot.set_qpos(at + k, draws.uniform(F(-0.5), F(0.5)));
    robot.set_qpos(at + 2, F(Config::height) + draws.uniform(F(0.01), F(0.05)));
    if constexpr (Ground::is_rough) Ground::place(s.ground, robot, at, draws, p.terrain);
    const F half = F(0.5) * draws.uniform(F(-3.14), F(3.14));
    const F orientation[4] = {math::cos(half), F(0), F(0), math::sin(half)};
    for (int k = 0; k < 4; ++k) robot.set_qpos(at + 3 + k, orientation[k]);
    DRL_ROLLED
    for (int k = 0; k < joints; ++k) robot.set_qpos(parts.joint[k].qpos, F(pose(k).angle));
    if (p.reset_velocity.is_given) {  // as Isaac Lab's reset_root_state_uniform
      Vec<F, 3> velocity[2];          // linear and angular, in world coordinates
      for (int k = 0; k < 6; ++k) velocity[k / 3][k % 3] = F(p.reset_velocity.at[k]) * draws.uniform(F(-1), F(1));
      set_base_velocity(robot, parts.base, F(0) < F(1), velocity[0], velocity[1]);
    }
    robot.forward();

    DRL_ROLLED
    for (int k = 0; k < joints; ++k) s.action[k] = s.last_action[k] = s.one_before[k] = F(0);
    for (int k = 0; k < feet; ++k) s.air_time[k] = s.contact_time[k] = F(0);
    s.until_push = draws.uniform(F(1), F(3));
    s.until_command = s.command_age = F(0);
    update_heights(s, robot, parts);
    update_command(s, robot, draws, parts, p, F(0));
  }

  DRL_HD static Outcome step(State& s, R& robot, const F* action, Draws<F>& draws, const Parts& parts,
                             const Params& p) {
    F target[joints], jerk = F(0);
    DRL_ROLLED
    for (int k = 0; k < joints; ++k) {
      s.one_before[k] = s.last_action[k], s.last_action[k] = s.action[k], s.action[k] = action[k];
      target[k] = F(pose(k).angle) + F(pose(k).action_scale) * action[k] - s.encoder_bias[k];
      jerk = jerk + math::abs(s.action[k] - F(2) * s.last_action[k] + s.one_before[k]);
    }
    s.self_contacts = F(0);
    if constexpr (Ground::is_rough) Ground::begin_step(s.ground);
    robot.advance(target, [&]() DRL_LAMBDA { update_contacts(s, robot, parts); });

    Outcome result;
    compute_reward_terms(s, robot, parts, result.terms);
    result.metrics[6] = write_own_terms(s, robot, parts, p, result.terms + terms - kOwnTerms);
    result.ends[0] = in_body_frame(robot.orientation(parts.root), {{F(0), F(0), F(1)}})[2] <
                     F(0.3420201433256687);  // cos(70 degrees)
    if constexpr (Ground::is_rough)
      Ground::end_step(s.ground, robot.position(parts.root), s.command, p.terrain, result);
    push(s, robot, draws, parts, p);
    robot.forward();

    update_heights(s, robot, parts);
    const Vec<F, 3> linear = base_velocity(robot, parts), angular = base_angular_velocity(robot, parts);
    const F error[2] = {s.command[0] - linear[0], s.command[1] - linear[1]};
    result.metrics[0] = norm(error, 2);
    result.metrics[1] = math::abs(s.command[2] - angular[2]);
    result.metrics[2] = jerk / F(joints);
    const Mask<F> is_settled = F(1) - F(1e-3) < s.command_age;  // it is a sum of floats
    result.metrics[3] = math::select(is_settled, F(1), F(0));
    for (int k = 0; k < 2; ++k) result.metrics[4 + k] = math::select(is_settled, result.metrics[k], F(0));
    update_command(s, robot, draws, parts, p, F(dt));
    return result;
  }

  // Writes the base's linear and angular velocity and the direction of gravity, the joints' angles (as measured by the
  // encoders) and velocities, the actions and the command. All but the last two have noise.
  template <class Out>
  DRL_HD static void observe(const State& s, const R& robot, Draws<F>& draws, const Parts& parts, const Params& p,
                             Out obs) {
    constexpr struct {
      int size;
      double noise;
    } blocks[] = {{3, 0.5}, {3, 0.2}, {3, 0.05}, {joints, 0.01}, {joints, 1.5}};
    [[maybe_unused]] const Out end = write_observation(s, robot, parts, F(1), obs);
    for (const auto& block : blocks)
      for (int k = 0; k < block.size; ++k, ++obs) *obs += p.noise * draws.uniform(F(-block.noise), F(block.noise));
    if constexpr (Ground::is_rough)
      Ground::scan_heights(
          robot, parts.root, [&](F height) DRL_LAMBDA { return height + p.noise * draws.uniform(F(-0.1), F(0.1)); },
          end);
  }
  // Writes the same numbers without noise and encoder errors, and each foot's height, air time, contact and force.
  template <class Out>
  DRL_HD static void observe_critic(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    obs = write_observation(s, robot, parts, F(0), obs);
    if constexpr (Ground::is_rough)
      obs = Ground::scan_heights(
          robot, parts.root, [](F height) DRL_LAMBDA { return height; }, obs);
    for (const F height : s.height) *obs++ = height;
    for (const F time : s.air_time) *obs++ = time;
    for (const SensorId contact : parts.contact) *obs++ = math::select(robot.sensor(contact, 0) > F(0), F(1), F(0));
    for (const SensorId contact : parts.contact)
      for (int k = 1; k < 4; ++k) {
        const F force = robot.sensor(contact, k), size = math::log(F(1) + math::abs(force));
        *obs++ = math::select(force < F(0), -size, size);
      }
  }

  template <class Canvas>
  static void draw(const State& s, const Params&, Canvas& canvas) {
    canvas.text("ahead", s.command[0], "m/s");
    canvas.text("left", s.command[1], "m/s");
    canvas.text("turn", s.command[2], "rad/s");
    if constexpr (Ground::is_rough) canvas.text("level", s.ground.level, "");
  }

  // Writes the terms that are not mjlab's: the distance between the base's velocity and the command, in m/s; the error
  // e of the turning rate, in rad/s; exp(-4 e^2); while the robot should move and just half of its feet touch the
  // ground, for how long they and the others have done so, at most 0.4 s (Isaac Lab's feet_air_time_positive_biped, for
  // any even number of feet); and 1. Unlike mjlab's exponentials, the errors have the same slope however far the
  // command is, so a robot that stands still learns which way to move; and the third does not count rolling and
  // pitching as turning. While the curriculum proceeds, the first counts less and less in the second after a change of
  // the command: robots that brake as fast as they can fall over. Two legs have to find a gait: until then, time on one
  // of them counts fourfold, and after that, the first term a quarter more; and the wider the range of commands, the
  // more they gain by not falling. Returns the unweighted time in s.
  DRL_HD static F write_own_terms(const State& s, const R& robot, const Parts& parts, const Params& p, F* term) {
    const Vec<F, 3> linear = base_velocity(robot, parts), angular = base_angular_velocity(robot, parts);
    const F error[2] = {s.command[0] - linear[0], s.command[1] - linear[1]};
    const F speed = norm(s.command, 2) + math::abs(s.command[2]);
    F standing = F(0), time = F(0.4);
    DRL_ROLLED
    for (int k = 0; k < feet; ++k) {
      const Mask<F> stands = s.contact_time[k] > F(0);
      standing = standing + math::select(stands, F(1), F(0));
      time = math::min(time, math::select(stands, s.contact_time[k], s.air_time[k]));
    }
    const Mask<F> steps = (speed > F(0.05)) & (math::abs(standing - F(0.5 * feet)) < F(0.1));
    time = math::select(steps, time, F(0));
    const F reach = F(p.curriculum.reach), gait = F(p.curriculum.gait);
    const F braking = (is_biped ? F(0.7) : F(1)) * reach * math::max(F(1) - s.command_age, F(0));
    term[0] = norm(error, 2) * (F(1) - braking);
    term[1] = math::abs(s.command[2] - angular[2]);
    term[2] = math::exp(F(-4) * square(term[1]));
    term[3] = time;
    term[4] = F(1);
    if constexpr (is_biped) {
      term[0] = term[0] * (F(1) + F(0.25) * gait);
      term[3] = time * (F(4) - F(3) * gait);
      term[4] = F(1) + reach;
    }
    return time;
  }

  // --- Commands ---

  // Advances the command by `passed` seconds: draws a new one if the old one has expired, and turns a command that
  // keeps a heading towards that heading. One in ten is to stand still; the others stay within the ranges.
  DRL_HD_CALLED_ON_GPU static void update_command(State& s, const R& robot, Draws<F>& draws, const Parts& parts,
                                                  const Params& p, F passed) {
    const Mask<F> faster = F(p.curriculum.iteration) >= F(p.faster_after);
    const Mask<F> fastest = F(p.curriculum.iteration) >= F(p.fastest_after);
    const F back = math::select(fastest, F(-2), math::select(faster, F(-1.5), F(-1)));
    const F ahead = math::select(fastest, F(3), math::select(faster, F(2), F(1)));
    const F turn = math::select(faster | fastest, F(0.7), F(0.5));
    const F lowest[3] = {p.command_x.is_given ? F(p.command_x.low) : back,
                         p.command_y.is_given ? F(p.command_y.low) : F(-1),
                         p.command_yaw.is_given ? F(p.command_yaw.low) : -turn};
    const F highest[3] = {p.command_x.is_given ? F(p.command_x.high) : ahead,
                          p.command_y.is_given ? F(p.command_y.high) : F(1),
                          p.command_yaw.is_given ? F(p.command_yaw.high) : turn};

    const F reach = F(p.first_commands) + (F(1) - F(p.first_commands)) * F(p.curriculum.reach);
    const F low[3] = {reach * lowest[0], reach * lowest[1], lowest[2]};
    const F high[3] = {highest[0], reach * highest[1], highest[2]};
    s.until_command = s.until_command - passed;
    const Mask<F> expired = s.until_command <= F(0);
    s.command_age = s.command_age + passed;
    const auto renew = [&](F& number, F drawn) DRL_LAMBDA { number = math::select(expired, drawn, number); };
    if (!p.command.is_given && p.command_schedule.count == 0) renew(s.command_age, F(0));
    const auto chance = [&](double probability) DRL_LAMBDA { return draws.uniform(F(0), F(1)) <= F(probability); };
    const F next = draws.uniform(F(3), F(8));
    if (p.command_schedule.count == 0) renew(s.until_command, next);
    F command[3];
    for (int k = 0; k < 3; ++k) command[k] = draws.uniform(low[k], high[k]);
    renew(s.heading, draws.uniform(F(-kPi), F(kPi)));
    renew(s.keeps_heading, math::select(chance(0.3), F(1), F(0)));
    renew(s.stands, math::select(chance(0.1), F(1), F(0)));
    const Mask<F> straight = chance(0.2);
    const F swift = math::max(math::abs(command[0]), F(0.3));
    for (int k = 0; k < 3; ++k)
      command[k] = math::select(straight, math::clamp(k == 0 ? swift : F(0), low[k], high[k]), command[k]);
    for (int k = 0; k < 3; ++k) renew(s.command[k], command[k]);

    const F error = wrapped(s.heading - heading(robot.orientation(parts.root)));
    s.command[2] = math::select(s.keeps_heading > F(0), math::clamp(F(0.5) * error, low[2], high[2]), s.command[2]);
    for (F& number : s.command) number = math::select(s.stands > F(0), F(0), number);
    if (p.command.is_given)
      for (int k = 0; k < 3; ++k) s.command[k] = F(p.command.at[k]);
    // With a schedule, until_command is not renewed and counts the seconds of the episode, as a negative number. It is
    // a sum of float, so it may be slightly too small.
    if (p.command_schedule.count > 0) p.command_schedule.read(F(1e-3) - s.until_command, s.command);
  }

 private:
  DRL_HD static const Pose& pose(int k) { return pose_of<F, Config>(k); }

  // Returns the velocity of a point of a body, in m/s in world coordinates.
  DRL_HD static Vec<F, 3> velocity_of(const R& robot, const Parts& parts, BodyId body, const Vec<F, 3>& point) {
    return velocity_at(robot, parts.root, body, point);
  }
  // These two return the base's linear and angular velocity in the base's frame.
  DRL_HD static Vec<F, 3> base_velocity(const R& robot, const Parts& parts) {
    return in_body_frame(robot.orientation(parts.root),
                         velocity_of(robot, parts, parts.root, robot.position(parts.root)));
  }
  DRL_HD static Vec<F, 3> base_angular_velocity(const R& robot, const Parts& parts) {
    return in_body_frame(robot.orientation(parts.root), angular_velocity_of(robot, parts.root));
  }

  // Updates the contact times and counts after each time step.
  DRL_HD static void update_contacts(State& s, const R& robot, const Parts& parts) {
    constexpr double passed = dt / model.frame_skip;
    DRL_ROLLED
    for (int k = 0; k < feet; ++k) {
      const Mask<F> touches = robot.sensor(parts.contact[k], 0) > F(0);
      s.contact_time[k] = math::select(touches, s.contact_time[k] + F(passed), F(0));
      s.air_time[k] = math::select(touches, F(0), s.air_time[k] + F(passed));
    }
    if constexpr (has_self_contact) s.self_contacts = s.self_contacts + is_pressed(robot, parts.self_contact);
    if constexpr (Ground::is_rough) Ground::count_touches(s.ground, robot, parts.ground);
  }

  // Sets the feet's heights above the floor, clipped to [0, 1] m as measured by a downward ray of 1 m.
  DRL_HD_CALLED_ON_GPU static void update_heights(State& s, const R& robot, const Parts& parts) {
    if constexpr (Ground::is_rough) {
      for (int k = 0; k < feet; ++k)
        s.height[k] = Ground::clearance(robot, robot.position(parts.foot[k]), robot.orientation(parts.foot_body[k]));
      return Ground::update(s.ground, robot, parts.root);
    }
    DRL_ROLLED
    for (int k = 0; k < feet; ++k) s.height[k] = math::clamp(robot.position(parts.foot[k])[2], F(0), F(1));
  }

  // --- Rewards ---

  // Writes the reward terms in mjlab's order, without weights.
  DRL_HD static void compute_reward_terms(State& s, const R& robot, const Parts& parts, F* term) {
    const F speed = norm(s.command, 2) + math::abs(s.command[2]);
    const F moves = math::select(speed > F(0.05), F(1), F(0));
    const Vec<F, 3> linear = base_velocity(robot, parts), angular = base_angular_velocity(robot, parts);
    *term++ =
        math::exp(F(-4) * (square(s.command[0] - linear[0]) + square(s.command[1] - linear[1]) + square(linear[2])));
    *term++ = math::exp(F(-2) * (square(angular[0]) + square(angular[1]) + square(s.command[2] - angular[2])));

    Vec<F, 3> up{{F(0), F(0), F(1)}};
    if constexpr (Ground::is_rough) up = Ground::up(s.ground);
    up = in_body_frame(robot.orientation(parts.torso), up);
    *term++ = math::exp(F(-5) * (square(up[0]) + square(up[1])));
    F deviation = F(0), beyond = F(0), change = F(0);
    DRL_ROLLED
    for (int k = 0; k < joints; ++k) {
      const Pose& joint = pose(k);
      const F angle = robot.qpos(parts.joint[k]);
      const F moving = math::select(speed < F(1.5), F(joint.walking), F(joint.running));
      deviation =
          deviation + square((angle - F(joint.angle)) / math::select(speed < F(0.05), F(joint.standing), moving));
      const Vec<F, 2> range = robot.range(parts.joint[k]);  // the soft limits are the middle 90 %; (0, 0) is none
      const F excess = math::abs(angle - F(0.5) * (range[0] + range[1])) - F(0.45) * (range[1] - range[0]);
      beyond = beyond + math::select(range[1] > range[0], math::max(excess, F(0)), F(0));
      change = change + square(s.action[k] - s.last_action[k]);
    }
    *term++ = math::exp(-deviation / F(joints));

    const Vec<F, 3> torso = angular_velocity_of(robot, parts.torso);
    *term++ = square(torso[0]) + square(torso[1]);
    F momentum = F(0);
    for (int k = 0; k < 3; ++k) momentum = momentum + square(robot.sensor(parts.angular_momentum, k));
    *term++ = momentum;
    *term++ = beyond;
    *term++ = change;
    compute_foot_terms(s, robot, parts, moves, math::select(speed > F(0.5), F(1), F(0)), term);
    if constexpr (has_self_contact) term[5] = s.self_contacts;
    if constexpr (Ground::is_rough) Ground::write_terms(s.ground, term + 6);
  }
  // Writes the five terms of the feet. `moves` and `strides` are 1 if the command is faster than 0.05 and 0.5, else 0.
  DRL_HD static void compute_foot_terms(State& s, const R& robot, const Parts& parts, F moves, F strides, F* term) {
    constexpr double target = 0.1;  // m
    for (int k = 0; k < 5; ++k) term[k] = F(0);
    DRL_ROLLED
    for (int k = 0; k < feet; ++k) {
      const Vec<F, 3> velocity = velocity_of(robot, parts, parts.foot_body[k], robot.position(parts.foot[k]));
      const F sliding = norm(velocity.at, 2);
      const F force[3] = {robot.sensor(parts.contact[k], 1), robot.sensor(parts.contact[k], 2),
                          robot.sensor(parts.contact[k], 3)};
      const Mask<F> touches = robot.sensor(parts.contact[k], 0) > F(0);
      const Mask<F> lands = (s.contact_time[k] > F(0)) & (s.contact_time[k] < F(dt + 1e-6));
      s.peak_height[k] = math::select(touches, s.peak_height[k], math::max(s.peak_height[k], s.height[k]));
      const Mask<F> swings = (s.air_time[k] > F(0.05)) & (s.air_time[k] < F(0.5));
      term[0] = term[0] + math::select(swings, strides, F(0));
      term[1] = term[1] + moves * math::abs(s.height[k] - F(target)) * sliding;
      term[2] = term[2] + math::select(lands, moves * square(s.peak_height[k] / F(target) - F(1)), F(0));
      term[3] = term[3] + math::select(touches, moves * square(sliding), F(0));
      term[4] = term[4] + math::select(lands, moves * norm(force, 3), F(0));
      s.peak_height[k] = math::select(lands, F(0), s.peak_height[k]);
    }
  }

  // --- Pushes, and the numbers that are observed ---

  // If a push is due, sets the base's velocity to that of the last stage plus a random change.
  DRL_HD static void push(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    constexpr double limit[6] = {0.5, 0.5, 0.4, 0.52, 0.52, 0.78};  // m/s, rad/s
    s.until_push = s.until_push - F(dt);
    const Mask<F> is_due = (s.until_push < F(1e-6)) & (F(p.push) > F(0));
    s.until_push = math::select(is_due, draws.uniform(F(1), F(3)), s.until_push);
    Vec<F, 3> linear = velocity_of(robot, parts, parts.root, robot.position(parts.root));
    Vec<F, 3> angular = angular_velocity_of(robot, parts.root);
    for (int k = 0; k < 3; ++k) {
      linear[k] = linear[k] + p.push * draws.uniform(F(-limit[k]), F(limit[k]));
      angular[k] = angular[k] + p.push * draws.uniform(F(-limit[3 + k]), F(limit[3 + k]));
    }
    set_base_velocity(robot, parts.base, is_due, linear, angular);
  }

  // Writes the observation without noise; `biased` is 1 to add the encoders' errors to the joint angles, else 0.
  template <class Out>
  DRL_HD_CALLED_ON_GPU static Out write_observation(const State& s, const R& robot, const Parts& parts, F biased,
                                                    Out obs) {
    for (int k = 0; k < 3; ++k) *obs++ = robot.sensor(parts.velocimeter, k);
    for (int k = 0; k < 3; ++k) *obs++ = robot.sensor(parts.gyro, k);
    const Vec<F, 3> down = in_body_frame(robot.orientation(parts.root), {{F(0), F(0), F(-1)}});
    for (int k = 0; k < 3; ++k) *obs++ = down[k];
    DRL_ROLLED
    for (int k = 0; k < joints; ++k)
      *obs++ = robot.qpos(parts.joint[k]) - F(pose(k).angle) + biased * s.encoder_bias[k];
    DRL_ROLLED
    for (int k = 0; k < joints; ++k) *obs++ = robot.qvel(parts.joint[k]);
    DRL_ROLLED
    for (const F action : s.action) *obs++ = action;
    for (const F command : s.command) *obs++ = command;
    return obs;
  }
};

template <class R, class Config>
using Flat = Task<R, Config>;

}  // namespace drl::velocity
