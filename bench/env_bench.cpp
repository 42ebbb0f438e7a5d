// Measures environment steps per second with random actions.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench.hpp"
#include "placement/topology.hpp"
#include "stepping.hpp"
#ifdef DRL_GPU_SUPPORT
#include "gpu/device.hpp"
#endif

namespace drl {
namespace {

constexpr const char* kHelp =
    "env_bench measures environment steps per second with random actions, for one task or all tasks.\n"
    "On a CPU it uses one core. On a GPU it launches one kernel per step, as drl_train does, and also prints the "
    "memory\n"
    "that all programs and the tasks so far have allocated there. Steps are written to a rollout; actions are "
    "generated\n"
    "in advance.\n";

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

// Returns steps per second. The first round is not counted, and the second decides how many rounds take about `seconds`
// seconds.
double rollout_rate(Queue& queue, const std::string& task, int64_t n, double seconds) {
  Stepping stepping(queue, task, {.num_envs = n, .seed = 1});
  const auto time_of = [&](int64_t rounds) {
    const double start = steady_seconds();
    for (int64_t k = 0; k < rounds; ++k) stepping.round();
    queue.synchronize();
    return steady_seconds() - start;
  };
  time_of(1);
  const auto rounds = static_cast<int64_t>(std::ceil(seconds / time_of(1)));
  return static_cast<double>(rounds * Stepping::kRows * n) / time_of(rounds);
}

// Returns the bytes that all programs have allocated on the current GPU.
double used_gpu_memory() {
  size_t free = 0, total = 0;
#ifdef DRL_GPU_SUPPORT
  DRL_GPU(gpuMemGetInfo(&free, &total));
#endif
  return static_cast<double>(total - free);
}

void measure_gpu(const std::vector<std::string>& tasks, int64_t n, double seconds, int gpu, bool core_too) {
  const std::unique_ptr<Queue> queue = make_queue(gpu), host = make_queue(-1);
  std::printf("M steps/s on %s with %lld environments, and on one core of %s with %lld environments\n",
              gpu_name(gpu).c_str(), static_cast<long long>(n), this_machine().cpu_model.c_str(),
              static_cast<long long>(kCpuEnvs));
  std::printf("%-26s %12s %12s %12s %14s\n", "", "GPU", "used GB", "core", "GPU / core");
  for (const std::string& task : tasks) {
    const double rollout = rollout_rate(*queue, task, n, seconds);
    std::printf("%-26s %12.3f %12.2f", task.c_str(), rollout / 1e6, used_gpu_memory() / 1e9);
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
