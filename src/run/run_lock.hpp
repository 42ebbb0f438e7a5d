// Exclusive use of a run directory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "run/lock_file.hpp"

namespace drl {

// What is there; throws UsageError where the system does not let us look.
std::filesystem::file_type type_of(const std::filesystem::path& path);
inline bool there_is(const std::filesystem::path& path) {
  return type_of(path) != std::filesystem::file_type::not_found;
}

[[noreturn]] void cannot_write(const std::filesystem::path& run, const std::string& why);

// Has another process, or this one, a RunLock of it?
bool is_locked(const std::filesystem::path& run);

// Exclusive use of a run directory while it lives. It ends with the process, however that ends: at once where the file
// system has locks, else when others see that the process is gone (run/lock_file.hpp). A directory that was created for
// it goes away with it, unless it was kept.
class RunLock {
 public:
  // Null if another process has it, or, with `must_be_new`, if the directory exists. `mode` is that of folders which
  // are created. Throws UsageError if it cannot be written.
  static std::unique_ptr<RunLock> take(const std::filesystem::path& run, bool must_be_new = false, mode_t mode = 0777);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  void keep() { created_.clear(); }
  bool created(const std::filesystem::path& run) const { return !created_.empty() && created_.back() == run; }
  bool holds(const std::filesystem::path& run) const { return run_ == run; }
  // Why it is a lock file and no lock of the file system; "" if it is one.
  const std::string& no_locks() const { return no_locks_; }
  // False if another process took this one for gone, because it stood still for long.
  bool is_mine() const { return !lock_file_ || lock_file_->is_mine(); }

 private:
  RunLock() = default;
  enum class Outcome { taken, in_use, folder_gone };  // the last: by the process that had made it
  Outcome lock();

  std::filesystem::path run_;
  std::vector<std::filesystem::path> created_;  // outermost first
  int file_ = -1;
  std::string no_locks_;
  std::unique_ptr<LockFile> lock_file_;
};

}  // namespace drl
