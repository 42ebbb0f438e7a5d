#include "run/restarts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
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

constexpr const char* kReport = "DRL_RUN_REPORT";  // the file to which rank 0 writes the run's directory
constexpr const char* kCause = "DRL_RESTART_CAUSE";
constexpr const char* kCommonEnd = "ended alike";

void add_to_report(const std::string& text) {
  if (const char* path = std::getenv(kReport)) write_own_file(path, file_text(path) + text);
}

// The file to which rank 0 writes: the run's directory, its number of environments, and later kCommonEnd.
class Report {
 public:
  explicit Report(const fs::path& folder)
      : had_folder_(fs::exists(folder)), file_(folder / fmt::format(".start-{}-{}", host_name(), getpid())) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    if (!create_private_file(file_, ""))
      throw UsageError(
          fmt::format("cannot create {} ({}), to which the ranks tell their run: check --runs_dir, or leave "
                      "--max_restarts out",
                      file_.string(), reason_of(errno)));
    setenv(kReport, fs::absolute(file_).c_str(), 1);
  }
  ~Report() {
    unsetenv(kReport);
    std::error_code ignored;
    fs::remove(file_, ignored);
    if (!had_folder_) fs::remove(file_.parent_path(), ignored);  // only if it is empty
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  bool has_run() const { return lines().size() >= 2; }
  bool tells_common_end() const { return lines().back() == kCommonEnd; }
  std::string directory() const { return lines()[0]; }
  int64_t num_envs_total() const { return number_in<int64_t>(lines()[1]).value_or(0); }

 private:
  std::vector<std::string> lines() const { return split(file_text(file_), '\n'); }
  bool had_folder_;
  fs::path file_;
};

// How a start of the ranks ended.
struct End {
  int code = kDone;
  std::string cause = "";
  std::exception_ptr error = nullptr;
};

End start(int ranks, const std::vector<std::string>& nodes, const std::vector<std::string>& command,
          const StopRelay& relay) {
  try {
    std::string first;
    const int code =
        nodes.empty() ? run_under_mpirun(ranks, command) : run_under_srun(ranks, nodes, command, relay, &first);
    return {code, fmt::format("the ranks ended with exit code {}{}", code, first.empty() ? "" : ", " + first)};
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {  // "a rank was killed by signal 9, which ended all ranks (...): ..."
    const std::string what = error.what();
    return {error.exit_code(), fmt::format("{}, on {}", what.substr(0, what.find(" (")), host_name()),
            std::current_exception()};
  }
}

// The exit code alone does not tell: after a node has failed, srun may return 0.
bool has_died(const End& end, const Report& report) {
  const bool is_stop = end.code == kContinue || end.code == kInterrupted || end.code == kTerminated;
  return end.code != kUsage && !(is_stop && requested_stop() != Stop::none) && report.has_run() &&
         !report.tells_common_end();
}

std::vector<std::string> first_nodes(const std::vector<std::string>& nodes, size_t count) {
  return {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, nodes.size()))};
}

// Returns the iteration of the run's newest checkpoint, or -1.
int64_t saved_iteration(const fs::path& run) {
  const std::vector<fs::path> all = list_checkpoints(run);
  if (all.empty()) return -1;
  const std::string name = all.front().stem().string().substr(5);  // after iter_
  return number_in<int64_t>(name).value_or(-1);
}

}  // namespace

int run_with_restarts(int ranks, const std::vector<std::string>& command, const std::vector<NamedValue>& given,
                      const RestartRule& rule, const std::string& runs_dir, const StopRelay& relay) {
  if (rule.most == 0) return start_ranks(ranks, command, relay);
  std::vector<std::string> nodes = can_run_under_srun() ? job_nodes() : std::vector<std::string>(), words = command;
  if (rule.spare_nodes > 0 && rule.spare_nodes >= std::ssize(nodes))
    throw UsageError(
        fmt::format("--spare_nodes {} leaves no node for the ranks (this job has {}): use fewer, or a job "
                    "with more nodes",
                    rule.spare_nodes, counted(std::ssize(nodes), "node")));
  size_t used = nodes.size() - static_cast<size_t>(rule.spare_nodes);
  std::string last_end;
  for (int restarts = 0;; ++restarts) {
    const Report report(runs_folder(runs_dir));
    const End end = start(ranks, first_nodes(nodes, used), words, relay);
    const auto end_as_it_did = [&] {
      if (end.error) std::rethrow_exception(end.error);
      return end.code;
    };
    if (!has_died(end, report)) return end_as_it_did();
    const auto give_up = [&](const std::string& why) {
      log::write(log::Level::common_error, fmt::format("{}: not starting again ({})", end.cause, why));
      return end.code == kDone ? int{kFailure} : end_as_it_did();
    };
    const int64_t saved = saved_iteration(report.directory());
    const std::string this_end = fmt::format("{} at {}", end.cause, saved);
    if (saved < 0) return give_up("the run has no checkpoint");
    if (restarts == rule.most) return give_up(fmt::format("--max_restarts {}", rule.most));
    if (this_end == last_end) return give_up(fmt::format("the same happened before, from iteration {} on", saved));
    last_end = this_end;

    std::string cause = end.cause;
    if (!nodes.empty()) {
      const std::vector<std::string> answering = answering_nodes(nodes);
      for (const std::string& node : nodes)
        if (!contains(answering, node)) cause += ", and node " + node + " does not answer";
      if (answering.empty()) return give_up("no node of the job answers");
      const size_t left = std::min(used, answering.size());
      ranks = std::max(1, ranks * static_cast<int>(left) / static_cast<int>(used));
      nodes = answering, used = left;
    }
    log::warn("{}: starting {} again from iteration {} (restart {} of {})", cause, counted(ranks, "rank"), saved,
              restarts + 1, rule.most);
    setenv(kCause, fmt::format("{}; from iteration {}", cause, saved).c_str(), 1);
    words = command_to_continue(command.front(), given, report.directory(), ranks, report.num_envs_total());
  }
}

void report_run(const fs::path& directory, int64_t num_envs_total) {
  add_to_report(fmt::format("{}\n{}\n", directory.string(), num_envs_total));
}

void report_common_end() { add_to_report(kCommonEnd); }

std::string restart_cause() {
  const char* cause = std::getenv(kCause);
  return cause ? cause : "";
}

std::vector<std::string> command_to_continue(const std::string& program, const std::vector<NamedValue>& given,
                                             const std::string& directory, int ranks, int64_t num_envs_total) {
  std::vector<std::string> words = {program, "--load_run=" + directory, fmt::format("--ranks={}", ranks)},
                           replaced = {"load_run", "ranks", "run_name", "resume", "checkpoint", "init_from", "fresh"};
  if (num_envs_total % ranks == 0) {
    words.push_back(fmt::format("--num_envs_total={}", num_envs_total));
    replaced.insert(replaced.end(), {"num_envs", "num_envs_total"});
  }
  for (const NamedValue& option : given)
    if (!contains(replaced, option.name)) words.push_back(fmt::format("--{}={}", option.name, option.value));
  return words;
}

}  // namespace drl
