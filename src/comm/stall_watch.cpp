#include "comm/stall_watch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/threads.hpp"
#include "comm/mpi_check.hpp"
#include "comm/patience.hpp"
#include "comm/roll_call.hpp"

namespace drl {
namespace {

constexpr double kForMessage = 5;     // s that a rank has for printing the error
constexpr double kForOtherHosts = 4;  // times --comm_timeout: another host's rank may be at work alone

MPI_Comm ranks_of_this_host(MPI_Comm comm) {
  MPI_Comm host;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  return host;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

size_t size_of(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return static_cast<size_t>(size);
}

// Returns whether a process is stopped by a signal or a debugger.
bool is_stopped(int process) {
  const std::optional<ProcessStat> found = process_stat(std::to_string(process));
  return found && found->is_stopped();
}

}  // namespace

StallWatch::Waiting::Waiting(StallWatch* watch) : watch_(watch) {
  if (!watch_) return;
  watch_->progress_[watch_->mine_].collectives.fetch_add(1, std::memory_order_relaxed);
  watch_->is_waiting_.store(true, std::memory_order_relaxed);
}

StallWatch::Waiting::~Waiting() {
  if (watch_) watch_->is_waiting_.store(false, std::memory_order_relaxed);
}

StallWatch::StallWatch(MPI_Comm comm, double seconds, std::vector<std::string> hosts)
    : StallWatch(ranks_of_this_host(comm), comm, seconds, std::move(hosts)) {}

StallWatch::StallWatch(MPI_Comm host, MPI_Comm comm, double seconds, std::vector<std::string> hosts)
    : hosts_(std::move(hosts)), seconds_(seconds), memory_(host, size_of(host) * sizeof(Progress), [&](int file) {
        const auto bytes = static_cast<off_t>(size_of(host) * sizeof(Progress));
        return rank_in(host) != 0 || posix_fallocate(file, 0, bytes) == 0;
      }) {
  const int rank = rank_in(comm);
  if (memory_.get()) {
    ranks_.resize(size_of(host));
    check_mpi(MPI_Allgather(&rank, 1, MPI_INT, ranks_.data(), 1, MPI_INT, host), "MPI_Allgather");
    progress_ = reinterpret_cast<Progress*>(memory_.get());
    mine_ = static_cast<size_t>(rank_in(host));
  } else {
    ranks_ = {rank};
    progress_ = &own_;
  }
  progress_[mine_].process = static_cast<int32_t>(getpid());
  check_mpi(MPI_Barrier(host), "MPI_Barrier");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  thread_ = starting_thread([this] { return std::jthread([this](const std::stop_token& over) { watch(over); }); });
}

void StallWatch::watch(const std::stop_token& over) {
  Patience patience;
  for (uint32_t last = 0; sleep_unless(over, Patience::kTick / 2);) {
    const uint32_t now = progress_[mine_].collectives.load(std::memory_order_relaxed);
    if (!is_waiting_.load(std::memory_order_relaxed) || now != last) patience = Patience();
    last = now;
    const double waited = patience.seconds();
    if (waited < seconds_) continue;
    const std::vector<size_t> stopped = stopped_ranks();
    if (!stopped.empty() || (waited > kForOtherHosts * seconds_ && !others_are_behind())) end(stopped);
  }
}

std::vector<size_t> StallWatch::stopped_ranks() const {
  std::vector<size_t> result;
  for (size_t k = 0; k < ranks_.size(); ++k)
    if (k != mine_ && is_stopped(progress_[k].process)) result.push_back(k);
  return result;
}

bool StallWatch::others_are_behind() const {
  const uint32_t mine = progress_[mine_].collectives.load();
  return std::any_of(progress_, progress_ + ranks_.size(), [mine](const Progress& other) {
    return static_cast<int32_t>(other.collectives.load() - mine) < 0;
  });
}

// One rank of a host prints the error. The others leave it the time to do so, since a launcher ends all ranks as soon
// as one of them has ended.
void StallWatch::end(const std::vector<size_t>& stopped) {
  if (progress_[0].is_ending.exchange(1) == 1) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kForMessage));
    std::_Exit(kFailure);
  }
  std::vector<int> missing;
  for (const size_t k : stopped) missing.push_back(ranks_[k]);
  if (!missing.empty()) {
    log::error(
        "no answer from {} for {:g} s (stopped by SIGSTOP, SIGTSTP or a debugger): resume the run; --comm_timeout "
        "allows more time",
        ranks_text(missing, hosts_), seconds_);
  } else {
    log::error(
        "a collective of all ranks has not ended for {:g} s (all ranks of {} take part in it; another host may be "
        "down, or its ranks stopped): check the other hosts and resume the run; --comm_timeout allows more time",
        kForOtherHosts * seconds_, hosts_[ranks_[mine_]]);
  }
  // srun may wait for the stopped ranks (--no-kill, no KillOnBadExit). They are killed after the end of this process,
  // whose exit code is the one that a launcher then passes on.
  const pid_t killer = fork();
  if (killer <= 0) {
    if (killer == 0) sleep(1);
    for (const size_t k : stopped) kill(progress_[k].process, SIGKILL);
    if (killer == 0) _exit(kDone);
  }
  std::_Exit(kFailure);
}

}  // namespace drl
