// A lock for file systems without locks (such as Lustre mounted without flock): a file that names its owner.
//
// A process takes the lock by creating `<directory>/.lock.owner.<n>` exclusively, which is atomic on NFS and
// Lustre. The file with the highest n counts. A process that finds the owner gone creates n + 1, and only one process
// can succeed. No process ever removes a file that another process may have created meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.hpp"

namespace drl {

// The content of the lock file.
struct LockOwner {
  std::string host, boot, processes;  // the scope of the pid: host, boot id, pid namespace
  int64_t pid = 0;
  int64_t start_time = 0;    // of the process, in ticks since boot, because pids are reused
  std::string cluster, job;  // the Slurm job, empty outside a job
  int restart = 0;           // number of times the job was requeued
  bool released = false;
};

constexpr double kHeartbeat = 30;        // s between two updates of the file
constexpr double kHeartbeatLimit = 900;  // s without an update after which the owner counts as gone

// The facts about the owner that a process knows when it wants the lock.
struct OwnerFacts {
  LockOwner me;
  std::optional<int64_t> start_time = {};  // of the local process with the owner's pid; nullopt if none exists
  // The owner's job state from squeue, "" if squeue does not know the job; nullopt if squeue was not asked.
  std::optional<std::string> job_state = {};
  double heartbeat_age = 0;  // s, by the clock of the file system
};

// Returns true if the owner has released the lock, has ended, or has not updated the file for so long that it counts as
// gone. Pure.
bool owner_is_gone(const LockOwner& owner, const OwnerFacts& facts);
// Returns true if squeue should be asked for the state of the owner's job: it is another job of the same cluster, and
// its processes cannot be seen from here. Pure.
bool squeue_decides(const LockOwner& owner, const LockOwner& me);

// Returns true if a lock file reserves `folder` for a process that is not gone. Asks squeue at most once a minute.
bool has_lock_file(const std::filesystem::path& folder);

class LockFile {
 public:
  // Returns null if another process holds the lock. Throws std::system_error if the file cannot be created.
  static std::unique_ptr<LockFile> take(const std::filesystem::path& folder);
  // Marks the file as released, or removes it after remove_at_end().
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  void remove_at_end() { remove_ = true; }  // only for the process that created the directory
  // Returns false if another process has taken over the lock because this process was suspended for a long time.
  bool is_mine() const;

 private:
  LockFile(Descriptor folder, int64_t number);
  void run_heartbeat(const std::stop_token& over) const;

  Descriptor folder_;  // not a path, because the directory may be renamed
  int64_t number_;
  bool remove_ = false;
  std::jthread thread_;
};

}  // namespace drl
