// Runs Gymnasium's robot tasks for resets_test.py and robot_options_test.py. Numbers are read and written as binary
// doubles.
//   robot_tasks MODELS resets TASK COUNT            writes qpos and qvel of COUNT initial states
//   robot_tasks MODELS options TASK                 prints the task's options and their defaults
//   robot_tasks MODELS play TASK [OPTION=VALUE...]  reads qpos and qvel of an initial state, then an action per step;
//                                                   writes the observation, the reward and whether the episode ended
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
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

namespace {

using Words = std::vector<std::string>;

void write(const std::vector<double>& numbers) { std::fwrite(numbers.data(), sizeof(double), numbers.size(), stdout); }
bool read(std::vector<double>& numbers) {
  return std::fread(numbers.data(), sizeof(double), numbers.size(), stdin) == numbers.size();
}

// A robot whose forward() sets the state `start`, if there is one, whatever the task draws.
struct StartedRobot : drl::MujocoRobot {
  using MujocoRobot::MujocoRobot;
  std::vector<double> start;  // [nq + nv] or empty
  void forward() {
    for (size_t k = 0; k < start.size(); ++k) {
      const int i = static_cast<int>(k);
      i < nq() ? set_qpos(i, start[k]) : set_qvel(i - nq(), start[k]);
    }
    MujocoRobot::forward();
  }
  std::vector<double> now() const {
    std::vector<double> numbers;
    for (int k = 0; k < nq(); ++k) numbers.push_back(qpos(k));
    for (int k = 0; k < nv(); ++k) numbers.push_back(qvel(k));
    return numbers;
  }
};

struct PrintOption {
  template <class T, class... Attributes>
  void operator()(const char* name, T& value, Attributes&&...) const {
    std::printf("%s %.17g\n", name, static_cast<double>(value));
  }
};
struct SetOption {
  std::string wanted;
  double value;
  template <class T, class... Attributes>
  void operator()(const char* name, T& option, Attributes&&...) const {
    if (name == wanted) option = static_cast<T>(value);
  }
};

// Executes the commands for one task.
template <class Task>
class Commands {
 public:
  // `settings` are words OPTION=VALUE.
  Commands(const std::string& models, const Words& settings)
      : file_(text_of(settings, "xml_file", models + "/" + Task::model.file)),
        model_(drl::load_model(file_)),
        robot_(*model_, std::stoi(text_of(settings, "frame_skip", std::to_string(Task::model.frame_skip)))) {
    for (const std::string& setting : settings) {
      const size_t name = setting.find('=');
      SetOption set{setting.substr(0, name), std::strtod(setting.c_str() + name + 1, nullptr)};
      params_.describe(set);
    }
    drl::PartFinder find(*model_, file_);
    parts_.find(find);
  }

  void resets(uint64_t count) {
    for (uint64_t env = 0; env < count; ++env) {
      reset(env);
      write(robot_.now());
    }
  }
  void options() {
    PrintOption print;
    params_.describe(print);
    std::printf("frame_skip %d\nxml_file %s\n", Task::model.frame_skip, Task::model.file);
  }
  void play() {
    robot_.start = robot_.now();
    std::vector<double> action(static_cast<size_t>(robot_.nu()));
    if (!read(robot_.start)) return;
    reset(0);
    while (read(action)) step(action);
  }

 private:
  static std::string text_of(const Words& settings, const std::string& option, const std::string& otherwise) {
    for (const std::string& setting : settings)
      if (setting.starts_with(option + "=")) return setting.substr(option.size() + 1);
    return otherwise;
  }
  void reset(uint64_t env) {
    drl::Draws<double> draws(/*seed=*/5, env, /*step=*/0);
    robot_.reset();
    drl::robot::reset<Task>(state_, robot_, draws, parts_, params_);
  }
  void step(const std::vector<double>& action) {
    drl::Draws<double> draws(0, 0, 0);
    const auto result = drl::robot::step<Task>(state_, robot_, action.data(), draws, parts_, params_);
    int dim = Task::obs_dim;
    if constexpr (drl::kObsDimVaries<Task>) dim = Task::obs_dim_with(params_);
    std::vector<double> row(static_cast<size_t>(dim));
    drl::robot::observe<Task>(state_, robot_, draws, parts_, params_, row.data());
    row.push_back(result.reward);
    row.push_back(result.terminated);
    write(row);
  }

  std::string file_;
  std::unique_ptr<mjModel, drl::DeleteModel> model_;
  StartedRobot robot_;
  drl::robot::State<Task> state_{};
  drl::robot::Parts<Task> parts_{};
  drl::robot::Params<Task> params_{};
};

// Executes the command if it is for this task. Returns whether it was.
template <template <class> class Definition>
bool run_if_named(const Words& words) {
  using Task = Definition<StartedRobot>;
  if (words[2] != Task::name) return false;
  Commands<Task> commands(words[0], {words.begin() + 3, words.end()});
  if (words[1] == "resets") commands.resets(std::strtoull(words[3].c_str(), nullptr, 10));
  if (words[1] == "options") commands.options();
  if (words[1] == "play") commands.play();
  return true;
}

}  // namespace

int main(int count, char** words) {
  const Words all(words + 1, words + count);
  using namespace drl;
  const bool known = run_if_named<InvertedPendulum>(all) || run_if_named<InvertedDoublePendulum>(all) ||
                     run_if_named<Reacher>(all) || run_if_named<Swimmer>(all) || run_if_named<Hopper>(all) ||
                     run_if_named<Walker2d>(all) || run_if_named<HalfCheetah>(all) || run_if_named<Ant>(all) ||
                     run_if_named<Humanoid>(all) || run_if_named<HumanoidStandup>(all) || run_if_named<Pusher>(all);
  return known ? 0 : 1;
}
