// Chooses a run's directory, decides whether the run is new or resumes, and manages its files. Only rank 0 uses this.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/typed_path.hpp"
#include "run/run_lock.hpp"
#include "run/train_options.hpp"

namespace drl {

// The facts that identify a run, in addition to its options.
struct RunContext {
  std::string task;
  std::string job_id;      // the Slurm job, empty outside a job
  std::string timestamp;   // names a run without --run_name and job
  bool continued = false;  // the job was requeued, or continues one that was stopped
};

enum class StartFrom { scratch, resume, checkpoint, weights };

// How a run starts.
struct RunStart {
  std::filesystem::path directory;
  StartFrom from = StartFrom::scratch;
  std::vector<std::filesystem::path> checkpoints =
      {};                                           // candidates to load, newest first; the first intact one is used
  bool move_old_aside = false;                      // --fresh, and a run of this name exists
  std::string notice = {};                          // one line for the user, or empty
  std::shared_ptr<RunLock> lock = {};               // set by claim_run
  std::filesystem::path busy = {};                  // this job's run that would be resumed if it were not in use
  std::vector<std::filesystem::path> damaged = {};  // checkpoints that could not be loaded
  // Set by load_start: what --init_from does not find in the checkpoint begins as the options say.
  bool has_new_critic = false, has_new_std = false;
  std::string loaded = {};  // by load_start, of a new run: "runs/T/a/checkpoints/iter_000100.h5, iteration 100 of T"
};

// The facts in the run.json of a run's directory. A fact that is missing there is "".
struct RecordedRun {
  std::string task, library, status;
};
RecordedRun recorded_run(const std::filesystem::path& run);

// Returns the run that --resume or --load_run selects; the options in its options.ini are then used unless --config or
// the command line sets them. Without a task in `context`, looks among the runs of all tasks. Returns nullopt if
// neither was given. Throws UsageError if no such run exists. Writes nothing.
std::optional<std::filesystem::path> run_to_resume(const RunOptions& options, const RunContext& context);

// A run that is to start.
struct RunRequest {
  const RunOptions& options;
  const OptionTable& table;  // of all final options
  RunContext context;
};

// Decides how the run starts, as docs/reference/runs.md, "Resume" describes. `own_lock` is the lock that this process
// already holds, or null. Writes nothing. Throws UsageError.
RunStart plan_run(const RunRequest& request, const RunLock* own_lock = nullptr);

// Throws UsageError if the directory could not be created, or if its files could not be written. Writes nothing.
void require_writable(const std::filesystem::path& run);

// Calls plan_run and locks the run's directory. Programs that start at the same time get separate runs, unless the user
// named the run; throws UsageError if a named run is in use. Creates at most the directory and its lock: a RunDirectory
// creates the other files.
RunStart claim_run(const RunRequest& request);

// Returns the file that --checkpoint or --init_from names, or "".
std::string origin_of(const RunOptions& options);

// Returns the text of the run's options.ini. Throws UsageError if it is missing or empty.
std::string recorded_options(const std::filesystem::path& run);
// Returns the name of an iteration's checkpoint without its extension: "iter_000150".
std::string checkpoint_name(int64_t iteration);
// Returns `<run>/checkpoints/iter_<number>.h5`, newest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);
// Returns `given` if it is a file, or the newest checkpoint if it is a run directory or a run's name. A task's
// directory and latest/ in it stand for its newest run that has a checkpoint. Paths may be relative to the directory of
// all runs (`runs_dir`, or the default of runs_folder()). "pretrained/NAME" is a policy that was installed with drl
// (run/pretrained.hpp). Throws UsageError.
std::filesystem::path find_checkpoint(const std::filesystem::path& given, const std::string& runs_dir = "");

// An open run directory, locked until this object is destroyed.
class RunDirectory {
 public:
  // Creates the directory, or opens it to resume. When resuming, renames damaged checkpoints, so that they do not count
  // as newer than those that the run will save. Throws UsageError if it cannot be written or is locked by another
  // process.
  explicit RunDirectory(const RunStart& start);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The kind of lock: "file system" or "file".
  std::string lock_kind() const { return lock_->why_no_locks().empty() ? "file system" : "file"; }
  // Returns true unless another process has taken over the run.
  bool is_mine() const { return lock_->is_mine(); }
  // Returns false if the directory was removed or renamed.
  bool exists() const;
  // Throws Error if another process has taken over the run, or if the directory was removed or renamed.
  void require_usable() const;
  std::filesystem::path checkpoint(int64_t iteration) const;
  // Makes best.h5 a link to the checkpoint of `iteration`, or a copy if the file system has no links.
  void mark_best(int64_t iteration) const;
  // Deletes all checkpoints except the newest `keep`, the best one, and those in `needed`.
  void prune(int keep, const std::vector<std::filesystem::path>& needed) const;
  // Returns true if the file STOP exists, and removes it so that the run can be resumed later.
  bool take_stop_request() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<RunLock> lock_;
};

}  // namespace drl
