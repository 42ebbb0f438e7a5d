// Ends a run if a rank has stopped. MPI itself would wait for this rank for ever.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "comm/node_memory.hpp"

namespace drl {

// A thread of each rank checks how long the rank has been waiting in one collective. The ranks of a host see each
// other's progress in shared memory, and the thread makes no MPI calls. The time in which the job was suspended does
// not count. After `seconds`, ranks of this host that have been stopped (SIGSTOP) end the run. A rank of this host that
// is still at work, such as rank 0 during an evaluation, never does. If all ranks of this host wait, the others are on
// another host, and the run ends after four times `seconds`. The thread then prints an error that names the ranks,
// kills the stopped ones, and ends this process with kFailure, after which the launcher ends all others.
class StallWatch {
 public:
  // Collective over `comm`. `hosts`: the host of each rank of `comm`.
  StallWatch(MPI_Comm comm, double seconds, std::vector<std::string> hosts);

  // The waiting of this rank in one collective.
  class Waiting {
   public:
    explicit Waiting(StallWatch* watch);  // null: nothing is watched
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StallWatch* watch_;
  };

 private:
  struct alignas(128) Progress {
    std::atomic<uint32_t> collectives;  // that the rank has entered, modulo 2^32
    std::atomic<int32_t> process, is_ending;
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

  StallWatch(MPI_Comm host, MPI_Comm comm, double seconds, std::vector<std::string> hosts);
  void watch(const std::stop_token& over);
  // Returns the positions in `ranks_` of this host's ranks whose processes are stopped.
  std::vector<size_t> stopped_ranks() const;
  // Returns whether another rank of this host has not reached this rank's collective.
  bool others_are_behind() const;
  [[noreturn]] void end(const std::vector<size_t>& stopped);

  std::vector<int> ranks_;  // of this host, in the order of `progress_`
  std::vector<std::string> hosts_;
  double seconds_;
  NodeMemory memory_;
  Progress* progress_;  // of each rank of this host; only of this rank, and its own, if the ranks cannot share memory
  Progress own_{};
  size_t mine_ = 0;
  std::atomic<bool> is_waiting_ = false;
  std::jthread thread_;
};

}  // namespace drl
