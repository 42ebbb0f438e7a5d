// Measures environment steps per second with random actions.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "algorithms/rollout.hpp"
#include "bench.hpp"
#include "drl/lanes/philox.hpp"
#include "envs/make_env.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "env_bench measures environment steps per second with random actions, for one task or all tasks.\n"
    "On a CPU it uses one core. On a GPU it launches one kernel per step, as drl_train does. Steps are written to a\n"
    "rollout; actions are generated in advance.\n";

constexpr int64_t kRows = 32;       // steps of a rollout
constexpr int64_t kCpuEnvs = 4096;  // few enough to stay in a core's cache
constexpr int64_t kGpuEnvs = 65536;

struct EnvBenchOptions {
  std::string device = "auto", task;
  int num_envs = 0;
  double seconds = 1;
  bool core = true, help = false;

  void describe(OptionVisitor& v) {
    v("device", device, "auto (a GPU if there is one), cpu, cuda, or cuda:N");
    v("task", task, "task to measure; empty = all tasks");
    v("num_envs", num_envs, "number of environments, 0 = 4096 on a CPU, 65536 on a GPU", between(0, 1 << 24));
    v("seconds", seconds, "duration of each measurement", unit("s"), above(0));
    v("core", core, "on a GPU, also measure one core");
    v("help", help, "print this text", letter('h'));
  }
};

float random01(int64_t index) {
  return uniform01(random_bits(1, Purpose::benchmark, static_cast<uint64_t>(index), 0)[0]);
}

// Steps environments through a rollout with random actions that were generated in advance.
class Stepping {
 public:
  Stepping(Queue& queue, const std::string& task, int64_t n)
      : queue_(queue),
        envs_(make_env(task, {.num_envs = n, .seed = 1}, queue)),
        rollout_(queue, envs_->spec(), kRows, n),
        first_step_(queue, 1) {
    const ActionSpace& space = envs_->spec().action;
    const size_t size = space.discrete ? 1 : static_cast<size_t>(space.size), count = kRows * n * size;
    Array<int32_t> choices(space.discrete ? count : 0);
    Array<float> values(space.discrete ? 0 : count);
    for (size_t i = 0; i < choices.size(); ++i)
      choices[i] = static_cast<int32_t>(random01(i) * static_cast<float>(space.size));
    for (size_t i = 0; i < values.size(); ++i) {  // an action without bounds is in [-1, 1]
      const float low = std::isfinite(space.low[i % size]) ? space.low[i % size] : -1,
                  high = std::isfinite(space.high[i % size]) ? space.high[i % size] : 1;
      values[i] = low + (high - low) * random01(i);
    }
    width_ = n * static_cast<int64_t>(size);
    actions_ = Array<float>(queue, count);  // floats, or int32 of the same size
    queue.copy_bytes(actions_.data(), choices.empty() ? static_cast<void*>(values.data()) : choices.data(),
                     count * sizeof(float));
    envs_->reset(queue, rollout_.start_row(), {});
    enqueue();  // loads the kernel before recording
    queue.synchronize();
    recording_ = queue.record([this] { enqueue(); });
  }

  // Enqueues all steps of a rollout. Each round continues the episodes and uses the same random numbers again.
  void round() { recording_ ? queue_.launch(*recording_) : enqueue(); }

 private:
  void enqueue() {
    rollout_.begin();
    for (int64_t t = 0; t < kRows; ++t) {
      StepRow row = rollout_.row(t);
      row.action = actions_.data() + t * width_;
      envs_->step(queue_, {first_step_.data(), t}, 0, envs_->num_envs(), row);
    }
  }

  Queue& queue_;
  std::unique_ptr<VecEnv> envs_;
  Rollout rollout_;
  Array<int64_t> first_step_;
  Array<float> actions_;  // [kRows, width_]
  int64_t width_ = 0;
  std::unique_ptr<RecordedWork> recording_;
};

// Returns steps per second of stepping as drl_train collects rollouts: on a GPU, a recorded graph contains all steps.
// The first round is not counted, and the second decides how many rounds take about `seconds` seconds.
double rollout_rate(Queue& queue, const std::string& task, int64_t n, double seconds) {
  Stepping stepping(queue, task, n);
  const auto time_of = [&](int64_t rounds) {
    const double start = now();
    for (int64_t k = 0; k < rounds; ++k) stepping.round();
    queue.synchronize();
    return now() - start;
  };
  time_of(1);
  const auto rounds = static_cast<int64_t>(std::ceil(seconds / time_of(1)));
  return static_cast<double>(rounds * kRows * n) / time_of(rounds);
}

void measure_gpu(const std::vector<std::string>& tasks, int64_t n, double seconds, int gpu, bool core_too) {
  const std::unique_ptr<Queue> queue = make_queue(gpu), host = make_queue(-1);
  std::printf("M steps/s on %s with %lld environments, and on one core of %s with %lld environments\n",
              gpu_name(gpu).c_str(), static_cast<long long>(n), this_machine().cpu_model.c_str(),
              static_cast<long long>(kCpuEnvs));
  std::printf("%-26s %12s %12s %14s\n", "", "GPU", "core", "GPU / core");
  for (const std::string& task : tasks) {
    const double rollout = rollout_rate(*queue, task, n, seconds);
    std::printf("%-26s %12.3f", task.c_str(), rollout / 1e6);
    if (core_too) {
      const double core = rollout_rate(*host, task, kCpuEnvs, seconds);
      std::printf(" %12.3f %14.1f", core / 1e6, rollout / core);
    }
    std::printf("\n");
  }
}

void measure_core(const std::vector<std::string>& tasks, int64_t n, double seconds) {
  const std::unique_ptr<Queue> queue = make_queue(-1);
  std::printf("one core of %s, %lld environments\n", this_machine().cpu_model.c_str(), static_cast<long long>(n));
  for (const std::string& task : tasks)
    std::printf("%-26s %9.3f M steps/s\n", task.c_str(), rollout_rate(*queue, task, n, seconds) / 1e6);
}

void run(const EnvBenchOptions& options) {
  std::vector<std::string> tasks = options.task.empty() ? task_names() : std::vector{options.task};
  for (const std::string& task : tasks) (void)task_spec(task);  // throws if the task is unknown
  if (options.task.empty())                                     // robot_bench measures simulators
    std::erase_if(tasks, [](const std::string& task) { return task_record(task).simulator != nullptr; });
  const int64_t n = options.num_envs;
  const int gpu = chosen_gpu(options.device);
  if (gpu >= 0) return measure_gpu(tasks, n ? n : kGpuEnvs, options.seconds, gpu, options.core);
  measure_core(tasks, n ? n : kCpuEnvs, options.seconds);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::EnvBenchOptions{}, drl::run); }
