// Environment steps per second with random actions.
#include <cstdio>
#include <string>
#include <vector>

#include "drl/philox.hpp"
#include "bench.hpp"
#include "cluster/machine.hpp"
#include "envs/make_env.hpp"
#ifdef DRL_CUDA
#include "envs/gpu_vec_env.hpp"
#endif

namespace drl {
namespace {

constexpr const char* kHelp =
    "env_bench: environment steps per second with random actions, of one task or of all.\n"
    "On a CPU: one core, rows of a rollout written in turn, actions made in advance.\n"
    "On a GPU: the same, a kernel a step as drl_train does it; and many steps in one kernel, which draws the actions\n"
    "and keeps the environments in registers.\n";

constexpr int64_t kRows = 32;       // of a rollout
constexpr int64_t kCpuEnvs = 4096;  // stay in a core's cache
constexpr int64_t kGpuEnvs = 65536;

struct EnvBenchOptions {
  std::string device = "auto", task;
  int num_envs = 0;
  double seconds = 1;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("device", device, "auto (a GPU if there is one), cpu, cuda, or cuda:N");
    v("task", task, "this one only");
    v("num_envs", num_envs, "environments, 0 = 4096 on a CPU, 65536 on a GPU", between(0, 1 << 24));
    v("seconds", seconds, "of each measurement", unit("s"), above(0));
    v("help", help, "this text", letter('h'));
  }
};

// A rollout's rows, [kRows, N, ...], in host or device memory.
template <class Floats, class Bytes>
struct Rows {
  template <class... Stream>
  Rows(const TaskSpec& spec, int64_t num_envs, const Stream&... stream)
      : n(num_envs),
        obs_dim(spec.obs_dim),
        obs(kRows * n * obs_dim, stream...),
        final_obs(kRows * n * obs_dim, stream...),
        reward(kRows * n, stream...),
        terminated(kRows * n, stream...),
        truncated(kRows * n, stream...) {}

  StepRow at(int64_t t, const void* action) {
    return {action,
            obs.data() + t * n * obs_dim,
            nullptr,
            reward.data() + t * n,
            terminated.data() + t * n,
            truncated.data() + t * n,
            final_obs.data() + t * n * obs_dim,
            nullptr};
  }

  int64_t n, obs_dim;
  Floats obs, final_obs, reward;
  Bytes terminated, truncated;
};

float random01(int64_t index) {
  return uniform01(random_bits(1, Purpose::benchmark, static_cast<uint64_t>(index), 0)[0]);
}

// Random actions for all rows, as an environment takes them.
struct Actions {
  Actions(const ActionSpace& space, int64_t n)
      : width(space.discrete ? n : n * space.size),
        numbers(space.discrete ? kRows * width : 0),
        values(space.discrete ? 0 : kRows * width) {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(random01(i) * space.size);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t k = i % space.size;
      values[i] = space.low[k] + (space.high[k] - space.low[k]) * random01(i);
    }
  }
  const void* at(int64_t t) const {
    return numbers.empty() ? static_cast<const void*>(&values[t * width]) : &numbers[t * width];
  }
  int64_t width;
  std::vector<int32_t> numbers;
  std::vector<float> values;
};

// Steps per second over about so many seconds, after one round to warm up. round() does this many steps.
template <class Round>
double steps_per_second(double seconds, double steps, const Round& round) {
  round();
  const double start = now();
  double elapsed = 0;
  int64_t rounds = 0;
  for (; elapsed < seconds; elapsed = now() - start, ++rounds) round();
  return static_cast<double>(rounds) * steps / elapsed;
}

double core_rate(const std::string& task, int64_t n, double seconds) {
  const auto env = make_env(task, {.num_envs = n, .seed = 1});
  const Actions actions(env->spec().action, n);
  Rows<std::vector<float>, std::vector<uint8_t>> rows(env->spec(), n);
  env->reset(rows.at(0, nullptr));
  int64_t step = 0;
  return steps_per_second(seconds, static_cast<double>(kRows * n), [&] {
    for (int64_t t = 0; t < kRows; ++t) env->step(step++, rows.at(t, actions.at(t)));
  });
}

#ifdef DRL_CUDA

double register_rate(const std::string& task, int64_t n, double seconds) {
  constexpr int64_t steps = 1000;
  gpu::Stream stream;
  const auto env = make_gpu_env(task, {.num_envs = n, .seed = 1}, stream);
  Rows<gpu::Array<float>, gpu::Array<uint8_t>> rows(env->spec(), n, stream);
  gpu::Array<float> checksum(n, stream);
  env->reset(rows.at(0, nullptr), stream);
  int64_t step = 0;
  return steps_per_second(seconds, static_cast<double>(steps * n), [&] {
    env->step_randomly(step, steps, checksum.data(), stream);
    step += steps;
    gpu::synchronize(stream);
  });
}

// As drl_train collects: all rows in one graph. Replayed, it draws the same numbers for new episodes.
double rollout_rate(const std::string& task, int64_t n, double seconds) {
  constexpr int replays = 20;  // so that waiting for them takes little of the time
  gpu::Stream stream;
  const auto env = make_gpu_env(task, {.num_envs = n, .seed = 1}, stream);
  const Actions actions(env->spec().action, n);
  gpu::Array<int32_t> numbers(actions.numbers.size(), stream);
  gpu::Array<float> values(actions.values.size(), stream);
  gpu::copy_to_device(stream, numbers.data(), actions.numbers.data(), numbers.size());
  gpu::copy_to_device(stream, values.data(), actions.values.data(), values.size());
  Rows<gpu::Array<float>, gpu::Array<uint8_t>> rows(env->spec(), n, stream);
  gpu::Array<int64_t> first_step(1, stream);
  env->reset(rows.at(0, nullptr), stream);
  const auto step = [&](int64_t t) {
    const void* action = numbers.empty() ? static_cast<const void*>(values.data() + t * actions.width)
                                         : numbers.data() + t * actions.width;
    env->step(first_step.data(), t, rows.at(t, action), stream);
  };
  step(0);  // loads the kernel
  gpu::Graph graph;
  graph.capture(stream, [&] {
    for (int64_t t = 0; t < kRows; ++t) step(t);
  });
  return steps_per_second(seconds, static_cast<double>(replays * kRows * n), [&] {
    for (int k = 0; k < replays; ++k) graph.launch(stream);
    gpu::synchronize(stream);
  });
}

void measure_gpu(const std::vector<std::string>& tasks, int64_t n, double seconds, const std::string& name) {
  std::printf("M steps/s of %s with %lld environments: in registers, into a rollout; and of one core of %s with %lld\n",
              name.c_str(), static_cast<long long>(n), this_machine().cpu_model.c_str(),
              static_cast<long long>(kCpuEnvs));
  std::printf("%-26s %12s %12s %12s %14s\n", "", "registers", "rollout", "core", "rollout / core");
  for (const std::string& task : tasks) {
    const double registers = register_rate(task, n, seconds), rollout = rollout_rate(task, n, seconds),
                 core = core_rate(task, kCpuEnvs, seconds);
    std::printf("%-26s %12.1f %12.1f %12.1f %14.1f\n", task.c_str(), registers / 1e6, rollout / 1e6, core / 1e6,
                rollout / core);
  }
}

#endif

void measure_core(const std::vector<std::string>& tasks, int64_t n, double seconds) {
  std::printf("one core of %s, %lld environments\n", this_machine().cpu_model.c_str(), static_cast<long long>(n));
  for (const std::string& task : tasks)
    std::printf("%-26s %7.1f M steps/s\n", task.c_str(), core_rate(task, n, seconds) / 1e6);
}

void run(const EnvBenchOptions& options) {
  const std::vector<std::string> tasks = options.task.empty() ? task_names() : std::vector{options.task};
  for (const std::string& task : tasks) (void)task_spec(task);  // throws for an unknown one
  const int64_t n = options.num_envs;
  [[maybe_unused]] const int gpu = chosen_gpu(options.device);
#ifdef DRL_CUDA
  if (gpu >= 0) return measure_gpu(tasks, n ? n : kGpuEnvs, options.seconds, gpu_name(gpu));
#endif
  measure_core(tasks, n ? n : kCpuEnvs, options.seconds);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::EnvBenchOptions{}, drl::run); }
