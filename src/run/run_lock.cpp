#include "run/run_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr const char* kLockFile = ".lock";
constexpr int kTries = 1000;  // each further try means that another process has just removed a directory

bool working_directory_is_gone() {
  struct stat status;
  return stat(".", &status) != 0 || status.st_nlink == 0;
}

// Creates the missing directories of `path` and returns them, outermost first. Leaves none behind if it fails. At any
// time, other processes may remove directories that they created; then the search for missing ones starts again.
std::vector<fs::path> create_folders(const fs::path& path, mode_t mode) {
  std::vector<fs::path> created;
  int tries = 0;
  for (bool complete = false; !complete;) {
    std::vector<fs::path> missing;
    for (fs::path folder = path; !folder.empty() && !path_exists(folder); folder = folder.parent_path())
      missing.push_back(folder);
    complete = true;
    for (; complete && !missing.empty(); missing.pop_back()) {
      const fs::path& folder = missing.back();
      if (mkdir(folder.c_str(), mode) == 0) {
        created.push_back(folder);
        continue;
      }
      const int why = errno;
      std::error_code error;
      if (why == EEXIST && fs::is_directory(folder, error)) continue;
      complete = false;
      // If the parent exists, this is a file system such as /proc, which refuses new directories.
      const bool removed = why == EEXIST
                               ? !fs::exists(fs::symlink_status(folder, error))
                               : why == ENOENT && folder.has_parent_path() && !fs::exists(folder.parent_path(), error);
      if (removed && ++tries < kTries) continue;
      for (; !created.empty(); created.pop_back()) rmdir(created.back().c_str());
      const bool homeless = path.is_relative() && working_directory_is_gone();
      cannot_write(path, homeless ? "the working directory was removed" : reason_of(why));
    }
  }
  return created;
}

// Describes a lock on the whole file. As an open file description lock, it ends when the process ends.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Returns true if the error means a file system without locks, such as Lustre mounted with noflock or NFS with nolock.
bool means_no_locks(int error) { return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP || error == EINVAL; }

}  // namespace

fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (error && type != fs::file_type::not_found)
    throw UsageError("cannot access " + path.string() + " (" + error.message() +
                     "): choose another directory with --runs_dir or DRL_RUNS_DIR");
  return type;
}

void cannot_write(const fs::path& run, const std::string& why) {
  throw UsageError("the run directory " + run.string() + " cannot be written (" + why +
                   "): choose another with --runs_dir or DRL_RUNS_DIR");
}

bool is_locked(const fs::path& run) {
  const int file = open((run / kLockFile).c_str(), O_RDONLY | O_CLOEXEC);  // it may be another user's
  if (file < 0) return has_lock_file(run);
  struct flock lock = whole_file();
  const bool locked = fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return locked || has_lock_file(run);
}

std::unique_ptr<RunLock> RunLock::take(const fs::path& run, bool must_be_new, mode_t mode) {
  for (int tries = 0; tries < kTries; ++tries) {
    Outcome outcome = Outcome::taken;
    std::unique_ptr<RunLock> lock = attempt(run, must_be_new, mode, outcome);
    if (outcome != Outcome::folder_gone) return lock;
  }
  cannot_write(run, "it disappears whenever it was created");
}

std::unique_ptr<RunLock> RunLock::attempt(const fs::path& run, bool must_be_new, mode_t mode, Outcome& outcome) {
  std::unique_ptr<RunLock> lock(new RunLock);
  lock->run_ = run;
  const fs::path path = run / kLockFile;
  int tries = 0;
  do {  // repeated if the process that had created the directory has just removed it
    const std::vector<fs::path> created = create_folders(run, mode);
    lock->created_.insert(lock->created_.end(), created.begin(), created.end());
    if (must_be_new && !lock->created(run)) return nullptr;
    lock->file_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  } while (lock->file_ < 0 && errno == ENOENT && ++tries < kTries);
  if (lock->file_ < 0) cannot_write(run, path.string() + ": " + reason_of(errno));
  outcome = lock->lock();
  if (outcome == Outcome::in_use) lock->keep();  // the other process owns the directory now
  if (outcome != Outcome::taken) return nullptr;
  // Another process may have been faster and have ended already: then the directory holds its run.
  if (path_exists(run / "checkpoints")) lock->keep();
  struct stat mine, there;
  const bool same = fstat(lock->file_, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino;
  return same ? std::move(lock) : nullptr;  // else the last holder has just removed the file
}

RunLock::Outcome RunLock::lock() {
  struct flock whole = whole_file();
  // A lock file may exist nevertheless, made on a node that mounts this file system without locks.
  if (fcntl(file_, F_OFD_SETLK, &whole) == 0) return has_lock_file(run_) ? Outcome::in_use : Outcome::taken;
  const int why = errno;
  if (why == EAGAIN || why == EACCES) return Outcome::in_use;
  if (!means_no_locks(why)) cannot_write(run_, (run_ / kLockFile).string() + ": " + reason_of(why));
  why_no_locks_ = reason_of(why);
  try {
    lock_file_ = LockFile::take(run_);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return Outcome::folder_gone;
    cannot_write(run_, "lock file: " + reason_of(error.code().value()));
  }
  return lock_file_ ? Outcome::taken : Outcome::in_use;
}

RunLock::~RunLock() {
  if (!created_.empty() && created_.back() == run_) {
    unlink((run_ / kLockFile).c_str());
    if (lock_file_) lock_file_->remove_at_end();
  }
  lock_file_.reset();
  for (; !created_.empty(); created_.pop_back())
    rmdir(created_.back().c_str());  // fails if the directory is not empty, which is intended
  if (file_ >= 0) close(file_);
}

}  // namespace drl
