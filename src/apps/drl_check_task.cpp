// drl_check_task: checks a task's contract, and measures its behaviour under random actions.

#include <cstdio>
#include <utility>

#include "apps/program.hpp"
#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "envs/check_task.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "envs/task_params.hpp"
#if defined(DRL_GPU_SUPPORT)
#include "device/gpu_queue.hpp"
#include "placement/cuda_support.hpp"
#endif

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_check_task: checks a task's contract, and measures its behaviour under\n"
    "random actions.\n"
    "\n"
    "  drl_check_task --task_library build/libmy_tasks.so --task MyTask\n"
    "  drl_check_task --task Cartpole --steps 10000\n"
    "\n"
    "The contract: all values are finite; the reward is the sum of its terms; and\n"
    "the same actions give bit-identical trajectories in two runs, on all\n"
    "instruction sets, in one batch and in two, for one environment alone, and on a\n"
    "GPU if there is one. To show the effect of rounding, drl_check_task also\n"
    "computes each step in double precision.\n"
    "Exit codes: 0 the task fulfils the contract, 1 it does not, 2 wrong usage.\n"
    "\n";

struct CheckOptions {
  std::vector<std::string> task_library;
  std::string task;
  int num_envs = 67;
  int steps = 1000;
  double seconds = 0.5;
  int64_t seed = 0;
  bool help = false, version = false;

  void describe(OptionVisitor& v) {
    v("task_library", task_library, "load the tasks of this library (repeatable)", as_path);
    v("task", task, "the task to check");
    v("num_envs", num_envs, "number of environments", between(3, 1 << 20));
    v("steps", steps, "steps per environment", at_least(1));
    v("seconds", seconds, "duration of each speed measurement, 0 = none", unit("s"), at_least(0));
    v("seed", seed, "seed of the environments' random numbers; the actions do not depend on it", at_least(0));
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

#if defined(DRL_GPU_SUPPORT)
// Returns a queue of the first visible GPU, or null if there is none.
std::unique_ptr<Queue> gpu_queue() {
  if (cuda_support().devices == 0) return nullptr;
  use_gpu(0);
  return make_gpu_queue(isa_of("auto"));
}
#else
std::unique_ptr<Queue> gpu_queue() { return nullptr; }
#endif

// Returns why no GPU is compared; "" if one is.
std::string why_gpu_is_skipped(const TaskRecord& record) {
  if (record.simulator) return "its simulator runs on the CPU only";
  if (*record.gpu && gpu_queue()) return "";
  return std::string(*record.gpu ? "no GPU was found" : "the task has no code for GPUs") +
         "; the comparison with one environment alone uses the scalar code, as a GPU does";
}

void print_ranges(const std::vector<ValueRange>& ranges, bool with_ends) {
  for (const ValueRange& range : ranges) {
    std::printf("  %-24s mean %12.5g", range.name.c_str(), range.mean);
    if (with_ends || range.low != range.high) std::printf("   from %12.5g to %12.5g", range.low, range.high);
    std::printf("\n");
  }
}

void print(const TaskFindings& found, const TaskRecord& record, const std::string& no_gpu) {
  print_ranges(found.observations, true);
  std::printf("reward per step, and its terms (over ended episodes)\n");
  print_ranges(found.rewards, false);
  std::printf("%.0f episodes ended: %.0f terminated, %.0f truncated", found.episodes, found.terminated,
              found.episodes - found.terminated);
  if (found.episodes > 0)
    std::printf("; their length was %.0f to %.0f steps, mean %.1f", found.shortest, found.longest, found.mean_length);
  std::printf("\n");
  if (!found.from_double.empty())
    std::printf("difference between a step in float and in double, relative to 1 + |x|\n");
  for (const Difference& difference : found.from_double)
    std::printf("  %-24s max %12.2g   %s\n", difference.what.c_str(), difference.largest, difference.where.c_str());
  if (record.simulator) std::printf("not compared with double: a simulator has only one number type\n");
  for (const std::string& where : found.identical) std::printf("bit-identical %s\n", where.c_str());
  if (!no_gpu.empty()) std::printf("not compared on a GPU: %s\n", no_gpu.c_str());
  for (const Speed& speed : found.speeds)
    std::printf("%-10s %8s steps/s on one core, %2.0f %% of the time in resets\n",
                std::string(name_of(speed.isa)).c_str(), human_count(speed.steps_per_second).c_str(),
                100 * speed.reset_share);
  for (const std::string& hint : found.hints) std::printf("hint:   %s\n", hint.c_str());
  for (const std::string& fault : found.faults) std::printf("failed: %s\n", fault.c_str());
  if (found.faults.empty())
    std::printf("the task fulfils its contract; hash of its trajectories: %016llx\n",
                static_cast<unsigned long long>(found.hash));
}

int run(const std::vector<std::string>& words) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  CheckOptions options;
  OptionTable table;
  table.section("", "Check", options);
  table.defer_section("env");
  const std::vector<NamedValue> values = table.parse_command_line(arguments);
  table.apply(values);
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  load_task_libraries(options.task_library);
  if (options.task.empty() && !options.help)
    throw UsageError("--task is missing (it names the task to check): pass one of " + join(task_names(), ", "));
  std::optional<TaskParams> params;
  const std::string task = own_task_name(options.task);
  if (!options.task.empty()) {
    params.emplace(task_record(task));
    table.section("env", "Task", *params);
    table.apply(values);
  }
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;

  const std::string library = task_library_build(task);
  params->choose_physics();
  const std::string physics = params->physics();
  std::printf("%s%s%s, %d environments, %d steps of random actions\n", task.c_str(),
              library.empty() ? "" : (" from " + library).c_str(), physics.empty() ? "" : (", " + physics).c_str(),
              options.num_envs, options.steps);
  const EnvSetup setup = params->setup();
  const std::string no_gpu = why_gpu_is_skipped(*setup.record);
  CheckPlan plan{options.num_envs, options.steps, options.seconds, static_cast<uint64_t>(options.seed)};
  if (no_gpu.empty()) plan.gpu_queue = gpu_queue;
  const TaskFindings found = check_task(task, setup, plan);
  print(found, *setup.record, no_gpu);
  return found.faults.empty() ? kDone : kFailure;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
