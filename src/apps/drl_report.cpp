// drl_report: makes one HTML page about runs.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/program.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "launch/child.hpp"
#include "report/format.hpp"
#include "report/page/curves.hpp"
#include "report/page/page.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr char kUsage[] =
    "drl_report: makes one HTML page about runs. The page needs no other file and no\n"
    "network.\n"
    "\n"
    "  drl_report runs/Cartpole/latest                one run; writes report.html\n"
    "  drl_report runs/Cartpole                       all runs of a task\n"
    "  drl_report runs/Ant-v5/lr1 runs/Ant-v5/lr2     these two runs\n"
    "  drl_report runs --output /tmp/all.html         all runs of all tasks\n"
    "\n"
    "A directory that holds metrics.csv or run.json is a run. Any other directory is\n"
    "searched for runs; links such as latest, and directories that --fresh renamed,\n"
    "are ignored. Runs that differ only in --seed, or in options that do not affect\n"
    "the results, share a curve: the mean, and the range over the seeds. The page\n"
    "shows curves over environment steps, iterations and wall time, how the time was\n"
    "spent, tables of the runs and of the options that differ, the best checkpoints,\n"
    "and the videos (mp4, gif, png) in a run's directory. Runs may still be in\n"
    "progress. Runs and files that cannot be read are named on the page and in the\n"
    "terminal, and left out.\n"
    "\n"
    "Exit codes: 0 page written; 1 page not written; 2 wrong usage, or no run could\n"
    "be read.\n"
    "\n";

constexpr double kFirstProgress = 2, kProgressInterval = 1;  // seconds until the first message, and between two
constexpr char kFirstLine[] = "<!DOCTYPE html>";

struct ReportOptions {
  std::string output = "report.html", title, wandb;
  double film_size = 8;
  int points = 600;
  bool help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "file to write; - = standard output", as_path, letter('o'));
    v("title", title, "title of the page; empty = the names of the tasks");
    v("film_size", film_size, "largest video that is embedded in the page; larger ones are linked; 0 = link all",
      unit("MB"), at_least(0));
    v("points", points, "largest number of points of a curve; with more iterations, each point is the mean of several",
      between(10, 10000));
    v("wandb", wandb,
      "also log the runs to this project of Weights & Biases, with drl's Python package: into the runs' directories, "
      "from which `wandb sync` uploads them, or at once with WANDB_MODE=online");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

void check_output(const fs::path& file) {
  require_output("output", file);
  std::error_code error;
  if (!fs::exists(file, error)) return;
  const std::string text = read_text(file);
  if (!text.empty() && !text.starts_with(kFirstLine))
    throw UsageError("--output " + printable(file.string(), 200) +
                     " exists and is not an HTML page (it would be overwritten): give another name");
}

// Returns the run directories in `places`, each once. Adds a warning for a place that is not a directory or holds no
// run.
std::vector<fs::path> all_runs(const std::vector<std::string>& places, std::vector<std::string>& warnings) {
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  for (const std::string& place : places) {
    try {
      const std::vector<fs::path> runs = find_runs(place);
      if (runs.empty()) warnings.push_back("no run found in " + printable(place, 200));
      std::error_code error;
      for (const fs::path& run : runs)
        if (seen.insert(fs::canonical(run, error)).second) found.push_back(run);
    } catch (const UsageError& problem) {
      warnings.emplace_back(problem.what());
    }
  }
  return found;
}

std::vector<RunRecord> read_all(const std::vector<fs::path>& directories, std::vector<std::string>& warnings) {
  std::vector<RunRecord> runs;
  const double start = steady_seconds();
  double last_message = start + kFirstProgress - kProgressInterval;
  for (size_t k = 0; k < directories.size(); ++k) {
    if (steady_seconds() - last_message > kProgressInterval) {
      last_message = steady_seconds();
      log::info("read {} of {} runs", k, directories.size());
    }
    try {
      runs.push_back(read_run(directories[k]));
      for (const std::string& warning : runs.back().warnings)
        warnings.push_back(printable(directories[k].string(), 200) + ": " + warning);
    } catch (const UsageError& problem) {
      warnings.emplace_back(problem.what());
    }
  }
  return runs;
}

std::vector<std::string> tasks_of(const std::vector<RunGroup>& groups) {
  std::vector<std::string> tasks;
  for (const RunGroup& group : groups)
    if (!contains(tasks, group.task)) tasks.push_back(group.task);
  return tasks;
}

double last_reward(const RunGroup& group) {
  std::vector<double> values;
  for (const RunRecord* run : group.runs) values.push_back(run->metrics.last("mean_reward"));
  return statistics_of(values).mean();
}

// Returns the line of the energy that the runs' GPUs have used, "" if it is known of no run.
std::string energy_line(const std::vector<RunRecord>& runs) {
  double joules = 0;
  int64_t known = 0;
  for (const RunRecord& run : runs)
    if (!std::isnan(run.gpu_joules)) joules += run.gpu_joules, ++known;
  if (known == 0) return "";
  return fmt::format("  energy    {} of GPUs, in {}\n", human_energy(joules), counted(known, "run"));
}

// Returns five or six lines for the terminal.
std::string summary(const std::vector<RunGroup>& groups, const std::vector<RunRecord>& runs, size_t warnings) {
  const auto total = [&](auto member) {
    double sum = 0;
    for (const RunRecord& run : runs) sum += std::isnan(run.*member) ? 0 : run.*member;
    return sum;
  };
  const RunGroup* best = &groups.front();
  for (const RunGroup& group : groups)
    if (group.task == best->task && last_reward(group) > last_reward(*best)) best = &group;
  size_t films = 0;
  for (const RunRecord& run : runs) films += run.films.size();
  const auto count = [](size_t number, const char* thing) { return counted(static_cast<int64_t>(number), thing); };
  const std::vector<std::string> tasks = tasks_of(groups);
  return fmt::format(
      "  runs      {} in {}\n  tasks     {}\n  reward    {} ({}{})\n  time      {}, {} node-hours\n{}"
      "  also      {}, {}\n",
      count(runs.size(), "run"), count(groups.size(), "group"), printable(join(tasks, ", ")),
      human_number(last_reward(*best)), groups.size() > 1 ? "the highest in " + printable(best->task) + ": " : "",
      printable(best->label), human_duration(total(&RunRecord::elapsed_seconds)),
      human_number(total(&RunRecord::node_hours)), energy_line(runs), count(films, "video"),
      count(warnings, "warning"));
}

// Logs the runs by drl's Python package, whose messages become ours.
void log_to_wandb(const std::string& project, const std::vector<RunRecord>& runs) {
  std::vector<std::string> command = {"python3", "-m", "drl.logging", "--once", "--project", project, "--"};
  for (const RunRecord& run : runs) command.push_back(run.path.string());
  log::info("logging {} to Weights & Biases", counted(static_cast<int64_t>(runs.size()), "run"));
  BackgroundCommand python(command);
  std::optional<int> code;
  while (!code) code = python.wait(kProgressInterval);
  if (*code != 0)
    throw Error("--wandb is not possible (" +
                (*code == kNotFound ? "python3 is not installed" : "python3 says: " + python.last_line()) +
                "): install the packages with pip install wandb and, in drl's checkout, pip install ./python[envs]");
  std::cout << "  wandb     " << printable(project) << ", to be uploaded by wandb sync RUN/wandb/offline-*\n";
}

int run(const std::vector<std::string>& words) {
  ReportOptions options;
  OptionTable table;
  table.section("", "Options", options);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  const std::vector<std::string> places = table.take_arguments(arguments);
  table.apply_command_line(arguments);
  if (std::exchange(options.help, false)) {
    std::cout << kUsage << table.help();
    return kDone;
  }
  if (options.version) {
    std::cout << "drl_report " << kVersion << " (" << kGitHash << ")\n";
    return kDone;
  }
  if (places.empty())
    throw UsageError(
        "no directory is given (it names the runs to report): type for instance drl_report runs/Cartpole, or "
        "drl_report --help");
  const bool to_stdout = options.output == kStandardOutput;
  if (!to_stdout) check_output(options.output);

  std::vector<std::string> warnings;
  const std::vector<RunRecord> runs = read_all(all_runs(places, warnings), warnings);
  if (runs.empty())
    throw UsageError("no run could be read (" + (warnings.empty() ? "none was found" : join(warnings, "; ")) +
                     "): give directories that drl_train made, such as runs/Cartpole/latest");
  for (const std::string& warning : warnings) log::warn("{}", warning);
  const std::vector<RunGroup> groups = group_runs(runs);
  const std::string title = options.title.empty() ? join(tasks_of(groups), ", ") : options.title;
  const std::string page = report_page(groups, warnings,
                                       {.title = title,
                                        .file = to_stdout ? "report.html" : options.output,
                                        .film_bytes = options.film_size * 1e6,
                                        .max_points = static_cast<size_t>(options.points)});
  if (to_stdout) {
    if (!(std::cout << page << std::flush))
      throw Error("standard output cannot be written (the disk may be full): give --output FILE");
    return kDone;
  }
  write_file_atomically(options.output, bytes_of(page));
  std::cout << options.output << " (" << human_bytes(static_cast<double>(page.size())) << ")\n"
            << summary(groups, runs, warnings.size());
  if (!options.wandb.empty()) log_to_wandb(options.wandb, runs);
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
