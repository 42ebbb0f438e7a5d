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

#include "drl/physics/mujoco.hpp"

namespace drl {
namespace {

using Numbers = std::vector<double>;
// The lines of an episode's start or of a step, by their first word (mjlab_record.py).
using Record = std::map<std::string, Numbers>;
struct Moment : Record {
  std::vector<Numbers> substeps;
};
struct Recording {
  std::vector<std::string> terms;
  Numbers ground;                             // of rough ground: hfield_size [4] and heights
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
    Numbers numbers;
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
  Numbers targets;

  template <class Watch>
  void advance(const double* controls, const Watch& after_each) {
    targets.assign(controls, controls + nu());
    for (const Numbers& substep : now->substeps) {
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
  void set_state(const Numbers& state) {
    for (int k = 0; k < nq(); ++k) MujocoRobot::set_qpos(k, state[static_cast<size_t>(k)]);
    for (int k = 0; k < nv(); ++k) MujocoRobot::set_qvel(k, state[static_cast<size_t>(nq() + k)]);
  }
  const Numbers* contacts_ = nullptr;
};

void expect_near(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, 1e-4 * (1 + std::abs(theirs))) << what;
}

}  // namespace
}  // namespace drl
