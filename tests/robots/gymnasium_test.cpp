// Replays episodes that were recorded in Gymnasium with Gymnasium's own models (gymnasium_record.py, recordings/). The
// robots' states stay bit-identical for whole episodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "task_on.hpp"
// The tasks' headers must follow that of the robot.
#include "robots/ant.hpp"
#include "robots/half_cheetah.hpp"
#include "robots/hopper.hpp"
#include "robots/humanoid.hpp"
#include "robots/humanoid_standup.hpp"
#include "robots/inverted_double_pendulum.hpp"
#include "robots/inverted_pendulum.hpp"
#include "robots/pusher.hpp"
#include "robots/reacher.hpp"
#include "robots/swimmer.hpp"
#include "robots/walker2d.hpp"

namespace drl {
namespace {

struct Row {
  std::string hash;
  double reward = 0, obs_sum = 0;
  bool terminated = false, truncated = false;
  std::vector<double> terms;
};
struct Episode {
  int seed = 0;
  float amplitude = 0;
  std::vector<double> start;               // [nq + nv]
  std::map<int, std::vector<double>> obs;  // by step, for some steps
  std::map<int, Row> rows;                 // by step, for some steps from 1 on
  std::vector<std::string> terms;          // names of Row::terms
};

std::vector<double> read_numbers(std::istream& line) {
  std::vector<double> numbers;
  for (std::string word; line >> word;) numbers.push_back(std::stod(word));
  return numbers;
}

std::vector<Episode> recorded(const std::string& task) {
  std::ifstream file(std::string(DRL_TEST_DATA) + "/robots/recordings/" + task + ".txt");
  std::vector<Episode> episodes;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    int step = 0;
    if (kind == "episode") {
      line >> episodes.emplace_back().seed >> episodes.back().amplitude;
    } else if (kind == "start") {
      episodes.back().start = read_numbers(line);
    } else if (kind == "terms") {
      for (std::string name; line >> name;) episodes.back().terms.push_back(name);
    } else if (kind == "obs") {
      line >> step;
      episodes.back().obs[step] = read_numbers(line);
    } else if (kind == "step") {
      line >> step;
      Row& row = episodes.back().rows[step];
      line >> row.hash >> row.reward >> row.obs_sum >> row.terminated >> row.truncated;
      EXPECT_FALSE(line.fail()) << text;
      row.terms = read_numbers(line);
      EXPECT_EQ(row.terms.size(), episodes.back().terms.size()) << text;
    }
  }
  EXPECT_EQ(episodes.size(), 2u) << task;
  return episodes;
}

// gymnasium_record.py has the same functions.
double pseudo_random(uint32_t n) {
  uint32_t x = n * 0x9E3779B1u;
  x = (x ^ x >> 15) * 0x85EBCA77u;
  x = (x ^ x >> 13) * 0xC2B2AE3Du;
  return ((x ^ x >> 16) >> 8) * 0x1p-23 - 1;
}
uint64_t state_hash(uint64_t before, const MujocoRobot& robot) {
  std::vector<double> state(static_cast<size_t>(robot.state_size()));
  robot.save(state.data());
  for (const double& x : state) before = (before ^ __builtin_bit_cast(uint64_t, x)) * 0x100000001B3u;
  return before;
}
std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// A robot whose forward() sets the recording's initial state, whatever the task draws.
struct RecordedRobot : MujocoRobot {
  RecordedRobot(const mjModel& model, int frame_skip, const std::vector<double>& start)
      : MujocoRobot(model, frame_skip), start_(start) {}
  void set_qpos(int, double) {}
  void set_qvel(int, double) {}
  void forward() {
    for (int k = 0; k < nq(); ++k) MujocoRobot::set_qpos(k, start_[static_cast<size_t>(k)]);
    for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, start_[static_cast<size_t>(nq() + k)]);
    MujocoRobot::forward();
  }

 private:
  const std::vector<double>& start_;
};

template <class Task>
struct Replay : TaskOn<Task, RecordedRobot> {
  using Base = TaskOn<Task, RecordedRobot>;
  using Base::draws, Base::params, Base::parts, Base::robot, Base::state;

  explicit Replay(const Episode& recorded) : Replay(recorded, find_model(Task::model, nullptr)) {}

  void run() {
    ASSERT_TRUE(episode.rows.contains(Task::step_limit)) << "the recording is incomplete";
    robot::create<Task>(state, robot, draws, parts, params);
    robot::reset<Task>(state, robot, draws, parts, params);
    uint64_t hash = state_hash(0xCBF29CE484222325u, robot);
    expect_obs(0);
    for (int step = 1; step <= Task::step_limit; ++step) {
      const auto result = take(step);
      hash = state_hash(hash, robot);
      const auto row = episode.rows.find(step);
      if (row != episode.rows.end()) {
        ASSERT_NO_FATAL_FAILURE(expect(row->second, step, result, hash));
      }
      expect_obs(step);
    }
  }

 private:
  Replay(const Episode& recorded, const std::string& file)
      : Base(file, load_model(file), recorded.start), episode(recorded) {}
  auto take(int step) {
    double controls[Task::action.size];
    const auto high = Task::action.space().high;
    for (uint32_t k = 0; k < high.size(); ++k) {
      const auto n = static_cast<uint32_t>(episode.seed * 1000003 + step) * static_cast<uint32_t>(high.size()) + k;
      controls[k] = static_cast<double>(static_cast<float>(pseudo_random(n)) * (episode.amplitude * high[k]));
    }
    return robot::step<Task>(state, robot, &controls[0], draws, parts, params);
  }
  std::vector<double> observed() {
    std::vector<double> obs(Task::obs_dim);
    robot::observe<Task>(state, robot, draws, parts, params, obs.data());
    return obs;
  }
  template <class Result>
  void expect(const Row& row, int step, const Result& result, uint64_t hash) {
    const std::string when = "episode " + std::to_string(episode.seed) + ", step " + std::to_string(step);
    ASSERT_EQ(hex(hash), row.hash) << when << ": this state, or one since the previous row, differs";
    EXPECT_NEAR(result.reward, row.reward, 1e-12 * (1 + std::abs(row.reward))) << when;
    EXPECT_EQ(result.terminated, row.terminated) << when;
    EXPECT_EQ(result.truncated, row.truncated) << when;
    for (size_t k = 0; k < row.terms.size(); ++k) {
      const auto ours = std::find(std::begin(Task::reward_terms), std::end(Task::reward_terms), episode.terms[k]);
      ASSERT_NE(ours, std::end(Task::reward_terms)) << "no term " << episode.terms[k];
      EXPECT_NEAR(result.terms[ours - std::begin(Task::reward_terms)], row.terms[k],
                  1e-12 * (1 + std::abs(row.terms[k])))
          << episode.terms[k] << ", " << when;
    }
    double obs_sum = 0, size = 1;
    const std::vector<double> obs = observed();
    for (uint32_t k = 0; k < obs.size(); ++k) obs_sum += pseudo_random(k + 1) * obs[k], size += std::abs(obs[k]);
    EXPECT_NEAR(obs_sum, row.obs_sum, 1e-12 * size) << when;
  }
  void expect_obs(int step) {
    const auto theirs = episode.obs.find(step);
    if (theirs == episode.obs.end()) return;
    const std::vector<double> ours = observed();
    ASSERT_EQ(ours.size(), theirs->second.size());
    for (size_t k = 0; k < ours.size(); ++k) {
      const double x = theirs->second[k];
      EXPECT_NEAR(ours[k], x, 1e-12 * (1 + std::abs(x))) << "number " << k << " observed after step " << step;
    }
  }

  const Episode& episode;
};

// Returns the version of MuJoCo of a recording.
std::string recorded_mujoco(const std::string& task) {
  std::ifstream file(std::string(DRL_TEST_DATA) + "/robots/recordings/" + task + ".txt");
  std::string line;
  std::getline(file, line);
  const size_t at = line.find("MuJoCo ") + 7;
  return line.substr(at, line.find(',', at) - at);
}

template <template <class> class Task>
void replay() {
  const std::string mujoco = recorded_mujoco(Task<RecordedRobot>::name);
  if (mujoco != mj_versionString()) GTEST_SKIP() << "recorded with MuJoCo " << mujoco;
  for (const Episode& episode : recorded(Task<RecordedRobot>::name)) Replay<Task<RecordedRobot>>(episode).run();
}

TEST(EqualsGymnasiumsRecording, InvertedPendulum) { replay<InvertedPendulum>(); }
TEST(EqualsGymnasiumsRecording, InvertedDoublePendulum) { replay<InvertedDoublePendulum>(); }
TEST(EqualsGymnasiumsRecording, Reacher) { replay<Reacher>(); }
TEST(EqualsGymnasiumsRecording, Swimmer) { replay<Swimmer>(); }
TEST(EqualsGymnasiumsRecording, Hopper) { replay<Hopper>(); }
TEST(EqualsGymnasiumsRecording, Walker2d) { replay<Walker2d>(); }
TEST(EqualsGymnasiumsRecording, HalfCheetah) { replay<HalfCheetah>(); }
TEST(EqualsGymnasiumsRecording, Ant) { replay<Ant>(); }
TEST(EqualsGymnasiumsRecording, Humanoid) { replay<Humanoid>(); }
TEST(EqualsGymnasiumsRecording, HumanoidStandup) { replay<HumanoidStandup>(); }
TEST(EqualsGymnasiumsRecording, Pusher) { replay<Pusher>(); }

}  // namespace
}  // namespace drl
