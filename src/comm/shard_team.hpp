// Several shards of the environments in one process. Each shard learns as if it were a rank, with a communicator of its
// own. Sums over all shards are added in one tree, ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)), however many processes
// they are in, so that results do not depend on the number of processes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/thread_team.hpp"
#include "comm/communicator.hpp"

namespace drl {

class ShardTeam {
 public:
  // The processes have `shards` shards each. `ranks` connects the processes, must outlive the team, and adds in a tree
  // from now on. Collective.
  ShardTeam(int shards, Communicator& ranks);
  ~ShardTeam();
  ShardTeam(const ShardTeam&) = delete;
  ShardTeam& operator=(const ShardTeam&) = delete;

  // Calls work(shard, communicator) for each shard of this process, each in a thread, and waits for all calls. Rethrows
  // the first exception; the other shards then end as soon as they wait for the one that failed. The calling thread is
  // the only one that communicates with other processes.
  void run(const std::function<void(int shard, Communicator& comm)>& work);

 private:
  class Shard;
  struct Abandoned {};  // thrown in the shards that wait for one that has failed

  template <class T>
  void all_reduce(int shard, std::span<T> data);
  void fail(std::exception_ptr why);

  Communicator& ranks_;
  ThreadTeam threads_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::thread::id caller_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<void*> data_;  // of the shards that wait in an all-reduce
  size_t arrived_ = 0, bytes_ = 0;
  int64_t sums_ = 0;  // all-reduces that are done
  std::exception_ptr failure_;
};

}  // namespace drl
