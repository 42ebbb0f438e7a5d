// Recordings of mjlab (mjlab_record.py, mjlab_record_tracking.py), and a robot that takes its states from them. Nothing
// is simulated, because mjlab uses another version of MuJoCo.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "task_on.hpp"

namespace drl {
namespace {

using NumberRow = std::vector<double>;
// The lines of an episode's start or of a step, by their first word (mjlab_record.py).
using Record = std::map<std::string, NumberRow>;
struct Moment : Record {
  std::vector<NumberRow> substeps;
};
struct Recording {
  std::vector<std::string> terms;
  NumberRow ground;                           // of rough ground: hfield_size [4] and heights
  std::vector<std::vector<Moment>> episodes;  // the first moment of an episode is its start
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
    NumberRow numbers;
    for (double x; line >> x;) numbers.push_back(x);
    if (kind == "ground") {
      all.ground = numbers;
      continue;
    }
    Moment& now = all.episodes.back().back();
    if (kind == "substep")
      now.substeps.push_back(numbers);
    else
      now[kind] = numbers;
  }
  EXPECT_GE(all.episodes.size(), 3u) << task;
  return all;
}

// A robot that takes its states and contacts from the recording, whatever the task sets.
struct RecordedRobot : MujocoRobot {
  using MujocoRobot::MujocoRobot;

  const Moment* now = nullptr;
  int contact_sensors = 0;
  std::map<int, double> requested_qvel;
  NumberRow targets;

  template <class Watch>
  void advance(const double* controls, const Watch& after_each) {
    targets.assign(controls, controls + nu());
    for (const NumberRow& substep : now->substeps) {
      contacts_ = &substep;
      if (&substep == &now->substeps.back()) set_state(now->at("before")), MujocoRobot::forward();
      after_each();
    }
    set_state(now->at("after"));
  }
  void advance(const double* controls) {
    advance(controls, [] {});
  }
  void forward() {
    set_state(now->at(now->count("reset") ? "reset" : "after"));
    if (now->count("pushed"))
      for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, now->at("pushed")[static_cast<size_t>(k)]);
    MujocoRobot::forward();
    contacts_ = &now->at("contacts");
  }
  void set_qpos(int, double) {}
  void set_qvel(int k, double x) { requested_qvel[k] = x; }
  // Contact sensors return the recorded contacts. They are the model's last sensors, each with 4 numbers: whether there
  // is a contact, and its force.
  double sensor(SensorId id, int k) const {
    const int first = 9, which = (id.index - first) / 4;
    if (id.index < first) return MujocoRobot::sensor(id, k);
    return (*contacts_)[static_cast<size_t>(k == 0 ? which : contact_sensors + 3 * which + k - 1)];
  }

 private:
  void set_state(const NumberRow& state) {
    for (int k = 0; k < nq(); ++k) MujocoRobot::set_qpos(k, state[static_cast<size_t>(k)]);
    for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, state[static_cast<size_t>(nq() + k)]);
  }
  const NumberRow* contacts_ = nullptr;
};

void expect_near(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, 1e-4 * (1 + std::abs(theirs))) << what;
}

// Replays a recording of a task. Task's class Replayed derives from this and defines begin(start), step(now, when) and
// observe(now, when), in which `when` is for messages.
template <class Task, class Replayed>
class Comparison : public TaskOn<Task, RecordedRobot> {
 public:
  explicit Comparison(const Recording& recording)
      : TaskOn<Task, RecordedRobot>(find_model(Task::model, nullptr), model_on(recording.ground)), all_(recording) {
    this->params.noise = this->params.push = 0;
  }
  void run() {
    ASSERT_LE(all_.terms.size(), std::size(Task::reward_terms));  // drl's own terms follow
    for (size_t k = 0; k < all_.terms.size(); ++k) EXPECT_EQ(all_.terms[k], Task::reward_terms[k].name);
    auto& replayed = static_cast<Replayed&>(*this);
    for (size_t e = 0; e < all_.episodes.size(); ++e)
      for (size_t t = 0; t < all_.episodes[e].size(); ++t) {
        const Moment& now = all_.episodes[e][t];
        const std::string when = "episode " + std::to_string(e) + ", step " + std::to_string(t);
        t == 0 ? replayed.begin(now) : replayed.step(now, when);
        replayed.observe(now, when);
      }
    // The recording must contain enough events for the comparison to mean something.
    for (size_t k = 0; k < all_.terms.size(); ++k) EXPECT_GT(largest_[k], 0) << all_.terms[k];
  }

 protected:
  // Starts an episode.
  void reset_to(const Moment& start) {
    this->robot.now = &start;
    this->robot.contact_sensors = static_cast<int>(start.at("contacts").size() / 4);
    this->state = {};
    robot::create<Task>(this->state, this->robot, this->draws, this->parts, this->params);
    std::copy_n(start.at("bias").begin(), Task::joints, this->state.encoder_bias);
    std::copy_n(start.at("com").begin(), 3, this->state.com_shift);
    Task::apply(this->state, this->robot, this->parts, this->params);
    Task::reset(this->state, this->robot, this->draws, this->parts, this->params);
  }
  // Compares rewards, except for those that `skips` names, and targets of the motors.
  template <class Result, class Skips>
  void expect_rewards(const Result& result, const Moment& now, const std::string& when, const Skips& skips) {
    for (size_t k = 0; k < all_.terms.size(); ++k) {
      if (!skips(all_.terms[k])) expect_near(result.terms[k], now.at("rewards")[k], all_.terms[k] + ", " + when);
      largest_[k] = std::max(largest_[k], now.at("rewards")[k]);
    }
    for (size_t k = 0; k < Task::joints; ++k)
      expect_near(this->robot.targets[k], now.at("targets")[k], "target " + std::to_string(k) + ", " + when);
  }

  const Recording& all_;

 private:
  static OwnModel model_on(const NumberRow& ground) {
    OwnModel loaded = load_model(find_model(Task::model, nullptr));
    if (ground.empty()) return loaded;
    EXPECT_EQ(static_cast<size_t>(loaded->nhfielddata) + 4, ground.size());
    std::copy_n(ground.begin(), 4, loaded->hfield_size);
    std::copy(ground.begin() + 4, ground.end(), loaded->hfield_data);
    return loaded;
  }

  std::map<size_t, double> largest_;
};

}  // namespace
}  // namespace drl
