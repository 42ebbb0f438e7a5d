#include "run/restarts.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "placement/mpirun.hpp"
#include "placement/stop.hpp"
#include "run/run_directory.hpp"
#include "run/start.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAgreement = "agreed", kSlow = "slow ";

// The file in which rank 0 reports: the lines of a RunReport, later lines of slow hosts and kAgreement.
class ReportFile {
 public:
  explicit ReportFile(const fs::path& folder) : had_folder_(fs::exists(folder)) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    file_.emplace(".start", "", fs::absolute(folder));
    setenv(kRunReport, file_->path().c_str(), 1);
  }
  ~ReportFile() {
    unsetenv(kRunReport);
    const fs::path folder = fs::path(file_->path()).parent_path();
    file_.reset();
    std::error_code ignored;
    if (!had_folder_) fs::remove(folder, ignored);  // only if it is empty
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  std::optional<RunReport> run() const {
    const std::vector<std::string> lines = split(file_->text(), '\n');
    if (lines.size() < 4) return std::nullopt;
    RunReport run{lines[0], number_in<int64_t>(lines[1]).value_or(0), number_in<int64_t>(lines[2]).value_or(0)};
    for (const std::string& line : std::span(lines).subspan(3))
      if (line.starts_with(kSlow)) run.slow_hosts.push_back(line.substr(kSlow.size()));
    return run;
  }
  bool tells_agreement() const { return file_->text().ends_with(kAgreement); }

 private:
  bool had_folder_;
  std::optional<TempFile> file_;
};

void add_to_report(const std::string& text) {
  if (const char* path = std::getenv(kRunReport)) write_own_file(path, file_text(path) + text);
}

// How a start of the ranks ended.
struct End {
  int code = kDone;
  std::string cause = "";
  std::exception_ptr error = nullptr;

  int finish() const {
    if (error) std::rethrow_exception(error);
    return code;
  }
};

End start(int ranks, const std::vector<std::string>& nodes, const std::vector<std::string>& command,
          const StopRelay& relay) {
  try {
    std::string first;
    const int code =
        nodes.empty() ? run_under_mpirun(ranks, command) : run_under_srun(ranks, nodes, command, relay, &first);
    return {code, fmt::format("the ranks ended with exit code {}{}", code, first.empty() ? "" : ", " + first)};
  } catch (const Error& error) {  // "a rank was killed by signal 9, which ended all ranks (...): ..."
    const std::string what = error.what();
    return {error.exit_code(), fmt::format("{}, on {}", what.substr(0, what.find(" (")), host_name()),
            std::current_exception()};
  }
}

std::vector<std::string> first_nodes(const std::vector<std::string>& nodes, size_t count) {
  return {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, nodes.size()))};
}

// Returns the iteration of the run's newest checkpoint, or -1.
int64_t saved_iteration(const fs::path& run) {
  const std::vector<fs::path> all = list_checkpoints(run);
  if (all.empty()) return -1;
  return number_in<int64_t>(all.front().stem().string().substr(5)).value_or(-1);  // after iter_
}

}  // namespace

// The exit code alone does not tell whether ranks have died: after a node has failed, srun may return 0. Ranks that
// were started again and end before they report have died, too.
int run_with_restarts(int ranks, const std::vector<std::string>& command, const std::vector<NamedValue>& given,
                      const RestartRule& rule, const std::string& runs_dir, const StopRelay& relay) {
  if (rule.most == 0) return start_ranks(ranks, command, relay);
  std::vector<std::string> nodes = can_run_under_srun() ? job_nodes() : std::vector<std::string>(), words = command;
  if (rule.spare_nodes > 0 && nodes.empty())
    throw UsageError("--spare_nodes is given outside of a Slurm job (there are no nodes to spare): leave it out");
  if (rule.spare_nodes > 0 && rule.spare_nodes >= std::ssize(nodes))
    throw UsageError(
        fmt::format("--spare_nodes {} leaves no node for the ranks (this job has {}): use fewer, or a job "
                    "with more nodes",
                    rule.spare_nodes, counted(std::ssize(nodes), "node")));
  const int ranks_at_first = ranks;
  size_t used = nodes.size() - static_cast<size_t>(rule.spare_nodes);
  std::optional<RunReport> run;
  std::string last_end;
  for (int restarts = 0;; ++restarts) {
    const ReportFile report(runs_folder(runs_dir));
    const End end = start(ranks, first_nodes(nodes, used), words, relay);
    if (const auto reported = report.run()) run = reported;
    if (!run || report.tells_agreement() || requested_stop() != Stop::none) return end.finish();
    const auto give_up = [&](const std::string& why) {
      log::write(log::Level::common_error, fmt::format("{}: not starting again ({})", end.cause, why));
      return end.code == kDone ? int{kFailure} : end.finish();
    };
    const int64_t saved = saved_iteration(run->directory);
    const std::string this_end = fmt::format("{} at {}", end.cause, saved);
    if (saved < 0) return give_up("the run has no checkpoint");
    if (restarts == rule.most) return give_up(fmt::format("--max_restarts {}", rule.most));
    if (this_end == last_end) return give_up(fmt::format("the same happened before, from iteration {} on", saved));
    last_end = this_end;

    std::string cause = end.cause;
    if (!nodes.empty()) {
      std::vector<std::string> answering = answering_nodes(nodes);
      if (const Stop stop = requested_stop(); stop != Stop::none) return exit_code_of(stop);
      for (const std::string& node : nodes)
        if (!contains(answering, node)) cause += ", and node " + node + " does not answer";
      if (answering.empty()) return give_up("no node of the job answers");
      if (rule.drops_slow_nodes) {
        const std::vector<std::string> fast = without_hosts(answering, run->slow_hosts);
        for (const std::string& node : answering)
          if (!contains(fast, node)) cause += ", and node " + node + " is left out because it was slow";
        answering = fast;
      }
      const size_t left = std::min(used, answering.size());
      if (left < used) ranks = ranks_for(*run, std::max(1, ranks * static_cast<int>(left) / static_cast<int>(used)));
      nodes = answering, used = left;
    }
    log::warn("{}: starting {} again from iteration {} (restart {} of {})", cause, counted(ranks, "rank"), saved,
              restarts + 1, rule.most);
    setenv(kRestartCause, fmt::format("{}; from iteration {}", cause, saved).c_str(), 1);
    words = command_to_continue(command.front(), given, *run, ranks, ranks != ranks_at_first);
  }
}

void report_run(const RunReport& run) {
  add_to_report(fmt::format("{}\n{}\n{}\n", run.directory, run.num_envs_total, run.shards));
}

void report_slow_host(const std::string& host) { add_to_report(fmt::format("{}{}\n", kSlow, host)); }

void report_agreement() { add_to_report(std::string(kAgreement)); }

std::string restart_cause() {
  const char* cause = std::getenv(kRestartCause);
  return cause ? cause : "";
}

std::vector<std::string> without_hosts(const std::vector<std::string>& nodes, const std::vector<std::string>& hosts) {
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  std::vector<std::string> others;
  for (const std::string& node : nodes)
    if (std::ranges::find(hosts, short_name(node), short_name) == hosts.end()) others.push_back(node);
  return others.empty() ? nodes : others;
}

int ranks_for(const RunReport& run, int most) {
  int ranks = most;
  while (ranks > 1 && (run.num_envs_total % ranks != 0 || run.shards % ranks != 0)) --ranks;
  return ranks;
}

std::vector<std::string> command_to_continue(const std::string& program, const std::vector<NamedValue>& given,
                                             const RunReport& run, int ranks, bool keeps_total) {
  std::vector<std::string> words = {program, "--load_run=" + run.directory, fmt::format("--ranks={}", ranks)},
                           replaced = {"load_run", "ranks", "run_name", "resume", "checkpoint", "init_from", "fresh"};
  if (keeps_total) {
    words.push_back(fmt::format("--num_envs_total={}", run.num_envs_total));
    replaced.insert(replaced.end(), {"num_envs", "num_envs_total"});
  }
  for (const NamedValue& option : given)
    if (!contains(replaced, option.name)) words.push_back(fmt::format("--{}={}", option.name, option.value));
  return words;
}

}  // namespace drl
