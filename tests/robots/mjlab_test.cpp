// Compares the velocity tasks with recordings of mjlab (mjlab_record.py, recordings/): every reward term, end, metric
// and observation, computed from mjlab's states and contacts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "recorded.hpp"
// The tasks' headers must follow that of the robot.
#include "robots/g1_velocity_flat.hpp"
#include "robots/g1_velocity_rough.hpp"
#include "robots/go1_velocity_flat.hpp"
#include "robots/go1_velocity_rough.hpp"

namespace drl {
namespace {

template <class Task>
class Replay : public Comparison<Task, Replay<Task>> {
 public:
  using Base = Comparison<Task, Replay<Task>>;
  using Base::all_, Base::draws, Base::params, Base::parts, Base::robot, Base::state, Base::Base;

  void run() {
    Base::run();
    EXPECT_GE(fallen_, 1);
    EXPECT_GE(pushed_, 2);
    EXPECT_GE(turned_, 1);
    EXPECT_LE(buried_, 16);
  }
  void begin(const Moment& start) {
    this->reset_to(start);
    std::copy_n(&start.at("critic")[kCommand], 3, state.command);
  }
  void step(const Moment& now, const std::string& when) {
    const auto result = take_step(now);
    this->expect_rewards(result, now, when, [&](const std::string& term) {
      return is_buried_ && (term == "foot_clearance" || term == "foot_swing_height");
    });
    EXPECT_EQ(result.ends[0], now.at("ends")[0] != 0) << when;
    fallen_ += result.ends[0];
    for (size_t k = 0; k < 3; ++k) expect_near(result.metrics[k], now.at("metrics")[k], Task::metrics[k] + when);
    const double* next = &now.at("critic")[kCommand];
    if (now.count("heading") && next[0] * next[0] + next[1] * next[1] > 0) {
      expect_near(state.command[2], next[2], "turns towards its heading, " + when);
      turned_ += std::abs(next[2]) < 0.499;
    }
    if (now.count("pushed")) push(now, when);
    std::copy_n(next, 3, state.command);
  }
  void observe(const Moment& now, const std::string& when) {
    NumberRow actor(Task::obs_dim), critic(Task::critic_obs_dim);
    Task::observe(state, robot, draws, parts, params, actor.data());
    Task::observe_critic(state, robot, parts, params, critic.data());
    ASSERT_EQ(critic.size(), now.at("critic").size());
    is_buried_ = false;
    for (size_t k = 0; k < critic.size(); ++k) {
      // The height of a foot next to higher ground is 0 here. mjlab's rays start inside that ground and do not see it.
      const bool is_height = k >= Task::obs_dim && k < Task::obs_dim + Task::feet;
      if (is_height && critic[k] == 0 && !all_.ground.empty() && now.at("critic")[k] > 0) {
        is_buried_ = true, buried_ += 1;
        continue;
      }
      expect_near(critic[k], now.at("critic")[k], "critic's number " + std::to_string(k) + ", " + when);
    }
    for (size_t k = 0; k < actor.size(); ++k) {
      const bool is_angle = k >= 9 && k < 9 + Task::joints;
      const double bias = is_angle ? state.encoder_bias[k - 9] : 0;
      expect_near(actor[k], now.at("critic")[k] + bias, "actor's number " + std::to_string(k) + ", " + when);
    }
  }

 private:
  static constexpr size_t kCommand = 9 + 3 * Task::joints;  // its place in the observation

  auto take_step(const Moment& now) {
    robot.now = &now;
    state.until_command = 1000;  // no new command: commands are recorded
    state.stands = 0;
    state.keeps_heading = now.count("heading") ? 1 : 0;
    if (now.count("heading")) state.heading = now.at("heading")[0];
    std::copy_n(now.at("command").begin(), 3, state.command);
    return Task::step(state, robot, now.at("step").data(), draws, parts, params);
  }
  // Checks a recorded push: it sets the base's velocity to that at the start of the last time step plus a change within
  // mjlab's ranges, and leaves the joints' velocities unchanged. A push of nearly 0 gives the velocity before the
  // change.
  void push(const Moment& now, const std::string& when) {
    Replay unpushed(all_);
    unpushed.begin(all_.episodes[0][0]);
    unpushed.params.push = 1e-9;
    unpushed.state.until_push = 0;
    Moment before = now;
    before.erase("pushed");
    unpushed.take_step(before);
    const double most[6] = {0.5, 0.5, 0.4, 0.52, 0.52, 0.78};
    double turn = 0, limit = 0;
    for (int k = 0; k < 6; ++k) {
      const double by = now.at("pushed")[static_cast<size_t>(k)] - unpushed.robot.requested_qvel.at(k);
      if (k < 3) {
        EXPECT_LE(std::abs(by), most[k] + 1e-4) << when;
      }
      if (k >= 3) turn += by * by, limit += most[k] * most[k];
    }
    EXPECT_LE(turn, limit + 1e-3) << when;  // only the norm: `by` is in the base's frame, the ranges are in the world's
    for (size_t k = 6; k < now.at("pushed").size(); ++k)
      expect_near(now.at("pushed")[k], now.at("after")[static_cast<size_t>(robot.nq()) + k], when);
    pushed_ += 1;
  }

  int fallen_ = 0, pushed_ = 0, turned_ = 0, buried_ = 0;
  bool is_buried_ = false;  // a foot, in the last observation
};

class Mjlab : public testing::Test {
 protected:
  void SetUp() override { DRL_SKIP_WITHOUT(Go1::model); }
  template <template <class> class Task>
  static void replay() {
    const Recording recording = recorded(Task<RecordedRobot>::name);
    Replay<Task<RecordedRobot>>(recording).run();
  }
};

TEST_F(Mjlab, Go1EqualsTheRecording) { replay<Go1VelocityFlat>(); }
TEST_F(Mjlab, G1EqualsTheRecording) { replay<G1VelocityFlat>(); }
TEST_F(Mjlab, Go1OnRoughGroundEqualsTheRecording) { replay<Go1VelocityRough>(); }
TEST_F(Mjlab, G1OnRoughGroundEqualsTheRecording) { replay<G1VelocityRough>(); }

// --- Random numbers have the ranges of mjlab's configuration ---

struct Range {
  double low = 1e9, high = -1e9, sum = 0, count = 0;
  void add(double x) { low = std::min(low, x), high = std::max(high, x), sum += x, count += 1; }
  // Expects that the numbers lie within the bounds, cover 98 % of the interval, and have its centre as their mean.
  void expect(double from, double to, const std::string& what) const {
    const double width = to - from;
    EXPECT_GE(low, from - 1e-9) << what;
    EXPECT_LE(high, to + 1e-9) << what;
    EXPECT_LT(low, from + 0.01 * width) << what;
    EXPECT_GT(high, to - 0.01 * width) << what;
    EXPECT_NEAR(sum / count, 0.5 * (from + to), 0.03 * width) << what;
  }
};
constexpr int kDraws = 2000;  // the standard deviation of a proportion is at most 0.011; of a mean, 0.0065 of the range

Draws<double> draws_of(int env) { return {1, static_cast<uint64_t>(env), 0}; }

TEST_F(Mjlab, EnvironmentsDifferWithinItsRanges) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  Range slide, spin, roll, bias, com[3], g1_slide;
  for (int env = 0; env < kDraws; ++env) {
    auto draws = draws_of(env);
    Task::create(d.state, d.robot, draws, d.parts, d.params);
    slide.add(d.state.friction[0]);
    spin.add(std::log(d.state.friction[1])), roll.add(std::log(d.state.friction[2]));
    bias.add(d.state.encoder_bias[env % 12]);
    for (int k = 0; k < 3; ++k) com[k].add(d.state.com_shift[k]);
    g1_slide.add(G1::friction(draws)[0]);
  }
  slide.expect(0.3, 1.5, "sliding");
  spin.expect(std::log(1e-4), std::log(2e-2), "torsional");
  roll.expect(std::log(1e-5), std::log(5e-3), "rolling");
  bias.expect(-0.015, 0.015, "encoders");
  for (int k = 0; k < 3; ++k) com[k].expect(k < 2 ? -0.025 : -0.03, k < 2 ? 0.025 : 0.03, "centre of mass");
  g1_slide.expect(0.3, 1.2, "G1, sliding");
  Task::apply(d.state, d.robot, d.parts, d.params);
}

TEST_F(Mjlab, EpisodesStartWithinItsRanges) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  Range at[2], height, heading, until_push, until_command;
  for (int env = 0; env < kDraws; ++env) {
    auto draws = draws_of(env);
    d.robot.reset();
    Task::reset(d.state, d.robot, draws, d.parts, d.params);
    for (int k = 0; k < 2; ++k) at[k].add(d.robot.qpos(k));
    height.add(d.robot.qpos(2));
    heading.add(velocity::heading(d.robot.orientation(d.parts.root)));
    until_push.add(d.state.until_push), until_command.add(d.state.until_command);
  }
  for (const Range& range : at) range.expect(-0.5, 0.5, "x and y");
  height.expect(0.288, 0.328, "height");
  heading.expect(-3.14, 3.14, "heading");
  until_push.expect(1, 3, "pushes");
  until_command.expect(3, 8, "commands");
}

// The ranges of Isaac Lab's Spot, in world coordinates.
TEST_F(Mjlab, EpisodesStartWithVelocitiesIfTheseAreGiven) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  const float most[6] = {1.5, 1, 0.5, 0.7, 0.7, 1};
  for (const bool is_given : {false, true}) {
    d.params.reset_velocity.is_given = is_given;
    std::copy_n(most, 6, d.params.reset_velocity.at);
    Range speed[6], joint;
    for (int env = 0; env < kDraws; ++env) {
      auto draws = draws_of(env);
      d.robot.reset();
      Task::reset(d.state, d.robot, draws, d.parts, d.params);
      const Vec<double, 3> angular = velocity::angular_velocity_of(d.robot, d.parts.root);
      for (int k = 0; k < 3; ++k) speed[k].add(d.robot.qvel(k)), speed[3 + k].add(angular[k]);
      joint.add(d.robot.qvel(6 + env % 12));
    }
    EXPECT_EQ(std::max(std::abs(joint.low), std::abs(joint.high)), 0);
    for (int k = 0; k < 6; ++k)
      if (is_given)
        speed[k].expect(static_cast<double>(-most[k]), static_cast<double>(most[k]), "velocity " + std::to_string(k));
      else
        EXPECT_EQ(std::max(std::abs(speed[k].low), std::abs(speed[k].high)), 0) << k;
  }
}

TEST_F(Mjlab, CommandsHaveTheRangesOfTheCurriculumsStages) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  d.robot.forward();
  const struct {
    float iteration;
    double back, ahead, turn;
  } stages[] = {{4999, -1, 1, 0.5}, {5000, -1.5, 2, 0.7}, {10000, -2, 3, 0.7}};
  for (const auto& stage : stages) {
    Range ahead, left, turn;
    double stands = 0, keeps_heading = 0, straight = 0;
    d.params.curriculum.iteration = stage.iteration;
    for (int env = 0; env < kDraws; ++env) {
      auto draws = draws_of(env);
      d.state.until_command = 0.02;
      Task::update_command(d.state, d.robot, draws, d.parts, d.params, 0.02);
      const double* command = d.state.command;
      stands += d.state.stands, keeps_heading += d.state.keeps_heading;
      if (d.state.stands > 0) {
        EXPECT_EQ(velocity::norm(command, 3), 0);
        continue;
      }
      if (command[1] == 0) {  // straight commands are never slow
        straight += 1;
        EXPECT_GE(command[0], 0.3);
        EXPECT_TRUE(command[2] == 0 || d.state.keeps_heading > 0);
        continue;
      }
      ahead.add(command[0]), left.add(command[1]);
      if (d.state.keeps_heading == 0) turn.add(command[2]);
      EXPECT_LE(std::abs(command[2]), stage.turn);
    }
    ahead.expect(stage.back, stage.ahead, "ahead");
    left.expect(-1, 1, "left");
    turn.expect(-stage.turn, stage.turn, "turn");
    EXPECT_NEAR(stands / kDraws, 0.1, 0.03);
    EXPECT_NEAR(keeps_heading / kDraws, 0.3, 0.04);
    EXPECT_NEAR(straight / kDraws, 0.9 * 0.2, 0.04);
  }
}

// The range of commands to the sides and back grows from `first_commands` by `reach`, which grows by 0.01 in an
// iteration if fewer than six in ten of the last episodes ended by a fall, and their error is below 0.35 m/s. The 50
// episodes of an iteration are half of the mean.
TEST_F(Mjlab, CommandsToTheSidesAndBackGrowWhileTheRobotFollows) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  Task::Params::Curriculum curriculum;
  const double all[] = {1}, none[] = {0}, seven_tenths[] = {0.7};
  const auto update = [&](double episodes, const double* falls, double error) {
    curriculum.update({.iteration = 0,
                       .steps = 24,
                       .episodes = episodes,
                       .mean_reward = 0,
                       .mean_length = 0,
                       .reward_terms = nullptr,
                       .metrics = &error,
                       .ends = falls});
  };
  update(50, all, 0);  // an error of 0.5 so far
  update(50, none, 0.5);
  EXPECT_FLOAT_EQ(curriculum.falls, 0.5f);
  EXPECT_FLOAT_EQ(curriculum.error, 0.5f);
  EXPECT_EQ(curriculum.reach, 0);
  update(50, none, 0.1);
  EXPECT_FLOAT_EQ(curriculum.error, 0.3f);
  EXPECT_FLOAT_EQ(curriculum.reach, 0.01f);
  for (int k = 0; k < 40; ++k) update(50, seven_tenths, 0.1);
  EXPECT_NEAR(curriculum.falls, 0.7, 1e-6);
  const float so_far = curriculum.reach;
  update(0, none, 0);  // no episode ended
  EXPECT_EQ(curriculum.reach, so_far);
  for (int k = 0; k < 110; ++k) update(50, none, 0.1);
  EXPECT_EQ(curriculum.reach, 1);

  TaskOn<Task> d;
  d.robot.forward();
  d.params.first_commands = 0.5;
  for (const float reach : {0.0f, 0.5f, 1.0f}) {
    d.params.curriculum.reach = reach;
    Range ahead, left;
    for (int env = 0; env < kDraws; ++env) {
      auto draws = draws_of(env);
      d.state.until_command = 0.02;
      Task::update_command(d.state, d.robot, draws, d.parts, d.params, 0.02);
      if (d.state.command[1] != 0) ahead.add(d.state.command[0]), left.add(d.state.command[1]);
    }
    const double part = 0.5 + 0.5 * static_cast<double>(reach);
    ahead.expect(-part, 1, "ahead"), left.expect(-part, part, "left");
  }
}

// Go1's median action scale is that of its hips, and the deviation 0.45 rad / scale. A robot without a mirror has no
// symmetry.
struct Lopsided : G1 {
  static constexpr bool is_symmetric = false;
};
TEST(Presets, DependOnTheModel) {
  const std::string go1 = Go1VelocityFlat<MujocoRobot>::preset, g1 = G1VelocityFlat<MujocoRobot>::preset;
  const auto std_of = [](double scale) { return fmt::format("init_std = {:.1f}\n", 0.45 / scale); };
  EXPECT_NE(go1.find(std_of(Go1::joints[0].motor.action_scale())), std::string::npos) << go1;
  EXPECT_NE(g1.find(std_of(G1Robot::two_5020.action_scale())), std::string::npos) << g1;
  EXPECT_NE(g1.find("symmetry = augment"), std::string::npos);
  const auto preset = velocity::preset<Lopsided>();
  const std::string lopsided = static_cast<const char*>(preset);
  EXPECT_NE(lopsided.find("symmetry = none"), std::string::npos);
}

// A robot at rest, with commands of 0.6 and 0.8 m/s and 0.25 rad/s. Two feet have stood for 0.1 and 0.3 s, and two have
// been in the air for 0.2 and 0.5 s.
TEST_F(Mjlab, OwnTermsAreTheErrorsAndTheTimeOnHalfOfTheFeet) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  d.robot.forward();
  d.state = {};
  const double command[] = {0.6, 0.8, 0.25}, stands[] = {0.1, 0, 0, 0.3}, flies[] = {0, 0.2, 0.5, 0};
  std::copy_n(command, 3, d.state.command);
  std::copy_n(stands, 4, d.state.contact_time), std::copy_n(flies, 4, d.state.air_time);
  double term[velocity::kOwnTerms];
  Task::write_own_terms(d.state, d.robot, d.parts, d.params, term);
  EXPECT_NEAR(term[0], 1, 1e-12);
  EXPECT_NEAR(term[1], 0.25, 1e-12);
  EXPECT_NEAR(term[2], std::exp(-0.25), 1e-12);
  EXPECT_EQ(term[3], 0.1);
  EXPECT_EQ(term[4], 1);
  d.params.curriculum.reach = 0.5f, d.state.command_age = 0.25;
  Task::write_own_terms(d.state, d.robot, d.parts, d.params, term);
  EXPECT_NEAR(term[0], 1 - 0.5 * 0.75, 1e-12);
  d.state.command_age = 3;
  Task::write_own_terms(d.state, d.robot, d.parts, d.params, term);
  EXPECT_NEAR(term[0], 1, 1e-12);
  d.state.contact_time[0] = 0.9, d.state.contact_time[3] = 0.8, d.state.air_time[1] = 0.6;
  Task::write_own_terms(d.state, d.robot, d.parts, d.params, term);
  EXPECT_EQ(term[3], 0.4);
  d.state.contact_time[1] = 0.1, d.state.air_time[1] = 0;  // three feet stand
  Task::write_own_terms(d.state, d.robot, d.parts, d.params, term);
  EXPECT_EQ(term[3], 0);
}

// Ranges that are given hold at every stage, also for straight commands and for those that keep a heading.
TEST_F(Mjlab, CommandsStayWithinTheRangesThatAreGiven) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  d.robot.forward();
  d.params.curriculum.iteration = 10000;
  d.params.command_x = {-0.5f, -0.25f, 1}, d.params.command_y = {0.25f, 0.75f, 1};
  d.params.command_yaw = {-0.5f, 1.5f, 1};
  Range ahead, left, turn;
  int stands = 0;
  for (int env = 0; env < kDraws; ++env) {
    auto draws = draws_of(env);
    d.state.until_command = 0.02;
    Task::update_command(d.state, d.robot, draws, d.parts, d.params, 0.02);
    const double* command = d.state.command;
    stands += d.state.stands > 0;
    if (d.state.stands > 0) continue;
    EXPECT_TRUE(command[0] >= -0.5 && command[0] <= -0.25) << command[0];
    EXPECT_TRUE(command[1] >= 0.25 && command[1] <= 0.75) << command[1];
    EXPECT_TRUE(command[2] >= -0.5 && command[2] <= 1.5) << command[2];
    if (command[1] == 0.25) continue;  // straight ahead, as far as the ranges allow
    ahead.add(command[0]), left.add(command[1]);
    if (d.state.keeps_heading == 0) turn.add(command[2]);
  }
  ahead.expect(-0.5, -0.25, "ahead"), left.expect(0.25, 0.75, "left"), turn.expect(-0.5, 1.5, "turn");
  EXPECT_NEAR(stands, 0.1 * kDraws, 0.03 * kDraws);
}

// Steps of 0.02 s. The schedule's second row begins at 0.05 s, in the third step after the reset.
TEST_F(Mjlab, CommandsAreFixedOrFollowASchedule) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  const auto expect_command = [&](double ahead, double left, double turn, const std::string& when) {
    const double expected[3] = {ahead, left, turn};
    for (int k = 0; k < 3; ++k) EXPECT_EQ(d.state.command[k], expected[k]) << when;
  };
  for (const bool has_schedule : {false, true})
    for (int env = 0; env < 40; ++env) {  // some of them would stand or keep a heading
      d.params.command = {{1, 0, -0.5f}, 1};
      d.params.command_schedule = {};
      if (has_schedule) d.params.command_schedule = {{{0.01f, 0.5f, -0.25f, 2}, {0.05f, 0, 1, 0}}, 2};
      d.robot.reset();
      auto draws = draws_of(env);
      Task::reset(d.state, d.robot, draws, d.parts, d.params);
      for (int step = 0; step < 5; ++step) {
        const std::string when = "step " + std::to_string(step);
        if (!has_schedule) {
          expect_command(1, 0, -0.5, when);
        } else if (step == 0) {
          expect_command(0, 0, 0, when);
        } else {
          step < 3 ? expect_command(0.5, -0.25, 2, when) : expect_command(0, 1, 0, when);
        }
        Task::update_command(d.state, d.robot, draws, d.parts, d.params, 0.02);
      }
    }
}

TEST_F(Mjlab, OnlyTheActorsObservationsHaveNoise) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  auto start = draws_of(0);
  Task::reset(d.state, d.robot, start, d.parts, d.params);
  Range noise[Task::obs_dim];
  for (int env = 0; env < kDraws; ++env) {
    auto draws = draws_of(env);
    double actor[Task::obs_dim], critic[Task::critic_obs_dim];
    Task::observe(d.state, d.robot, draws, d.parts, d.params, &actor[0]);
    Task::observe_critic(d.state, d.robot, d.parts, d.params, &critic[0]);
    for (int k = 0; k < Task::obs_dim; ++k) noise[k].add(actor[k] - critic[k]);
  }
  const double most[] = {0.5, 0.2, 0.05, 0.01, 0.01, 0.01, 0.01, 1.5, 1.5, 1.5, 1.5};
  for (int k = 0; k < 33; ++k) noise[k].expect(-most[k / 3], most[k / 3], "noise on " + std::to_string(k));
  for (int k = 33; k < Task::obs_dim; ++k) EXPECT_EQ(std::max(noise[k].high, -noise[k].low), 0);
}

// The robot falls from rest in the air. A push is added to the velocity at the start of the last time step (0.005 s),
// so only three of the four time steps of gravity remain.
TEST_F(Mjlab, PushesComeWhenTheyAreDueAndLieWithinItsRanges) {
  using Task = Go1VelocityFlat<MujocoRobot>;
  TaskOn<Task> d;
  Range by[6];
  const double still[12] = {};
  for (int env = 0; env < kDraws; ++env) {
    auto draws = draws_of(env);
    d.robot.reset();
    d.robot.set_qpos(2, 10);
    for (int k = 0; k < 12; ++k) d.robot.set_qpos(7 + k, Go1::joints[k].angle);
    d.robot.forward();
    d.state.until_command = 1, d.state.until_push = env == 0 ? 0.03 : 0.02;
    Task::step(d.state, d.robot, &still[0], draws, d.parts, d.params);
    const double falls = -9.81 * 0.005 * (env == 0 ? 4 : 3);
    if (env == 0) {
      EXPECT_NEAR(d.robot.qvel(2), falls, 1e-3);
      EXPECT_NEAR(d.state.until_push, 0.01, 1e-9);
      continue;
    }
    EXPECT_GE(d.state.until_push, 1);
    for (int k = 0; k < 6; ++k) by[k].add(d.robot.qvel(k) - (k == 2 ? falls : 0));
  }
  const double most[6] = {0.5, 0.5, 0.4, 0.52, 0.52, 0.78};
  for (int k = 0; k < 6; ++k) by[k].expect(-most[k], most[k], "push " + std::to_string(k));
}

}  // namespace
}  // namespace drl
