// Locks for exclusive use of a run directory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "run/lock_file.hpp"

namespace drl {

// Returns the type of the file `path`. Throws UsageError if the path cannot be accessed.
std::filesystem::file_type type_of(const std::filesystem::path& path);
inline bool path_exists(const std::filesystem::path& path) {
  return type_of(path) != std::filesystem::file_type::not_found;
}

// Throws the UsageError for a run directory that cannot be written.
[[noreturn]] void cannot_write(const std::filesystem::path& run, const std::string& why);

// Returns true if any process, including this one, holds a RunLock of the directory.
bool is_locked(const std::filesystem::path& run);

// While it exists, this process alone may use a run directory. The lock ends with the process, even a killed
// one: at once where the file system has locks, else when others find that the process is gone (run/lock_file.hpp).
// The destructor removes directories that take() created, unless keep() was called.
class RunLock {
 public:
  // Returns null if another process holds the lock, or if `must_be_new` and the directory exists. `mode`: permissions
  // of created directories. Throws UsageError if the directory cannot be written.
  static std::unique_ptr<RunLock> take(const std::filesystem::path& run, bool must_be_new = false, mode_t mode = 0777);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  void keep() { created_.clear(); }
  bool created(const std::filesystem::path& run) const { return !created_.empty() && created_.back() == run; }
  bool holds(const std::filesystem::path& run) const { return run_ == run; }
  // The reason why a lock file is used instead of a lock of the file system; "" if no lock file is used.
  const std::string& why_no_locks() const { return why_no_locks_; }
  // Returns false if another process has taken over the lock because this process was suspended for a long time.
  bool is_mine() const { return !lock_file_ || lock_file_->is_mine(); }

 private:
  RunLock() = default;
  enum class Outcome { taken, in_use, folder_gone };  // folder_gone: removed by the process that had created it
  // Returns null unless the outcome is `taken`, or if `must_be_new` and the directory exists.
  static std::unique_ptr<RunLock> attempt(const std::filesystem::path& run, bool must_be_new, mode_t mode,
                                          Outcome& outcome);
  Outcome lock();

  std::filesystem::path run_;
  std::vector<std::filesystem::path> created_;  // outermost first
  int file_ = -1;
  std::string why_no_locks_;
  std::unique_ptr<LockFile> lock_file_;
};

}  // namespace drl
