// drl_status: shows what runs are doing.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/program.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "base/version.hpp"
#include "launch/child.hpp"
#include "placement/stop.hpp"
#include "report/console.hpp"
#include "report/format.hpp"
#include "report/page/run_record.hpp"
#include "run/run_status.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr char kUsage[] =
    "drl_status: shows what runs are doing.\n"
    "\n"
    "  drl_status                          all runs in runs/ (or $DRL_RUNS_DIR)\n"
    "  drl_status runs/Ant-v5              the runs of a task\n"
    "  drl_status --watch                  again every 2 seconds, until you type q\n"
    "  drl_status --json                   for programs\n"
    "\n"
    "A run is running (a process holds its lock), waiting (its Slurm job is pending,\n"
    "or was requeued), failed, unreadable, stopped (it can be resumed), or done.\n"
    "squeue, if it exists, is asked about the jobs of runs that neither run nor are\n"
    "done, once a minute.\n"
    "\n"
    "Exit codes: 0 shown; 2 wrong usage; 130, 143 stopped.\n"
    "\n";

constexpr double kSqueuePatience = 10, kSqueueInterval = 60;  // seconds
constexpr const char* kDefaultInterval = "2";                 // seconds

struct StatusOptions {
  double watch = 0;
  bool json = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("watch", watch, "show the table again at this interval, 2 s if none is given; 0 = once", unit("s"), at_least(0));
    v("json", json, "print JSON; unknown numbers are null");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

// The runs, and what squeue has to do with them.
struct Overview {
  std::vector<RunStatus> runs;  // by state
  std::string squeue;           // a sentence if squeue did not answer, or ""
};

// The latest answer of squeue, and its time (steady_seconds()).
struct Answer {
  double time = -INFINITY;
  std::optional<JobList> jobs = {};
  std::string problem = "";
};

// Asks squeue, if needed and if it exists, about the jobs of all runs; at most once a minute, as sites demand.
void ask_squeue(Overview& overview, Answer& answer) {
  std::set<std::string> ids;
  for (const RunStatus& run : overview.runs)
    if (needs_job(run)) ids.insert(run.job);
  if (ids.empty() || !is_on_path("squeue")) return;
  if (steady_seconds() - answer.time > kSqueueInterval) {
    BackgroundCommand squeue(job_list_command({ids.begin(), ids.end()}));
    const std::optional<int> code = squeue.wait(kSqueuePatience);
    answer.jobs = code ? parse_job_list(*code, squeue.output()) : std::nullopt;
    answer.problem = code ? squeue.last_line() : "no answer in 10 s";
    answer.time = steady_seconds();
  }
  if (!answer.jobs)
    overview.squeue =
        fmt::format("squeue does not answer ({}): runs that wait for their jobs are shown as stopped", answer.problem);
  else
    for (RunStatus& run : overview.runs) take_job(run, *answer.jobs);
}

Overview look_at(const std::vector<std::string>& places, Answer& answer) {
  Overview overview;
  std::set<fs::path> seen;
  const double now = seconds_since_1970();
  for (const std::string& place : places) try {
      for (const fs::path& path : find_runs(place))
        if (seen.insert(path).second)
          if (auto run = read_status(path, now)) overview.runs.push_back(std::move(*run));
    } catch (const UsageError& problem) {
      throw UsageError(std::string(problem.what()) + ": give a directory of runs, such as runs/Cartpole");
    }
  ask_squeue(overview, answer);
  std::ranges::stable_sort(overview.runs, {}, &RunStatus::state);
  return overview;
}

std::string number_or_dash(double value, const std::string& text) { return std::isnan(value) ? "-" : text; }

std::vector<std::string> cells(const RunStatus& run) {
  const std::string total = run.max_iterations > 0 ? fmt::format("/{}", run.max_iterations) : "";
  const bool runs = run.state == RunState::running;
  return {printable(run.task),
          printable(run.name),
          name_of(run.state),
          fmt::format("{}{}", run.iteration, total),
          runs ? number_or_dash(run.steps_per_second, human_count(run.steps_per_second)) : "-",
          human_number(run.mean_reward),
          number_or_dash(run.eta, human_duration(run.eta)),
          number_or_dash(run.node_hours, fmt::format("{:.2f}", run.node_hours)),
          run.job.empty() ? "-" : printable(run.job),
          printable(run.note, 200)};
}

// Returns the lines of the table: a summary, a header, a line for each run.
std::vector<std::string> lines_of(const Overview& overview) {
  std::vector<std::string> counts;
  for (size_t k = 0; k <= static_cast<size_t>(RunState::done); ++k) {
    const auto state = static_cast<RunState>(k);
    if (const auto count = std::ranges::count(overview.runs, state, &RunStatus::state))
      counts.push_back(fmt::format("{} {}", count, name_of(state)));
  }
  TextRows rows = {{"task", "run", "state", "iteration", "steps/s", "reward", "ETA", "node-hours", "job", ""}};
  for (const RunStatus& run : overview.runs) rows.push_back(cells(run));
  std::vector<std::string> lines = split(table_text(rows, "<<<>>>>>>"), '\n');
  lines.back() = counted(std::ssize(overview.runs), "run") + ": " + join(counts, ", ");
  if (!overview.squeue.empty()) lines.push_back(overview.squeue);
  return lines;
}

std::string json_of(const Overview& overview) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const RunStatus& run : overview.runs)
    runs.push_back({{"path", run.path.string()},
                    {"task", run.task},
                    {"run", run.name},
                    {"state", name_of(run.state)},
                    {"note", run.note},
                    {"job", run.job},
                    {"iteration", run.iteration},
                    {"max_iterations", run.max_iterations},
                    {"steps_per_second", run.steps_per_second},
                    {"mean_reward", run.mean_reward},
                    {"eta_seconds", run.eta},
                    {"node_hours", run.node_hours}});
  const nlohmann::ordered_json all = {{"runs", std::move(runs)}, {"squeue", overview.squeue}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// The terminal while it shows the table: another screen, on which typed keys are not printed.
class Screen {
 public:
  Screen() : has_keys_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    write("\x1b[?25h\x1b[?1049l");
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows as much of the lines as there is room for, and below them `footer`.
  void show(const std::vector<std::string>& lines, const std::string& footer) const {
    const TerminalSize size = terminal_size();
    const size_t room = static_cast<size_t>(std::max(size.rows - 1, 1)), width = static_cast<size_t>(size.columns);
    std::string text = "\x1b[H";
    const auto add = [&](const std::string& line) { text += line.substr(0, width) + "\x1b[K"; };
    for (size_t k = 0; k < std::min(lines.size(), room); ++k) add(lines[k]), text += "\n";
    const size_t hidden = lines.size() - std::min(lines.size(), room);
    add(footer + (hidden > 0 ? fmt::format("; {} more", counted(static_cast<int64_t>(hidden), "line")) : ""));
    write(text + "\x1b[J");
  }
  // Returns true if q is typed within these seconds. Returns early if a stop is requested.
  bool quits_within(double seconds) const {
    const Clock::time_point start = Clock::now();
    for (double left = seconds; left > 0 && requested_stop() == Stop::none; left = seconds - seconds_since(start)) {
      pollfd keys{has_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
      char key = 0;
      if (poll(&keys, 1, static_cast<int>(std::clamp(left * 1e3, 1.0, 200.0))) <= 0) continue;
      if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q') return true;
    }
    return false;
  }

 private:
  static void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout); }

  termios before_{};
  bool has_keys_;
};

int watch(const std::vector<std::string>& places, double interval) {
  if (isatty(STDOUT_FILENO) == 0)
    throw UsageError("--watch needs a terminal (standard output is none): leave it out, or use --json");
  take_stops_as_requests();
  std::vector<std::string> lines;
  Answer answer;
  {
    const Screen screen;
    do {
      lines = lines_of(look_at(places, answer));
      std::rotate(lines.begin(), lines.end() - 1, lines.end());  // the summary, which is shown in any case
      screen.show(lines, fmt::format("{}, every {} s; q ends", utc_time(), interval));
    } while (!screen.quits_within(interval) && requested_stop() == Stop::none);
  }
  return exit_code_of(requested_stop());
}

int run(const std::vector<std::string>& words) {
  catch_stop_signals();
  StatusOptions options;
  OptionTable table;
  table.section("", "Options", options);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  for (size_t k = 0; k < arguments.size(); ++k)
    if (arguments[k] == "--watch" && (k + 1 == arguments.size() || !number_in<double>(arguments[k + 1])))
      arguments[k] += std::string("=") + kDefaultInterval;
  std::vector<std::string> places = table.take_arguments(arguments);
  table.apply_command_line(arguments);
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (options.version) return std::printf("drl_status %s (%s)\n", kVersion, kGitHash), kDone;
  if (options.watch > 0 && options.json)
    throw UsageError("--watch does not go with --json (it is for terminals): leave one out");
  std::error_code error;
  std::string where = printable(join(places, ", "), 200);
  if (places.empty()) {
    const fs::path all = runs_folder();
    where = printable(all.string(), 200);
    if (fs::exists(all, error)) places = {all.string()};
  }
  if (options.watch > 0) return watch(places, options.watch);
  Answer answer;
  const Overview overview = look_at(places, answer);
  if (options.json) return std::printf("%s", json_of(overview).c_str()), kDone;
  if (overview.runs.empty())
    return std::printf("no runs in %s: start one, for instance with drl_train --task Cartpole\n", where.c_str()), kDone;
  for (const std::string& line : lines_of(overview)) std::printf("%s\n", line.c_str());
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
