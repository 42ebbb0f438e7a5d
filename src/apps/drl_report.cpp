// drl_report: one page of what runs have come to.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
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
#include "report/format.hpp"
#include "report/page/curves.hpp"
#include "report/page/page.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr char kUsage[] =
    "drl_report: one page of what runs have come to, an HTML file that needs no other file and no network.\n\n"
    "  drl_report runs/Cartpole/latest                a run, into report.html\n"
    "  drl_report runs/Cartpole                       all runs of a task\n"
    "  drl_report runs/Ant-v5/lr1 runs/Ant-v5/lr2     these\n"
    "  drl_report runs --output /tmp/all.html         all tasks\n\n"
    "A directory is a run if it holds metrics.csv or run.json; in others, runs are looked for (links such as latest "
    "and\n"
    "directories that --fresh put aside are left out). Runs of a task that differ in --seed alone are drawn as one "
    "curve,\n"
    "their mean, with the range over the seeds; so are runs that differ in options which change no numbers. The page\n"
    "holds curves over environment steps, iterations and wall time, times by part, tables of runs and of the options "
    "that\n"
    "differ, the best checkpoints, and films (mp4, gif, png) that lie in a run's directory or a folder in it. A run "
    "may\n"
    "go on meanwhile. What cannot be read is named in the page and here, and left out.\n\n"
    "Exit codes: 0 the page is written; 1 it could not be; 2 wrong usage, or no run could be read.\n\n";

constexpr double kQuiet = 2, kBetween = 1;  // seconds without and between words on progress
constexpr char kFirstLine[] = "<!DOCTYPE html>";

struct ReportOptions {
  std::string output = "report.html", title;
  double film_size = 8;
  int points = 600;
  bool help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "file to write", letter('o'));
    v("title", title, "of the page, default the tasks' names");
    v("film_size", film_size, "largest film that is put into the page; a larger one is linked, 0 = link all",
      unit("MB"), at_least(0));
    v("points", points, "of a curve at most; with more iterations each point is the mean of several",
      between(10, 10000));
    v("help", help, "this text", letter('h'));
    v("version", version, "version and git hash");
  }
};

void check_output(const fs::path& file) {
  require_output("output", file);
  std::error_code error;
  if (!fs::exists(file, error)) return;
  const std::vector<std::byte> content = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.empty() && !text.starts_with(kFirstLine))
    throw UsageError("--output " + printable(file.string(), 200) +
                     " is there and no HTML page (it would be lost): give another name");
}

// Run directories, each once. What is no folder becomes a warning.
std::vector<fs::path> all_runs(const std::vector<std::string>& places, std::vector<std::string>& warnings) {
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  for (const std::string& place : places) {
    try {
      const std::vector<fs::path> runs = find_runs(place);
      if (runs.empty()) warnings.push_back("no run was found in " + printable(place, 200));
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
  double said = start + kQuiet - kBetween;
  for (size_t k = 0; k < directories.size(); ++k) {
    if (steady_seconds() - said > kBetween) {
      said = steady_seconds();
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
  return statistics_of(values).mean;
}

// Five lines for the terminal.
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
      "  runs      {} in {}\n  tasks     {}\n  reward    {} ({}{})\n  time      {}, {} node-hours\n"
      "  beside    {}, {}\n",
      count(runs.size(), "run"), count(groups.size(), "group"), printable(join(tasks, ", ")),
      human_number(last_reward(*best)), groups.size() > 1 ? "the highest of " + printable(best->task) + ": " : "",
      printable(best->label), human_duration(total(&RunRecord::elapsed_seconds)),
      human_number(total(&RunRecord::node_hours)), count(films, "film"), count(warnings, "warning"));
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
    throw UsageError("no directory is named (of which runs?): drl_report runs/Cartpole, or drl_report --help");
  check_output(options.output);

  std::vector<std::string> warnings;
  const std::vector<RunRecord> runs = read_all(all_runs(places, warnings), warnings);
  if (runs.empty())
    throw UsageError("no run could be read (" + (warnings.empty() ? "nothing was found" : join(warnings, "; ")) +
                     "): name directories that drl_train made, such as runs/Cartpole/latest");
  for (const std::string& warning : warnings) log::warn("{}", warning);
  const std::vector<RunGroup> groups = group_runs(runs);
  const std::string title = options.title.empty() ? join(tasks_of(groups), ", ") : options.title;
  const std::string page = report_page(groups, warnings,
                                       {.title = title,
                                        .file = options.output,
                                        .film_bytes = options.film_size * 1e6,
                                        .max_points = static_cast<size_t>(options.points)});
  write_file_atomically(options.output, bytes_of(page));
  std::cout << options.output << " (" << human_bytes(static_cast<double>(page.size())) << ")\n"
            << summary(groups, runs, warnings.size());
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
