// Gymnasium's robot tasks against episodes that Gymnasium itself ran (record_gymnasium.py): free-running from the same
// start, the state has the same bits to the end; observations, rewards and terms agree to 1e-12.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// Whatever a task's reset draws, this robot starts as it was recorded.
class RecordedStart : public MujocoRobot {
 public:
  RecordedStart(const mjModel& model, int frame_skip, const nlohmann::json& start)
      : MujocoRobot(model, frame_skip), start_(start) {}
  void forward() {
    for (int k = 0; k < nq(); ++k) set_qpos(k, start_.at("qpos").at(static_cast<size_t>(k)));
    for (int k = 0; k < nv(); ++k) set_qvel(k, start_.at("qvel").at(static_cast<size_t>(k)));
    MujocoRobot::forward();
  }

 private:
  const nlohmann::json& start_;
};

// As record_gymnasium.py's.
class Actions {
 public:
  Actions(const nlohmann::json& episode, const ActionSpace& space)
      : word_(episode.at("seed")), scale_(episode.at("scale")), hold_(episode.at("hold")), high_(space.high) {}
  const std::vector<double>& next() {
    if (steps_++ % hold_ == 0) {
      action_.clear();
      for (const float bound : high_) action_.push_back(static_cast<double>(bound * (scale_ * byte() / 128.0f)));
    }
    return action_;
  }

 private:
  float byte() {
    word_ = 1664525u * word_ + 1013904223u;
    return static_cast<float>(static_cast<int>(word_ >> 24) - 128);
  }
  uint32_t word_;
  float scale_;
  int hold_, steps_ = 0;
  std::vector<float> high_;
  std::vector<double> action_;
};

// FNV-1a, by 64-bit words, of all that determines the next steps.
std::string hash_of(const MujocoRobot& robot) {
  std::vector<double> state(static_cast<size_t>(robot.state_size()));
  robot.save(state.data());
  uint64_t value = 0xCBF29CE484222325u;
  for (const double number : state) {
    uint64_t word = 0;
    std::memcpy(&word, &number, sizeof(word));
    value = (value ^ word) * 0x100000001B3u;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// |ours - theirs| <= 1e-12 |theirs|, or below what rounding leaves of numbers that cancel.
void expect_close(double ours, double theirs, const std::string& what) {
  EXPECT_LE(std::abs(ours - theirs), 1e-12 * std::abs(theirs) + 1e-13) << what << ": " << ours << " for " << theirs;
}

template <template <class> class Definition>
class Episode {
 public:
  using Task = Definition<RecordedStart>;

  Episode(const mjModel& model, const std::string& file, const nlohmann::json& recorded)
      : recorded_(recorded), robot_(model, Task::model.frame_skip, recorded.at("start")) {
    PartFinder find(model, file);
    parts_.find(find);
  }

  void play() {
    Draws<double> draws(0, 0, 0);
    robot::reset<Task>(state_, robot_, draws, parts_, params_);
    compare(recorded_.at("start"), "start");
    Actions actions(recorded_, Task::action.space());
    const int length = recorded_.at("length");
    auto next = recorded_.at("steps").begin();
    for (int t = 1; t <= length; ++t) {
      const auto result = robot::step<Task>(state_, robot_, actions.next().data(), draws, parts_, params_);
      ASSERT_EQ(result.terminated, t == length && recorded_.at("terminated")) << t;
      if (next->at("step") != t) continue;
      compare(*next, "step " + std::to_string(t));
      compare_reward(result, *next, "step " + std::to_string(t));
      ++next;
    }
    EXPECT_EQ(next, recorded_.at("steps").end());
    EXPECT_TRUE(recorded_.at("terminated") || length == Task::step_limit);
  }

 private:
  void compare(const nlohmann::json& row, const std::string& where) {
    EXPECT_EQ(hash_of(robot_), row.at("state")) << where;
    if (!row.contains("obs")) return;
    Draws<double> draws(0, 0, 0);
    double obs[Task::obs_dim];
    robot::observe<Task>(state_, robot_, draws, parts_, params_, &obs[0]);
    ASSERT_EQ(row.at("obs").size(), std::size(obs));
    for (size_t o = 0; o < std::size(obs); ++o)
      expect_close(obs[o], row.at("obs").at(o), where + ", observation " + std::to_string(o));
  }
  template <class Result>
  void compare_reward(const Result& result, const nlohmann::json& row, const std::string& where) {
    expect_close(result.reward, row.at("reward"), where + ", reward");
    double sum = 0;
    std::map<std::string, double> terms;
    for (size_t k = 0; k < std::size(Task::reward_terms); ++k) {
      terms[Task::reward_terms[k]] = result.terms[k];
      sum += result.terms[k];
    }
    expect_close(sum, row.at("reward"), where + ", sum of terms");
    for (const auto& [name, value] : row.at("terms").items()) expect_close(terms.at(name), value, where + ", " + name);
  }

  const nlohmann::json& recorded_;
  RecordedStart robot_;
  robot::State<Task> state_{};
  robot::Parts<Task> parts_{};
  robot::Params<Task> params_{};
};

template <template <class> class Definition>
void expect_recorded() {
  using Task = Definition<RecordedStart>;
  const std::string data = DRL_TEST_DATA;
  nlohmann::json recording;
  std::ifstream(data + "/robots/recordings/" + Task::name + ".json") >> recording;
  const std::string file = data + "/../src/robots/models/" + Task::model.file;
  const auto model = load_model(file);
  ASSERT_EQ(recording.at("mujoco"), mj_versionString());
  ASSERT_EQ(recording.at("episodes").size(), 2u);
  for (const nlohmann::json& episode : recording.at("episodes")) Episode<Definition>(*model, file, episode).play();
}

TEST(Exact, InvertedPendulum) { expect_recorded<InvertedPendulum>(); }
TEST(Exact, InvertedDoublePendulum) { expect_recorded<InvertedDoublePendulum>(); }
TEST(Exact, Reacher) { expect_recorded<Reacher>(); }
TEST(Exact, Swimmer) { expect_recorded<Swimmer>(); }
TEST(Exact, Hopper) { expect_recorded<Hopper>(); }
TEST(Exact, Walker2d) { expect_recorded<Walker2d>(); }
TEST(Exact, HalfCheetah) { expect_recorded<HalfCheetah>(); }
TEST(Exact, Ant) { expect_recorded<Ant>(); }
TEST(Exact, Humanoid) { expect_recorded<Humanoid>(); }
TEST(Exact, HumanoidStandup) { expect_recorded<HumanoidStandup>(); }
TEST(Exact, Pusher) { expect_recorded<Pusher>(); }

}  // namespace
}  // namespace drl
