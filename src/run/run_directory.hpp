// Where a run leaves its files, and whether it is a new one or goes on. Only rank 0 uses this.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "run/run_lock.hpp"
#include "run/train_options.hpp"

namespace drl {

// What decides a run's identity, besides the options.
struct RunContext {
  std::string task;
  std::string job_id;      // Slurm's, empty outside a job
  std::string timestamp;   // names a run that nothing else names
  bool continued = false;  // the job was requeued, or follows one that was stopped
};

// Where all runs lie: --runs_dir, else $DRL_RUNS_DIR, else "runs".
std::filesystem::path runs_folder(const std::string& runs_dir);

enum class StartFrom { scratch, resume, checkpoint, weights };

// How a run begins.
struct RunStart {
  std::filesystem::path directory;
  StartFrom from = StartFrom::scratch;
  std::vector<std::filesystem::path> checkpoints = {};  // to load from: the first that is not damaged
  bool move_old_aside = false;                          // --fresh: there is a run of this name
  std::string notice = {};                              // one line for the user, empty if there is nothing to say
  std::shared_ptr<RunLock> lock = {};                   // claim_run's
  std::filesystem::path busy = {};                      // a run of this job that would be resumed, were it not in use
  std::vector<std::filesystem::path> damaged = {};      // of its checkpoints, those that could not be loaded
};

// The run that --resume or --load_run names, whose options.ini then lies under the command line's options; nullopt if
// neither was given. Throws UsageError if there is no such run. Reads only.
std::optional<std::filesystem::path> run_to_resume(const RunOptions& options, const RunContext& context);

// Decides as README, "Runs" says. `table` holds the final options. Reads only; throws UsageError. The caller's own
// lock, if it has one, is no other process's.
RunStart plan_run(const RunOptions& options, const OptionTable& table, const RunContext& context,
                  const RunLock* mine = nullptr);

// The same, and locks the run's directory: of several starts at once each gets a run of its own, unless its name was
// given. Throws UsageError if that is in use. Nothing but an empty directory is created before a RunDirectory is.
RunStart claim_run(const RunOptions& options, const OptionTable& table, const RunContext& context);

// What a run began from: the file that --checkpoint or --init_from names, or "".
std::string origin_of(const RunOptions& options);

// `<run>/checkpoints/iter_*.h5`, newest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);
// The checkpoint that `path` means: itself if it is a file, the newest of a run directory. Throws UsageError.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// An open run directory, locked as long as it lives.
class RunDirectory {
 public:
  // Creates it, or opens it to resume; then damaged checkpoints are renamed, so that newer ones of the same run are not
  // mistaken for older ones. Throws UsageError if it cannot be written or another process has it.
  explicit RunDirectory(const RunStart& start);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // "file system", or "file": of what kind the lock is.
  std::string lock_kind() const { return lock_->no_locks().empty() ? "file system" : "file"; }
  // No other process has taken the run over.
  bool is_mine() const { return lock_->is_mine(); }
  // Throws Error if one has.
  void require_lock() const;
  std::filesystem::path checkpoint(int64_t iteration) const;
  // Points best.h5 to that iteration's checkpoint.
  void mark_best(int64_t iteration) const;
  // Deletes all but the newest `keep` checkpoints, the best, and those that are `needed`.
  void prune(int keep, const std::vector<std::filesystem::path>& needed) const;
  // True if the file STOP is there; removes it, so that the run can go on later.
  bool take_stop_request() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<RunLock> lock_;
};

}  // namespace drl
