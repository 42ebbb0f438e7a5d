// A lock for file systems that have none (Lustre mounted without flock): a file that says who holds it.
//
// `<folder>/.lock.owner.<n>` is created exclusively, which NFS and Lustre do on their server, and the highest n counts.
// Who finds its owner gone creates n + 1, which only one of several can: nothing is ever removed that another process
// may have taken meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.hpp"

namespace drl {

// What the file says.
struct LockOwner {
  std::string host, boot, processes;  // where the pid is one: host, its boot, its namespace of processes
  int64_t pid = 0;
  int64_t start_time = 0;    // of the process, in ticks since the boot: pids are used again
  std::string cluster, job;  // Slurm's, empty outside of a job
  int restart = 0;           // how often the job was requeued
  bool released = false;
};

constexpr double kHeartbeat = 30;        // s between two signs of life
constexpr double kHeartbeatLimit = 900;  // s without one, after which the owner counts as gone

// What one who wants the lock knows.
struct OwnerFacts {
  LockOwner me;
  std::optional<int64_t> start_time = {};  // of the process here that has the owner's pid; nullopt: there is none
  std::optional<std::string> job_state =
      {};                    // squeue's word, "" if it does not know the owner's job; nullopt: not asked
  double heartbeat_age = 0;  // s, by the clock of the file system
};

// True only if it cannot be that the owner still writes. Pure.
bool owner_is_gone(const LockOwner& owner, const OwnerFacts& facts);
// Would squeue's word decide? Pure.
bool squeue_decides(const LockOwner& owner, const LockOwner& me);

// Does a lock file keep `folder` for a process that is not gone? squeue is asked at most once a minute.
bool has_lock_file(const std::filesystem::path& folder);

class LockFile {
 public:
  // Null if another process has it. Throws std::system_error if there can be no such file.
  static std::unique_ptr<LockFile> take(const std::filesystem::path& folder);
  // Leaves the file, marked as released, or removes it.
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  void remove_at_end() { remove_ = true; }  // allowed to who has made the folder only
  // No other process took it for gone, because it stood still for long.
  bool is_mine() const;

 private:
  LockFile(Descriptor folder, int64_t number);
  void beat();

  Descriptor folder_;  // and no path: the folder may be renamed
  int64_t number_;
  bool remove_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace drl
