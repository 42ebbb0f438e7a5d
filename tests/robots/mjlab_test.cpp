// Velocity tasks against mjlab's own (mjlab_record.py, recordings/): every term of the reward, end, metric and
// observation, from the states and contacts that mjlab went through. Nothing is simulated again: the two MuJoCos
// differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "drl/mujoco.hpp"
#include "robots/g1_velocity_flat.hpp"
#include "robots/go1_velocity_flat.hpp"

namespace drl {
namespace {

using Numbers = std::vector<double>;
// Of an episode's start and of each step: what mjlab_record.py names.
using Record = std::map<std::string, Numbers>;
struct Moment : Record {
  std::vector<Numbers> substeps;
};
struct Recording {
  std::vector<std::string> terms;
  std::vector<std::vector<Moment>> episodes;  // of which the first is the start
};

Recording recorded(const std::string& task) {
  std::ifstream file(std::string(DRL_TEST_DATA) + "/robots/recordings/" + task + ".txt");
  Recording all;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "terms")
      for (std::string name; line >> name;) all.terms.push_back(name);
    if (kind == "#" || kind == "terms") continue;
    if (kind == "episode") all.episodes.emplace_back().emplace_back();
    if (kind == "step") all.episodes.back().emplace_back();
    Numbers numbers;
    for (double x; line >> x;) numbers.push_back(x);
    Moment& now = all.episodes.back().back();
    if (kind == "substep")
      now.substeps.push_back(numbers);
    else
      now[kind] = numbers;
  }
  EXPECT_EQ(all.episodes.size(), 3u) << task;
  return all;
}

// A robot that is where the recording says, whatever the task does.
struct RecordedRobot : MujocoRobot {
  using MujocoRobot::MujocoRobot;

  const Moment* now = nullptr;
  int contact_sensors = 0;
  std::map<int, double> asked_qvel;
  Numbers targets;

  template <class Watch>
  void advance(const double* controls, const Watch& after_each) {
    targets.assign(controls, controls + nu());
    for (const Numbers& substep : now->substeps) {
      contacts_ = &substep;
      if (&substep == &now->substeps.back()) stand(now->at("before")), MujocoRobot::forward();
      after_each();
    }
    stand(now->at("after"));
  }
  void advance(const double* controls) {
    advance(controls, [] {});
  }
  void forward() {
    stand(now->at(now->count("reset") ? "reset" : "after"));
    if (now->count("pushed"))
      for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, now->at("pushed")[static_cast<size_t>(k)]);
    MujocoRobot::forward();
    contacts_ = &now->at("contacts");
  }
  void set_qpos(int, double) {}
  void set_qvel(int k, double x) { asked_qvel[k] = x; }
  // Contacts are the recorded ones. They are the last of the model's sensors: whether there is one, and its force.
  double sensor(SensorId id, int k) const {
    const int first = 9, which = (id.index - first) / 4;
    if (id.index < first) return MujocoRobot::sensor(id, k);
    return (*contacts_)[static_cast<size_t>(k == 0 ? which : contact_sensors + 3 * which + k - 1)];
  }

 private:
  void stand(const Numbers& state) {
    for (int k = 0; k < nq(); ++k) MujocoRobot::set_qpos(k, state[static_cast<size_t>(k)]);
    for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, state[static_cast<size_t>(nq() + k)]);
  }
  const Numbers* contacts_ = nullptr;
};

void expect_near(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, 1e-4 * (1 + std::abs(theirs))) << what;
}

template <class Task>
struct Played {
  Played() : file(find_model(Task::model, nullptr)), model(load_model(file)), robot(*model, Task::model.frame_skip) {
    PartFinder find(*model, file);
    parts.find(find);
    params.noise = params.push = 0;
  }
  void begin(const Moment& start) {
    robot.now = &start;
    state = {};
    std::copy_n(start.at("bias").begin(), Task::joints, state.encoder_bias);
    std::copy_n(start.at("com").begin(), 3, state.com_shift);
    Task::apply(state, robot, parts, params);
    robot.contact_sensors = static_cast<int>(start.at("contacts").size() / 4);
    Task::reset(state, robot, draws, parts, params);
  }
  auto step(const Moment& now) {
    robot.now = &now;
    state.until_command = 1000;  // commands are the recorded ones
    state.stands = 0;
    state.keeps_heading = now.count("heading") ? 1 : 0;
    if (now.count("heading")) state.heading = now.at("heading")[0];
    std::copy_n(now.at("command").begin(), 3, state.command);
    return Task::step(state, robot, now.at("step").data(), draws, parts, params);
  }

  std::string file;
  std::unique_ptr<mjModel, DeleteModel> model;
  RecordedRobot robot;
  Draws<double> draws{1, 0, 0};
  typename Task::State state{};
  typename Task::Parts parts{};
  typename Task::Params params{};
};

template <class Task>
class Compared {
 public:
  Compared() : all_(recorded(Task::name)) {}

  void run() {
    for (size_t k = 0; k < all_.terms.size(); ++k) EXPECT_EQ(all_.terms[k], Task::reward_terms[k].name);
    ASSERT_EQ(all_.terms.size(), std::size(Task::reward_terms));
    for (size_t e = 0; e < all_.episodes.size(); ++e) {
      const auto& episode = all_.episodes[e];
      played_.begin(episode[0]);
      observe(episode[0], "episode " + std::to_string(e) + ", start");
      for (size_t t = 1; t < episode.size(); ++t)
        step(episode[t], "episode " + std::to_string(e) + ", step " + std::to_string(t));
    }
    // That the recording has what it takes to tell.
    EXPECT_GE(fallen_, 1);
    EXPECT_GE(pushed_, 2);
    EXPECT_GE(turned_, 1);
    for (size_t k = 0; k < all_.terms.size(); ++k) EXPECT_GT(largest_[k], 0) << all_.terms[k];
  }

 private:
  void step(const Moment& now, const std::string& when) {
    const auto result = played_.step(now);
    for (size_t k = 0; k < all_.terms.size(); ++k) {
      expect_near(result.terms[k], now.at("rewards")[k], all_.terms[k] + ", " + when);
      largest_[k] = std::max(largest_[k], now.at("rewards")[k]);
    }
    for (size_t k = 0; k < Task::joints; ++k)
      expect_near(played_.robot.targets[k], now.at("targets")[k], "target " + std::to_string(k) + ", " + when);
    EXPECT_EQ(result.ends[0], now.at("ends")[0] != 0) << when;
    fallen_ += result.ends[0];
    for (size_t k = 0; k < 3; ++k) expect_near(result.metrics[k], now.at("metrics")[k], Task::metrics[k] + when);
    const double* next = &now.at("critic")[Task::obs_dim - 3];
    if (now.count("heading") && next[0] * next[0] + next[1] * next[1] > 0) {
      expect_near(played_.state.command[2], next[2], "turns towards its heading, " + when);
      turned_ += std::abs(next[2]) < 0.499;
    }
    if (now.count("pushed")) push(now, when);
    std::copy_n(next, 3, played_.state.command);
    observe(now, when);
  }

  // The velocity that a push starts from, which is that of the last time step's beginning: what mjlab has made of it is
  // within the ranges of its chance, and the joints go on as they did.
  void push(const Moment& now, const std::string& when) {
    Played<Task> another;
    another.begin(all_.episodes[0][0]);
    another.params.push = 1e-9;
    another.state.until_push = 0;
    Moment before = now;
    before.erase("pushed");
    another.step(before);
    const double most[6] = {0.5, 0.5, 0.4, 0.52, 0.52, 0.78};
    double turn = 0, limit = 0;
    for (int k = 0; k < 6; ++k) {
      const double by = now.at("pushed")[static_cast<size_t>(k)] - another.robot.asked_qvel.at(k);
      if (k < 3) {
        EXPECT_LE(std::abs(by), most[k] + 1e-4) << when;
      }
      if (k >= 3) turn += by * by, limit += most[k] * most[k];
    }
    EXPECT_LE(turn, limit + 1e-3) << when;  // along the base's axes, the ranges are along the world's
    for (size_t k = 6; k < now.at("pushed").size(); ++k)
      expect_near(now.at("pushed")[k], now.at("after")[static_cast<size_t>(played_.robot.nq()) + k], when);
    pushed_ += 1;
  }
  void observe(const Moment& now, const std::string& when) {
    Numbers actor(Task::obs_dim), critic(Task::critic_obs_dim);
    if (now.count("reset")) std::copy_n(&now.at("critic")[Task::obs_dim - 3], 3, played_.state.command);
    Task::observe(played_.state, played_.robot, played_.draws, played_.parts, played_.params, actor.data());
    Task::observe_critic(played_.state, played_.robot, played_.parts, played_.params, critic.data());
    ASSERT_EQ(critic.size(), now.at("critic").size());
    for (size_t k = 0; k < critic.size(); ++k)
      expect_near(critic[k], now.at("critic")[k], "critic's number " + std::to_string(k) + ", " + when);
    for (size_t k = 0; k < actor.size(); ++k) {
      const bool is_angle = k >= 9 && k < 9 + Task::joints;
      const double bias = is_angle ? played_.state.encoder_bias[k - 9] : 0;
      expect_near(actor[k], now.at("critic")[k] + bias, "actor's number " + std::to_string(k) + ", " + when);
    }
  }

  const Recording all_;
  Played<Task> played_;
  int fallen_ = 0, pushed_ = 0, turned_ = 0;
  std::map<size_t, double> largest_;
};

template <class Task>
void expect_as_recorded() {
  try {
    find_model(Task::model, nullptr);
  } catch (const std::invalid_argument&) {
    GTEST_SKIP() << "tools/fetch_robots brings the robot";
  }
  Compared<Task>().run();
}

TEST(Mjlab, Go1) { expect_as_recorded<Go1VelocityFlat<RecordedRobot>>(); }
TEST(Mjlab, G1) { expect_as_recorded<G1VelocityFlat<RecordedRobot>>(); }

}  // namespace
}  // namespace drl
