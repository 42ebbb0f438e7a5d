#include "run/stop.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/check.hpp"
#include "placement/mpirun.hpp"

namespace drl {
namespace {

std::atomic<int> requested{0};
std::atomic<int> interrupted_by{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  const Stop stop = signal == SIGUSR1                        ? Stop::to_be_continued
                    : signal == SIGTERM || signal == SIGALRM ? Stop::terminated
                                                             : Stop::interrupted;
  // One interruption may arrive twice: as SIGINT from Slurm, and as SIGUSR2 from the process that started this one.
  int first = 0;
  if (stop == Stop::interrupted && !interrupted_by.compare_exchange_strong(first, signal) && first == signal)
    _exit(kInterrupted);
  const int before = requested.load();
  if (before < static_cast<int>(stop)) requested.store(static_cast<int>(stop));
}

}  // namespace

int exit_code_of(Stop stop) {
  constexpr int codes[] = {kDone, kContinue, kContinue, kInterrupted, kTerminated};
  return codes[static_cast<int>(stop)];
}

const char* name_of(Stop stop) {
  constexpr const char* names[] = {"", "the job's time limit", "SIGUSR1 or the file STOP", "SIGINT", "SIGTERM"};
  return names[static_cast<int>(stop)];
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGUSR1, SIGINT, SIGUSR2, SIGTERM, SIGALRM, signal_for_ranks(SIGINT)})
    sigaction(signal, &action, nullptr);
}

Stop requested_stop() { return static_cast<Stop>(requested.load()); }

}  // namespace drl
