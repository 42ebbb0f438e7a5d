// drl_scaling: measures how a training scales with nodes or ranks.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/program.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "launch/child.hpp"
#include "placement/relaunch.hpp"
#include "placement/stop.hpp"
#include "placement/topology.hpp"
#include "report/format.hpp"
#include "report/page/run_record.hpp"
#include "report/page/scaling.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr char kUsage[] =
    "drl_scaling: measures how a training scales, for an application for computing\n"
    "time. Options of drl_train follow after --.\n"
    "\n"
    "  drl_scaling -- --task HalfCheetah-v5           1, 2, 4, ... ranks of this\n"
    "                                                 machine, up to one per core\n"
    "  sbatch -N8 --exclusive --wrap 'drl_scaling -- --task Ant-v5'\n"
    "                                                 1, 2, 4 and 8 nodes of the job\n"
    "\n"
    "Each number of nodes trains for some iterations, twice: with the same number of\n"
    "environments per rank (weak scaling), and with the same total (strong scaling).\n"
    "Writes OUTPUT.md, OUTPUT.csv and OUTPUT.svg: speed, speed-up, efficiency, and the\n"
    "core- or GPU-hours for a number of steps.\n"
    "\n"
    "Exit codes: 0 written; 1 a run failed; 2 wrong usage; 130, 143 stopped.\n"
    "\n";

struct ScalingOptions {
  int num_envs = 1024, iterations = 40, most = 0, ranks_per_node = 0;
  double goal_steps = 1e9;
  std::string study = "both", output = "scaling";
  bool help = false, version = false;

  void describe(OptionVisitor& v) {
    v("num_envs", num_envs, "environments per rank; in the strong study, the total is that of the first line",
      between(1, 1 << 24));
    v("iterations", iterations, "iterations of each run; the speed is the median of the last three quarters",
      between(8, 1 << 20));
    v("most", most, "largest number of nodes, or of ranks without a Slurm job; 0 = all", at_least(0));
    v("ranks_per_node", ranks_per_node, "ranks on each node of a job; 0 = one per GPU, or per core without GPUs",
      at_least(0));
    v("study", study, "which of the two studies", one_of({"both", "weak", "strong"}));
    v("goal_steps", goal_steps, "steps of environments for the column of hours", above(0));
    v("output", output, "name of the files, without .md; the runs are in the directory of this name", as_path,
      letter('o'));
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

// The nodes of a job, or the cores of this machine.
struct Resources {
  std::vector<std::string> nodes = {};  // empty: this machine
  int most = 1, ranks_per_unit = 1, cores_per_unit = 1;
};

Resources resources(const ScalingOptions& options) {
  Resources all;
  if (can_run_under_srun()) {
    all.nodes = job_nodes();
    const NodeShare share = share_of_each_node();
    all.cores_per_unit = share.cores;
    all.ranks_per_unit = options.ranks_per_node ? options.ranks_per_node : share.gpus ? share.gpus : share.cores;
  } else if (options.ranks_per_node > 0) {
    throw UsageError(
        "--ranks_per_node is given outside of a Slurm job (here, each rank is one of this machine): leave it "
        "out, or use --most");
  }
  const int there = all.nodes.empty() ? this_machine().allowed_cores : static_cast<int>(all.nodes.size());
  all.most = options.most ? options.most : there;
  if (!all.nodes.empty() && all.most > there)
    throw UsageError(fmt::format("--most {} is more than the job has ({}): use at most {}", all.most,
                                 counted(there, "node"), there));
  return all;
}

// Returns 1, 2, 4, ... and `most`.
std::vector<int> counts_up_to(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Returns the last three quarters of a column: the first iterations are slow, because they touch memory for the first
// time.
std::vector<double> settled(const MetricsTable& metrics, const char* column) {
  const std::vector<double>* values = metrics.find(column);
  if (!values) return {};
  return {values->begin() + static_cast<std::ptrdiff_t>(values->size() / 4), values->end()};
}

class Study {
 public:
  Study(ScalingOptions options, std::vector<std::string> training)
      : options_(std::move(options)), training_(std::move(training)), resources_(resources(options_)) {
    const int total = options_.num_envs * resources_.ranks_per_unit;
    for (const int units : counts_up_to(resources_.most))
      if (const int ranks = units * resources_.ranks_per_unit; total % ranks != 0 && options_.study != "weak")
        throw UsageError(
            fmt::format("--num_envs {} cannot be divided over {} (the strong study shares the environments of "
                        "one {}): use a multiple of {}, --study weak, or another --most",
                        options_.num_envs, counted(units, unit()), unit(), units));
    fs::create_directories(options_.output);
  }

  // Returns the exit code.
  int run() {
    ScalingStudy study;
    study.unit = unit(), study.goal_steps = options_.goal_steps;
    for (const int units : counts_up_to(resources_.most))
      for (const bool is_weak : {true, false}) {
        if (options_.study == (is_weak ? "strong" : "weak")) continue;
        std::vector<ScalingPoint>& points = is_weak ? study.weak : study.strong;
        if (!is_weak && units == 1 && !study.weak.empty()) {
          points = study.weak;  // the same run
          continue;
        }
        const int ranks = units * resources_.ranks_per_unit;
        const int64_t environments = int64_t{options_.num_envs} * (is_weak ? ranks : resources_.ranks_per_unit);
        const std::string name = fmt::format("{}-{}", is_weak ? "weak" : "strong", units);
        std::printf("%-6s  %s, %s: ", is_weak ? "weak" : "strong", counted(units, unit()).c_str(),
                    counted(environments, "environment").c_str());
        std::fflush(stdout);
        const int code = train(name, units, ranks, environments);
        if (code != kDone) return std::printf("no result\n"), code;
        points.push_back(point(name, units, ranks, environments));
        std::printf("%s steps/s, efficiency %.0f %%\n",
                    with_commas(std::llround(points.back().steps_per_second)).c_str(),
                    100 * efficiency(points, points.size() - 1));
      }
    describe(study);
    const auto write = [&](const char* ending, const std::string& text) {
      write_file_atomically(options_.output + ending, bytes_of(text));
    };
    write(".md", scaling_markdown(study)), write(".csv", scaling_csv(study)), write(".svg", scaling_svg(study));
    std::printf("%s.md, .csv, .svg\n", options_.output.c_str());
    return kDone;
  }

 private:
  std::string unit() const { return resources_.nodes.empty() ? "rank" : "node"; }

  int train(const std::string& name, int units, int ranks, int64_t environments) const {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "drl_train";
    std::vector<std::string> words = {program.string()};
    words.insert(words.end(), training_.begin(), training_.end());
    for (const auto& [option, value] :
         std::vector<std::pair<std::string, std::string>>{{"ranks", std::to_string(ranks)},
                                                          {"num_envs_total", std::to_string(environments)},
                                                          {"max_iterations", std::to_string(options_.iterations)},
                                                          {"save_interval", std::to_string(options_.iterations)},
                                                          {"runs_dir", options_.output},
                                                          {"run_name", name}})
      words.push_back(fmt::format("--{}={}", option, value));
    words.insert(words.end(), {"--fresh", "--quiet"});
    const std::vector<std::string>& all = resources_.nodes;
    ChildSettings settings{.environment =
                               all.empty() ? environment_list() : environment_on({all.begin(), all.begin() + units})};
    sigprocmask(SIG_SETMASK, nullptr, &settings.signal_mask);
    int sent = 0;
    const auto pending = [&] {
      const Stop stop = requested_stop();
      return stop == Stop::none ? 0 : std::exchange(sent, 1) ? 0 : stop == Stop::interrupted ? SIGINT : SIGTERM;
    };
    const int code = run_shielded(words, settings, pending);
    if (const Stop stop = requested_stop(); stop != Stop::none) return exit_code_of(stop);
    if (code != kDone) log::error("the run {} has failed with exit code {}: see above", name, code);
    return code;
  }

  // Returns the newest run of this name, because an earlier study may have had another task.
  RunRecord record(const std::string& name) const {
    std::vector<fs::path> found = find_runs(options_.output);
    std::erase_if(found, [&](const fs::path& run) { return run.filename() != name; });
    if (found.empty()) throw Error("the run " + name + " is missing below " + options_.output);
    return read_run(*std::ranges::max_element(
        found, {}, [](const fs::path& run) { return fs::last_write_time(run / "metrics.csv"); }));
  }

  ScalingPoint point(const std::string& name, int units, int ranks, int64_t environments) const {
    const RunRecord run = record(name);
    std::vector<double> shares = settled(run.metrics, "waiting_time");
    const std::vector<double> times = settled(run.metrics, "iteration_time");
    for (size_t k = 0; k < shares.size() && k < times.size(); ++k) shares[k] /= times[k];
    return {units,          ranks,
            environments,   median(settled(run.metrics, "steps_per_second")),
            median(shares), run.joules_per_million_steps};
  }

  void describe(ScalingStudy& study) const {
    const ScalingPoint& last = study.weak.empty() ? study.strong.back() : study.weak.back();
    const RunRecord run = record(fmt::format("{}-{}", study.weak.empty() ? "strong" : "weak", last.units));
    study.title = fmt::format("{} on {} ({})", run.task, counted(last.units, unit()), run.devices);
    study.hours_of = run.on_gpus ? "GPU" : "core";
    if (!run.on_gpus) study.per_rank = static_cast<double>(resources_.cores_per_unit) / resources_.ranks_per_unit;
    study.method = fmt::format(
        "Measured by drl_scaling {} ({}) on {}: `drl_train {}`, {} iterations each; the speed is the median of the "
        "last three quarters.",
        kVersion, kGitHash, host_name(), shell_line(training_), options_.iterations);
  }

  ScalingOptions options_;
  std::vector<std::string> training_;
  Resources resources_;
};

int run(const std::vector<std::string>& words) {
  catch_stop_signals();
  ScalingOptions options;
  OptionTable table;
  table.section("", "Options", options);
  const auto separator = std::ranges::find(words, "--");
  table.apply_command_line({words.begin() + 1, separator});
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (options.version) return std::printf("drl_scaling %s (%s)\n", kVersion, kGitHash), kDone;
  std::vector<std::string> training(separator == words.end() ? separator : separator + 1, words.end());
  if (training.empty())
    throw UsageError(
        "no options of drl_train are given (they say what to train): type for instance drl_scaling -- --task "
        "HalfCheetah-v5");
  const std::vector<std::string> own = {"ranks",          "num_envs", "num_envs_total",
                                        "max_iterations", "runs_dir", "run_name"};
  for (const std::string& word : training)
    for (const std::string& name : own)
      if (word == "--" + name || word.starts_with("--" + name + "="))
        throw UsageError(fmt::format("--{} stands after -- (drl_scaling sets it for each run): leave it out{}", name,
                                     name == "num_envs" ? ", or give it before --" : ""));
  take_stops_as_requests();
  return Study(std::move(options), std::move(training)).run();
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
