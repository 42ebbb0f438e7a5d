// Compares stepping a robot's environments with a bare loop of the same libmujoco calls.
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "drl/canvas.hpp"
#include "envs/task_params.hpp"
#include "placement/topology.hpp"
#include "stepping.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "robot_bench measures steps per second of a robot on one core with random actions, on libmujoco and, if its model\n"
    "was compiled, in lanes. It compares them with a bare loop of the same MuJoCo calls with the same states and\n"
    "controls, one environment after the other. Measurements alternate and use the thread's processor time.\n";

constexpr int64_t kRows = Stepping::kRows;
constexpr int64_t kLanesEnvs = 1024;  // environments in lanes

struct RobotBenchOptions {
  std::string task = "HalfCheetah-v5";
  int num_envs = 64, rounds = 20;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("task", task, "a robot's task");
    v("num_envs", num_envs, "number of environments on libmujoco", between(1, 1 << 20));
    v("rounds", rounds, "rounds of 32 steps of each environment, for each measurement", between(1, 1 << 20));
    v("help", help, "print this text", letter('h'));
  }
};

template <class Work>
double time_of(const Work& work) {
  const double start = thread_time();
  work();
  return thread_time() - start;
}

// Reads MuJoCo's states of all environments, [num_envs, size of mjSTATE_INTEGRATION].
struct Physics final : StateVisitor {
  explicit Physics(VecEnv& envs) { envs.visit_state(*this); }
  void field(const StateField& field) override {
    if (field.name != "env/state/physics") return;
    const std::vector<std::byte> bytes = field.read();
    numbers.resize(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  std::vector<double> numbers;
};

// Returns the model file that a video would show.
std::string model_file(VecEnv& envs) {
  std::string file;
  CanvasCalls calls{
      &file, [](void*, Point, float) {}, [](void*, const Shape*) {},
      [](void* context, const char* name, const double*, int64_t) { *static_cast<std::string*>(context) = name; },
      [](void*, const char*, const char*) {}};
  envs.draw(0, calls);
  return file;
}

// Returns the task's options, changed so that no episode ends early, because the bare loop never resets a robot.
EnvSetup params_of(const TaskRecord& record, const char* physics) {
  TaskParams params(record);
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.physics", physics);
  for (int k = 0; k < record.param_count; ++k)
    if (record.params[k].name == std::string("terminate_when_unhealthy"))
      table.set("env.terminate_when_unhealthy", "false");
  return params.setup();
}

void run(const RobotBenchOptions& options) {
  const TaskRecord& record = task_record(options.task);
  if (!record.robot) throw UsageError(options.task + " is not a robot's task: choose one from drl_train --list_tasks");
  const int64_t n = options.num_envs, size = record.action_size;
  const std::unique_ptr<Queue> queue = make_queue(-1);
  const auto envs = [&](const char* physics, int64_t count) {
    return std::make_unique<Stepping>(*queue, record.name,
                                      EnvConfig{.num_envs = count, .seed = 1, .setup = params_of(record, physics)});
  };
  const std::unique_ptr<Stepping> ours = envs("mujoco", n);
  TaskParams params(record);
  params.choose_physics();
  const std::unique_ptr<Stepping> lanes = params.physics() == "lanes" ? envs("lanes", kLanesEnvs) : nullptr;
  mjModel* model = mj_loadXML(model_file(ours->envs()).c_str(), nullptr, nullptr, 0);
  mjData* data = mj_makeData(model);
  const int frame_skip = static_cast<int>(std::lround(record.dt / model->opt.timestep));
  const auto bare = [&](const Physics& start) {
    for (int64_t i = 0; i < n; ++i) {
      const auto state_size = static_cast<int64_t>(start.numbers.size()) / n;
      mj_setState(model, data, start.numbers.data() + i * state_size, mjSTATE_INTEGRATION);
      for (int64_t t = 0; t < kRows; ++t) {
        for (int64_t a = 0; a < size; ++a) data->ctrl[a] = static_cast<double>(ours->actions()[(t * n + i) * size + a]);
        for (int k = 0; k < frame_skip; ++k) mj_step(model, data);
      }
    }
  };
  std::vector<double> our_times, bare_times, lanes_times, ratios, lanes_ratios;
  for (int k = 0; k < options.rounds; ++k) {
    const Physics start(ours->envs());
    our_times.push_back(time_of([&] { ours->round(); }) / static_cast<double>(n * kRows));
    bare_times.push_back(time_of([&] { bare(start); }) / static_cast<double>(n * kRows));
    ratios.push_back(our_times.back() / bare_times.back());
    if (!lanes) continue;
    lanes_times.push_back(time_of([&] { lanes->round(); }) / static_cast<double>(kLanesEnvs * kRows));
    lanes_ratios.push_back(our_times.back() / lanes_times.back());
  }
  std::printf("%s, one core of %s, %lld environments: %.0f steps/s; bare loop %.0f steps/s; %+.1f %% time\n",
              options.task.c_str(), this_machine().cpu_model.c_str(), static_cast<long long>(n), 1 / median(our_times),
              1 / median(bare_times), 100 * (median(ratios) - 1));
  if (lanes)
    std::printf("in lanes, %lld environments: %.0f steps/s, %.1f times as fast\n", static_cast<long long>(kLanesEnvs),
                1 / median(lanes_times), median(lanes_ratios));
  mj_deleteData(data);
  mj_deleteModel(model);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::RobotBenchOptions{}, drl::run); }
