#include "placement/stop.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>

#include "base/check.hpp"
#include "base/enum_table.hpp"
#include "placement/relaunch.hpp"

namespace drl {
namespace {

struct Row {
  int exit_code;
  const char* name;
  int signals[2];    // that make the request; 0 for none
  int through_srun;  // the signal that passes it on
};

// The effect of each signal (docs/howto/cluster.md, "Signals"). A second SIGINT, more than a second
// after the first, ends the process.
constexpr auto kRows = by_enum<Stop, Row>(
    Stop::terminated,
    {
        {Stop::none, {kDone, "", {}, 0}},
        {Stop::time_limit, {kContinue, "the job's time limit or ulimit -t", {SIGXCPU}, SIGUSR1}},
        {Stop::to_be_continued, {kContinue, "SIGUSR1, SIGUSR2 or the file STOP", {SIGUSR1, SIGUSR2}, SIGUSR1}},
        {Stop::passed_on, {kContinue, "a signal", {}, SIGUSR2}},
        {Stop::interrupted, {kInterrupted, "SIGINT", {SIGINT}, SIGUSR2}},
        {Stop::terminated, {kTerminated, "SIGTERM or SIGHUP", {SIGTERM, SIGHUP}, SIGUSR2}},
    });

const Row& row_of(Stop stop) { return kRows[static_cast<size_t>(stop)]; }

Stop meaning[NSIG];  // of each signal, for the handler
std::atomic<int> requested{0};
std::atomic<int64_t> interrupted_at{0};  // when the first SIGINT came, in ms
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

// One SIGINT may arrive twice: directly, and from the launcher that received it too (pkill -INT drl_train).
bool is_second_interruption() {
  constexpr int64_t kOneSignal = 1000;  // ms
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
  int64_t first = 0;
  return !interrupted_at.compare_exchange_strong(first, ms) && ms - first >= kOneSignal;
}

std::atomic<bool> stops_are_requests{false}, is_first_rank{true};

void on_signal(int signal) {
  if (const int code = row_of(meaning[signal]).exit_code; !stops_are_requests && code >= kInterrupted) {
    constexpr char kMessage[] = "stopped by a signal before the training began\n";
    if (is_first_rank && write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) {  // nobody reads it
    }
    _exit(code);
  }
  if (meaning[signal] == Stop::interrupted && is_second_interruption()) _exit(kInterrupted);
  note_stop(meaning[signal]);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// SIGXCPU comes at the soft limit of CPU time and SIGKILL at the hard one. `ulimit -t` sets both to the same number, so
// the soft one is lowered by as much as --time_margin leaves by default: a tenth, from 1 to 60 s.
void leave_cpu_time_to_save() {
  rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return;
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max - std::clamp<rlim_t>(limit.rlim_max / 10, 1, 60));
  setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace

int exit_code_of(Stop stop) { return row_of(stop).exit_code; }

const char* name_of(Stop stop) { return row_of(stop).name; }

Stop stop_of(int signal, bool through_srun) {
  if (through_srun && signal == row_of(Stop::passed_on).through_srun) return Stop::passed_on;
  const auto makes = [&](const Row& row) { return std::ranges::find(row.signals, signal) != std::end(row.signals); };
  const auto* found = signal > 0 ? std::ranges::find_if(kRows, makes) : std::end(kRows);
  return found == std::end(kRows) ? Stop::none : static_cast<Stop>(found - std::begin(kRows));
}

int signal_through_srun(Stop stop) { return row_of(stop).through_srun; }

// The exit codes of a stop increase with its precedence.
int exit_code_after(int code, Stop passed_on) {
  const bool stopped = code == kContinue || code == kInterrupted || code == kTerminated;
  const bool killed = passed_on != Stop::none && code == 128 + signal_through_srun(passed_on);
  return stopped ? std::max(code, exit_code_of(passed_on)) : killed ? exit_code_of(passed_on) : code;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::vector<int> stop_signals() {
  std::vector<int> signals;
  for (const Row& row : kRows)
    for (const int signal : row.signals)
      if (signal > 0 && !(signal == SIGHUP && is_ignored(signal))) signals.push_back(signal);
  return signals;
}

void catch_stop_signals() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(variable)) is_first_rank = is_first_rank && std::strcmp(rank, "0") == 0;
  const bool through_srun = started_through_srun();
  for (const int signal : stop_signals()) {
    meaning[signal] = stop_of(signal, through_srun);
    handle(signal, on_signal);
  }
  handle(SIGPIPE, [](int) {});  // unlike SIG_IGN, programs that this one starts do not inherit a handler
  leave_cpu_time_to_save();
}

void take_stops_as_requests() { stops_are_requests = true; }

void note_stop(Stop stop) {
  const int wanted = static_cast<int>(stop);
  for (int before = requested; before < wanted && !requested.compare_exchange_weak(before, wanted);) {
  }
}

Stop requested_stop() { return static_cast<Stop>(requested.load()); }

}  // namespace drl
