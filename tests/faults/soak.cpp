// soak: trains for many iterations and watches the process. See kUsage.

#include <algorithm>
#include <climits>
#include <cstdio>

#include "../apps/programs.hpp"
#include "arguments.hpp"
#include "base/clock.hpp"

namespace drl::faults {
namespace {

using namespace drl::test;

constexpr const char* kUsage =
    "soak: trains a tiny task for many iterations, and watches the memory, the open\n"
    "files, the threads and the time of an iteration. The files and threads that are there\n"
    "all the time must not be more in the last fifth of the run than in the second, and\n"
    "the memory may grow by 8 MiB: rows and saves wait in memory while the disk is busy.\n"
    "\n"
    "  soak --iterations 200000\n";

constexpr long kWaiting = 8 * 1024;  // KiB

struct Options {
  int iterations = 5000;
  std::string task = "Cartpole";
  bool help = false;

  void describe(OptionVisitor& v) {
    v("iterations", iterations, "number of iterations", at_least(100));
    v("task", task, "the task to train");
    v("help", help, "print this text", letter('h'));
  }
};

struct Sample {
  double seconds;
  long memory;  // KiB
  long files, threads;
};

long value_in_status(pid_t pid, const std::string& name) {
  const std::string status = slurp("/proc/" + std::to_string(pid) + "/status");
  const size_t at = status.find("\n" + name + ":");
  return at == std::string::npos ? 0 : std::atol(status.c_str() + at + name.size() + 2);
}

long open_files(pid_t pid) {
  std::error_code ended;
  const fs::directory_iterator folder("/proc/" + std::to_string(pid) + "/fd", ended);
  return ended ? 0 : std::distance(begin(folder), end(folder));
}

Sample sample_of(pid_t pid, double begin) {
  return {steady_seconds() - begin, value_in_status(pid, "VmRSS"), open_files(pid), value_in_status(pid, "Threads")};
}

// Returns the median of a column of metrics.csv within a part of the run, in ms.
double median_ms(const fs::path& run, double from, double to) {
  const std::vector<double> all = column(run, "iteration_time");
  const double rows = static_cast<double>(all.size());
  std::vector<double> times(all.begin() + static_cast<ptrdiff_t>(from * rows),
                            all.begin() + static_cast<ptrdiff_t>(to * rows));
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return 1e3 * times.at(times.size() / 2);
}

int run(const Options& options) {
  const Runs runs(options.task);
  const double begin = steady_seconds();
  Process process({kTrain, "--task", options.task, "--num_envs", "4", "--num_steps_per_env", "4", "--runs_dir",
                   runs.path().string(), "--run_name", "r", "--save_interval", "50", "--max_iterations",
                   std::to_string(options.iterations)});
  std::vector<Sample> samples;
  while (process.running()) {
    samples.push_back(sample_of(process.pid(), begin));
    ::usleep(options.iterations > 50000 ? 500000 : 50000);
  }
  const Result result = process.wait();
  while (!samples.empty() && samples.back().memory == 0) samples.pop_back();  // the process was ending
  if (result.exit_code != 0)
    throw Error("the run ended with exit code " + std::to_string(result.exit_code) + ": " + result.err);
  if (iterations(runs.run("r")) != count_to(options.iterations))
    throw Error("metrics.csv lacks iterations: look at it");
  if (samples.size() < 10) throw Error("the run was too short to watch: give more --iterations");

  const double end = samples.back().seconds;
  // The least numbers of a part leave out what is there for a moment, such as a checkpoint that is being written.
  const Sample none{.seconds = 0, .memory = 0, .files = LONG_MAX, .threads = LONG_MAX};
  Sample early = none, late = none;
  for (const Sample& sample : samples) {
    const double at = sample.seconds / end;
    if (at < 0.2 || (at >= 0.4 && at < 0.8)) continue;  // before 0.2, the process may still be starting
    Sample& part = at < 0.4 ? early : late;
    part.memory = std::max(part.memory, sample.memory);
    part.files = std::min(part.files, sample.files), part.threads = std::min(part.threads, sample.threads);
  }
  std::printf(
      "soak: %d iterations of %s in %.0f s: memory %.1f MiB at most in the second fifth, %.1f MiB in the last; open "
      "files "
      "%ld, %ld; threads %ld, %ld; median iteration %.3f ms in the second tenth, %.3f ms in the last\n",
      options.iterations, options.task.c_str(), end, static_cast<double>(early.memory) / 1024,
      static_cast<double>(late.memory) / 1024, early.files, late.files, early.threads, late.threads,
      median_ms(runs.run("r"), 0.1, 0.2), median_ms(runs.run("r"), 0.9, 1));
  const bool is_flat =
      late.memory <= early.memory + kWaiting && late.files <= early.files && late.threads <= early.threads;
  if (!is_flat) std::printf("FAILURE: the process has grown\n");
  return is_flat ? 0 : 1;
}

}  // namespace
}  // namespace drl::faults

int main(int argc, char** argv) { return drl::faults::program(argc, argv, drl::faults::kUsage, drl::faults::run); }
