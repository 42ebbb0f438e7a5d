// Compares the built-in tasks with trajectories recorded in Gymnasium (gymnasium_record.py, tests/tasks/data).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "../support/paths.hpp"
#include "tasks/builtin_tasks.hpp"

namespace drl {
namespace {

struct Row {
  double action = 0, reward = 0;
  std::vector<double> state, obs;  // after the step
  bool terminated = false, truncated = false;
};
using Episode = std::vector<Row>;  // [0] is the reset

std::vector<double> read_numbers(std::istream& line, size_t count) {
  std::vector<double> numbers(count);
  for (double& x : numbers) line >> x;
  return numbers;
}

// Calls visit(f, name, number) for each number of a state.
template <class State, class Visit>
void each_field(State& state, const Visit& visit) {
  size_t f = 0;
  auto member = [&](const char* name, auto& x) { visit(f++, name, x); };
  state.describe(member);
}
template <class Task>
size_t field_count() {
  typename Task::State state;
  size_t count = 0;
  each_field(state, [&](size_t, const char*, auto&) { ++count; });
  return count;
}

template <class Task>
std::vector<Episode> recorded() {
  std::ifstream file(test_data("tasks/data/") + Task::name + ".txt");
  std::vector<Episode> episodes;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("#")) continue;
    std::istringstream line(text);
    std::string kind;
    Row row;
    line >> kind;
    if (kind == "reset") episodes.emplace_back();
    if (kind == "step") line >> row.action;
    row.state = read_numbers(line, field_count<Task>());
    row.obs = read_numbers(line, Task::obs_dim);
    for (double& o : row.obs) o = static_cast<float>(o);  // the file has the shortest digits of a float32
    if (kind == "step") line >> row.reward >> row.terminated >> row.truncated;
    EXPECT_FALSE(line.fail()) << text;
    episodes.back().push_back(row);
  }
  EXPECT_GE(episodes.size(), 3u);
  return episodes;
}

template <class Task, class F>
typename Task::State state_of(const Row& row) {
  typename Task::State state;
  each_field(state, [&](size_t f, const char*, F& x) { x = static_cast<F>(row.state[f]); });
  return state;
}

// Expects |ours - theirs| <= tolerance (1 + |theirs|).
void expect_close(double ours, double theirs, double tolerance, const std::string& what) {
  EXPECT_LE(std::abs(ours - theirs), tolerance * (1 + std::abs(theirs))) << what << ": " << ours << " for " << theirs;
}

template <class Task, class F>
void expect_obs(const typename Task::State& state, const Row& row, double tolerance, const std::string& what) {
  F obs[Task::obs_dim];
  if constexpr (requires { Task::observe(state, typename Task::Params{}, obs); }) {
    Task::observe(state, typename Task::Params{}, obs);
  } else {
    Task::observe(state, obs);
  }
  for (int k = 0; k < Task::obs_dim; ++k) {
    expect_close(obs[k], row.obs[k], tolerance, what + " observation " + std::to_string(k));
  }
}

// Runs from the first state with the recorded actions, and restarts from the recorded state after every `steps` steps.
template <class Task, class F>
void follow_recording(size_t steps, double reward_tolerance) {
  for (const Episode& episode : recorded<Task>()) {
    typename Task::State state = state_of<Task, F>(episode[0]);
    for (size_t t = 1; t < episode.size(); ++t) {
      const F action = static_cast<F>(episode[t].action);
      const auto result = Task::step(state, &action, typename Task::Params{});
      const std::string what = std::string(Task::name) + " step " + std::to_string(t);
      each_field(state, [&](size_t f, const char* name, const F& x) {
        EXPECT_NEAR(x, episode[t].state[f], 1e-9) << what << " " << name;
      });
      expect_obs<Task, F>(state, episode[t], 6e-8, what);  // recorded as float32
      expect_close(result.reward, episode[t].reward, reward_tolerance, what + " reward");
      EXPECT_EQ(result.terminated, episode[t].terminated) << what;
      EXPECT_EQ(!episode[t].terminated && t == size_t{Task::step_limit}, episode[t].truncated) << what;
      if (testing::Test::HasFailure()) return;
      if (t % steps == 0) state = state_of<Task, F>(episode[t]);
    }
  }
}

// Takes one float step from each recorded state. `margin` returns how far the state after the step is from the
// threshold at which the episode ends.
template <template <class> class TaskTemplate>
void step_from_each_state(double tolerance, const std::function<double(const std::vector<double>&)>& margin) {
  using Task = TaskTemplate<float>;
  for (const Episode& episode : recorded<Task>()) {
    for (size_t t = 1; t < episode.size(); ++t) {
      typename Task::State state = state_of<Task, float>(episode[t - 1]);
      const float action = static_cast<float>(episode[t].action);
      const auto result = Task::step(state, &action, typename Task::Params{});
      const std::string what = std::string(Task::name) + " step " + std::to_string(t);
      expect_obs<Task, float>(state, episode[t], tolerance, what);
      if (margin(episode[t].state) <= 1e-6) continue;
      EXPECT_EQ(result.terminated, episode[t].terminated) << what;
      expect_close(result.reward, episode[t].reward, tolerance, what + " reward");
    }
  }
}

constexpr size_t kWholeEpisode = 1000;
double never_ends(const std::vector<double>&) { return std::numeric_limits<double>::infinity(); }

// The falling pole multiplies an error by e every 0.25 s (g / (l (4/3 - m/M)) = 15.8/s^2): by 3000 after 100 steps,
// and by 1e17 after 500 steps. The balanced episode therefore restarts from the recorded state every 100 steps. The
// other episodes have at most 39 steps.
TEST(Gymnasium, CartPoleFollowsTheRecordingInDouble) { follow_recording<CartPoleV1<double>, double>(100, 1e-9); }
TEST(Gymnasium, PendulumFollowsTheRecordingInDouble) {
  follow_recording<PendulumV1<double>, double>(kWholeEpisode, 1e-9);
}
TEST(Gymnasium, AcrobotFollowsTheRecordingInDoubleFor20Steps) { follow_recording<AcrobotV1<double>, double>(20, 1e-9); }
TEST(Gymnasium, MountainCarFollowsTheRecordingInDouble) {
  follow_recording<MountainCarV0<double>, double>(kWholeEpisode, 1e-9);
}
// Gymnasium stores this state as float32, and rewards of up to 100 are float32 here.
TEST(Gymnasium, MountainCarContinuousFollowsTheRecordingInFloat) {
  follow_recording<MountainCarContinuousV0<float>, float>(kWholeEpisode, 6e-8);
}

TEST(Gymnasium, CartPoleStepsEqualTheRecordingInFloat) {
  step_from_each_state<CartPoleV1>(1e-5, [](const std::vector<double>& s) {
    return std::min(std::abs(2.4 - std::abs(s[0])), std::abs(12 * M_PI / 180 - std::abs(s[2])));
  });
}
TEST(Gymnasium, PendulumStepsEqualTheRecordingInFloat) { step_from_each_state<PendulumV1>(1e-5, never_ends); }
TEST(Gymnasium, AcrobotStepsEqualTheRecordingInFloat) {
  step_from_each_state<AcrobotV1>(
      2e-4, [](const std::vector<double>& s) { return std::abs(-std::cos(s[0]) - std::cos(s[0] + s[1]) - 1); });
}
TEST(Gymnasium, MountainCarStepsEqualTheRecordingInFloat) {
  step_from_each_state<MountainCarV0>(1e-5, [](const std::vector<double>& s) { return std::abs(s[0] - 0.5); });
}
TEST(Gymnasium, MountainCarContinuousStepsEqualTheRecordingInFloat) {
  step_from_each_state<MountainCarContinuousV0>(1e-5,
                                                [](const std::vector<double>& s) { return std::abs(s[0] - 0.45); });
}

}  // namespace
}  // namespace drl
