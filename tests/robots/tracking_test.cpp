// Compares G1-Tracking with a recording of mjlab (mjlab_record_tracking.py): every reward term, end, metric and
// observation, computed from mjlab's states. Also tests what is random, and adaptive sampling.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "recorded.hpp"
// The task's header must follow that of the robot.
#include "motion/motion.hpp"
#include "robots/g1_tracking.hpp"

namespace drl {
namespace {

using tracking::kErrorCount, tracking::kParts, tracking::Sampling;

[[maybe_unused]] const bool reads = (motion_reader = read_motion_file, true);  // also for the other units

// Runs the task with the motion that comes with drl.
struct Tracker : TaskOn<G1Tracking<MujocoRobot>> {
  Tracker() { params.prepare(file); }
  static Draws<double> draws_of(int env) { return {1, static_cast<uint64_t>(env), 0}; }
};

class Replay : public Comparison<G1Tracking<RecordedRobot>, Replay> {
 public:
  using Task = G1Tracking<RecordedRobot>;

  explicit Replay(const Recording& recording) : Comparison(recording) { params.prepare(file); }
  void run() {
    Comparison::run();
    EXPECT_GE(ended_[0] + ended_[1] + ended_[2], 1);
    EXPECT_GE(pushed_, 2);
  }
  void begin(const Moment& start) {
    reset_to(start);
    state.frame = start.at("frame")[0];
    Task::keep_anchor(state, robot, parts);
  }
  void step(const Moment& now, const std::string& when) {
    robot.now = &now;
    const auto result = Task::step(state, robot, now.at("step").data(), draws, parts, params);
    expect_rewards(result, now, when, [](const std::string&) { return false; });
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(result.ends[k], now.at("ends")[k] != 0) << Task::ends[k].name << ", " << when;
      ended_[k] += result.ends[k];
    }
    for (size_t k = 0; k < kErrorCount; ++k)
      expect_near(result.metrics[k], now.at("errors")[k], Task::metrics[k] + (", " + when));
    EXPECT_EQ(state.frame, now.at("frame")[0]) << when;
    pushed_ += now.count("pushed");
  }
  // The actor observes the critic's numbers without the bodies, and with the encoders' errors.
  void observe(const Moment& now, const std::string& when) {
    NumberRow actor(Task::obs_dim), critic(Task::critic_obs_dim);
    Task::observe(state, robot, draws, parts, params, actor.data());
    Task::observe_critic(state, robot, parts, params, critic.data());
    ASSERT_EQ(critic.size(), now.at("critic").size());
    for (size_t k = 0; k < critic.size(); ++k)
      expect_near(critic[k], now.at("critic")[k], "critic's number " + std::to_string(k) + ", " + when);
    const size_t before = 2 * Task::joints + 9, bodies = 9 * Task::bodies, angles = before + 6;
    for (size_t k = 0; k < actor.size(); ++k) {
      const bool is_angle = k >= angles && k < angles + Task::joints;
      expect_near(actor[k], critic[k < before ? k : k + bodies] + (is_angle ? state.encoder_bias[k - angles] : 0),
                  "actor's number " + std::to_string(k) + ", " + when);
    }
  }

 private:
  int ended_[3] = {}, pushed_ = 0;
};

class Tracking : public testing::Test {
 protected:
  void SetUp() override { DRL_SKIP_WITHOUT(G1Follower::model); }
  using Task = G1Tracking<MujocoRobot>;
};

TEST_F(Tracking, EqualsTheRecording) {
  const Recording recording = recorded("G1-Tracking");
  Replay(recording).run();
}

// Without noise, an episode begins in the state of a frame: the bodies' poses and velocities, from the file, are those
// that MuJoCo computes from that state.
TEST_F(Tracking, EpisodesBeginInTheStateOfAFrame) {
  Tracker t;
  t.params.start_noise = 0;
  for (int env = 0; env < 20; ++env) {
    auto draws = t.draws_of(env);
    t.robot.reset();
    Task::reset(t.state, t.robot, draws, t.parts, t.params);
    const tracking::Reference<double> frame(t.state.frame - 1);
    for (int k = 0; k < Task::bodies; ++k) {
      const Vec<double, 3> at = t.robot.position(t.parts.body[k]), there = frame.position(k);
      const Vec<double, 3> turns = frame.angular_velocity(k);
      const Vec<double, 6> turn = t.robot.velocity(t.parts.body[k]);
      for (int c = 0; c < 3; ++c) {
        EXPECT_NEAR(at[c], there[c], 1e-5);
        EXPECT_NEAR(turn[c], turns[c], 1e-4);
      }
    }
    for (int k = 0; k < Task::joints; ++k) EXPECT_NEAR(t.robot.qvel(t.parts.joint[k]), frame.joint_vel(k), 1e-6);
  }
}

// A file of states may be changed: no number leads beyond the motions.
TEST_F(Tracking, FramesBeyondTheMotionsAreTheirEnds) {
  const Tracker t;
  const auto last = static_cast<double>(tracking::motions.count - 1);
  const std::pair<double, double> same[] = {
      {last + 1, last}, {1e9, last}, {1e300, last}, {-1, 0}, {-1e9, 0}, {std::numeric_limits<double>::quiet_NaN(), 0}};
  for (const auto& [frame, end] : same) {
    const tracking::Reference<double> wrong(frame), right(end);
    EXPECT_EQ(wrong.left(), right.left()) << frame;
    for (int k = 0; k < Task::joints; ++k) EXPECT_EQ(wrong.joint_pos(k), right.joint_pos(k)) << frame;
    for (int c = 0; c < 3; ++c) EXPECT_EQ(wrong.position(5)[c], right.position(5)[c]) << frame;
  }
  EXPECT_EQ(tracking::Reference<double>(last).left(), 0);
}

// The largest differences from the frame's state are mjlab's, for the root's place, orientation and velocity.
TEST_F(Tracking, EpisodesBeginWithinMjlabsRanges) {
  Tracker t;
  double most[12] = {}, most_of_joint = 0;
  for (int env = 0; env < 1000; ++env) {
    auto draws = t.draws_of(env);
    t.robot.reset();
    Task::reset(t.state, t.robot, draws, t.parts, t.params);
    const tracking::Reference<double> frame(t.state.frame - 1);
    const auto place = frame.position(0), linear = frame.linear_velocity(0), angular = frame.angular_velocity(0);
    const auto turn = tracking::product(t.robot.orientation(t.parts.root), tracking::inverse(frame.orientation(0)));
    const auto turns = tracking::rotated(t.robot.orientation(t.parts.root),
                                         Vec<double, 3>{{t.robot.qvel(3), t.robot.qvel(4), t.robot.qvel(5)}});
    for (int k = 0; k < 3; ++k) {
      most[k] = std::max(most[k], std::abs(t.robot.qpos(k) - place[k]));
      most[6 + k] = std::max(most[6 + k], std::abs(t.robot.qvel(k) - linear[k]));
      most[9 + k] = std::max(most[9 + k], std::abs(turns[k] - angular[k]));
    }
    // roll, pitch and yaw of a rotation about the fixed axes x, y and z (mjlab's quat_from_euler_xyz)
    const double w = turn[0], x = turn[1], y = turn[2], z = turn[3];
    const double angles[3] = {std::atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), std::asin(2 * (w * y - z * x)),
                              std::atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))};
    for (int k = 0; k < 3; ++k) most[3 + k] = std::max(most[3 + k], std::abs(angles[k]));
    most_of_joint = std::max(most_of_joint, std::abs(t.robot.qpos(t.parts.joint[3]) - frame.joint_pos(3)));
  }
  const double ranges[12] = {0.05, 0.05, 0.01, 0.1, 0.1, 0.2, 0.5, 0.5, 0.2, 0.52, 0.52, 0.78};
  for (int k = 0; k < 12; ++k) {
    EXPECT_LE(most[k], ranges[k] + 1e-6) << k;
    EXPECT_GT(most[k], 0.97 * ranges[k]) << k;
  }
  EXPECT_LE(most_of_joint, 0.1 + 1e-6);
  EXPECT_GT(most_of_joint, 0.097);
}

// Counts at which tenth of the motion 4000 episodes begin.
std::vector<double> first_frames(Tracker& t) {
  std::vector<double> counts(kParts);
  const auto last = static_cast<double>(tracking::motions.count - 1);
  for (int env = 0; env < 4000; ++env) {
    auto draws = t.draws_of(env);
    const double frame = G1Tracking<MujocoRobot>::first_frame(draws, t.params);
    EXPECT_TRUE(frame >= 0 && frame < last && frame == std::floor(frame)) << frame;
    counts[static_cast<size_t>(frame / last * kParts)] += 1;
  }
  return counts;
}

TEST_F(Tracking, EpisodesBeginWhereTheyFail) {
  Tracker t;
  for (float& failed : t.params.curriculum.failed) failed = 0;
  t.params.curriculum.failed[4] = 0.3f, t.params.curriculum.failed[15] = 0.1f;  // and 0.1 spread over all parts
  const std::vector<double> counts = first_frames(t);
  for (int k = 0; k < kParts; ++k) {
    const double share = ((k == 4 ? 0.3 : k == 15 ? 0.1 : 0) + 0.1 / kParts) / 0.5;
    const double deviation = std::sqrt(4000 * share * (1 - share));
    EXPECT_NEAR(counts[static_cast<size_t>(k)], 4000 * share, 4 * deviation + 8) << k;  // 8: frames at parts' edges
  }
}

TEST_F(Tracking, EpisodesMayBeginAnywhereOrAtTheStart) {
  Tracker t;
  t.params.curriculum.failed[4] = 100;
  t.params.sampling = static_cast<int32_t>(Sampling::uniform);
  for (const double count : first_frames(t)) EXPECT_NEAR(count, 200, 65);
  t.params.sampling = static_cast<int32_t>(Sampling::start);
  EXPECT_EQ(first_frames(t)[0], 4000);
}

// mjlab keeps (1 - 0.001) of the average in each of 24 steps, and adds 0.001 of the failures in that step.
TEST(TrackingCurriculum, AveragesFailures) {
  G1Tracking<MujocoRobot>::Params::Curriculum curriculum;
  double metrics[kErrorCount + kParts] = {};
  metrics[kErrorCount + 3] = 12.0 / 37;  // 12 of 37 episodes failed in part 3
  const TrainingStats some{0, 24, 37, 0, 0, nullptr, metrics, nullptr}, none{1, 24, 0, 0, 0, nullptr, metrics, nullptr};
  curriculum.update(some);
  EXPECT_FLOAT_EQ(curriculum.failed[3], 0.012f);
  curriculum.update(none);
  EXPECT_NEAR(curriculum.failed[3], 0.012 * std::pow(1 - 0.001, 24), 1e-5);
  EXPECT_EQ(curriculum.failed[2], 0);
  for (const int64_t steps : {1, 16, 100, 3000}) {  // 12 failures in each iteration: 12 / steps in each step
    TrainingStats same = some;
    same.steps = steps;
    for (int k = 0; k < 20000; ++k) curriculum.update(same);
    EXPECT_NEAR(curriculum.failed[3] * static_cast<float>(steps), 12, 1e-3) << steps;
  }
}

// --- Motions of a file ---

Motions small(std::vector<std::string> joints, std::vector<std::string> bodies) {
  Motions motions{.model = "small.xml", .joints = std::move(joints), .bodies = std::move(bodies), .rate = 50};
  motions.names = {"a", "b"}, motions.starts = {0, 3}, motions.frames = 5;
  const auto fill = [](std::vector<float>& numbers, size_t size) {
    for (size_t k = 0; k < size; ++k) numbers.push_back(static_cast<float>(k));
  };
  const size_t rows = 5, j = motions.joints.size(), b = motions.bodies.size();
  fill(motions.joint_pos, rows * j), fill(motions.joint_vel, rows * j);
  fill(motions.body_pos, rows * b * 3), fill(motions.body_quat, rows * b * 4);
  fill(motions.body_lin_vel, rows * b * 3), fill(motions.body_ang_vel, rows * b * 3);
  return motions;
}

class MotionFile : public testing::Test {
 protected:
  std::string write(const Motions& motions) {
    const std::string path = folder_ / ("motion" + std::to_string(files_++) + ".h5");  // a process reads a path once
    write_motions(path, motions);
    return path;
  }
  std::string refusal(const std::string& path, double rate = 50) {
    return error_from<std::invalid_argument>([&] { read_motions(path, joints_, bodies_, rate); });
  }
  static constexpr const char* joints_[] = {"hip_joint", "knee_joint"};
  static constexpr const char* bodies_[] = {"foot"};

 private:
  TempFolder folder_;
  int files_ = 0;
};

TEST_F(MotionFile, ColumnsAreFoundByName) {
  const MotionFrames frames =
      read_motions(write(small({"knee_joint", "hip_joint"}, {"pelvis", "foot", "hand"})), joints_, bodies_, 50);
  EXPECT_EQ(frames.count, 5);
  EXPECT_EQ(frames.joint_pos[2 * frames.joints + frames.joint[0]], 5);  // row 2, column 1
  EXPECT_EQ(frames.body_quat[4 * (1 * frames.bodies + frames.body[0]) + 3], 4 * (3 + 1) + 3);
  const float left[] = {2, 1, 0, 1, 0};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(frames.left[k], left[k]);
}

TEST_F(MotionFile, OtherRobotsAreRefusedWithNames) {
  expect_mentions(refusal(write(small({"hip_joint", "kne_joint"}, {"foot"}))), {"'kne_joint'", "'knee_joint'"});
  expect_mentions(refusal(write(small({"hip_joint"}, {"foot"}))), {"'knee_joint'"});
  expect_mentions(refusal(write(small({"hip_joint", "knee_joint"}, {"fool"}))), {"'fool'"});
}

TEST_F(MotionFile, OtherRatesAndNumbersThatAreNotFiniteAreRefused) {
  expect_mentions(refusal(write(small({"hip_joint", "knee_joint"}, {"foot"})), 60), {"50"});
  Motions motions = small({"hip_joint", "knee_joint"}, {"foot"});
  motions.body_lin_vel[4] = std::numeric_limits<float>::quiet_NaN();
  expect_mentions(refusal(write(motions)), {"body_lin_vel_w"});
}

// The file has 5 frames. Starts beyond them would need 8 TiB.
TEST_F(MotionFile, StartsThatAreNotInTheFileAreRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> all[] = {
      {1}, {kMost}, {0, int64_t{1} << 41, 3}, {0, kMost}, {0, 1}, {0, 4}, {0, 3, 3}, {0, kLeast}, {0, 2, -1}};
  Motions motions = small({"hip_joint", "knee_joint"}, {"foot"});
  for (const std::vector<int64_t>& starts : all) {
    motions.starts = starts;
    expect_mentions(refusal(write(motions)), {"motion_starts[", "5 frames"});
  }
  motions.starts = {0, 2};  // of motions with 2 and 3 frames
  const float* left = read_motions(write(motions), joints_, {}, 50).left;
  EXPECT_EQ(std::vector<float>(left, left + 5), std::vector<float>({1, 0, 2, 1, 0}));
}

TEST_F(MotionFile, MissingAndDamagedFilesAreRefused) {
  expect_mentions(refusal("/nowhere/walk.h5"), {"/nowhere/walk.h5"});
  const std::string path = write(small({"hip_joint", "knee_joint"}, {"foot"}));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  expect_mentions(refusal(path), {"truncated"});
  std::filesystem::resize_file(path, 0);
  expect_mentions(refusal(path), {"empty"});
}

}  // namespace
}  // namespace drl
