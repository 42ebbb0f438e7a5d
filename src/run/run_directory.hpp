// Where a run leaves its files, and whether it is a new one or goes on. Only rank 0 uses this.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "run/train_options.hpp"

namespace drl {

// What decides a run's identity, besides the options.
struct RunContext {
  std::string task;
  std::string job_id;     // Slurm's, empty outside a job
  std::string timestamp;  // names a run that nothing else names
};

enum class StartFrom { scratch, resume, checkpoint, weights };

// How a run begins.
struct RunStart {
  std::filesystem::path directory;
  StartFrom from = StartFrom::scratch;
  std::vector<std::filesystem::path> checkpoints;  // to load from: the first that is not damaged
  bool move_old_aside = false;                     // --fresh: there is a run of this name
  std::string notice;                              // one line for the user, empty if there is nothing to say
};

// The run that --resume or --load_run names, whose options.ini then lies under the command line's options; nullopt if
// neither was given. Throws UsageError if there is no such run. Reads only.
std::optional<std::filesystem::path> run_to_resume(const RunOptions& options, const RunContext& context);

// Decides as README, "Runs" says. `table` holds the final options. Reads only; throws UsageError.
RunStart plan_run(const RunOptions& options, const OptionTable& table, const RunContext& context);

// `<run>/checkpoints/iter_*.h5`, newest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);
// The checkpoint that `path` means: itself if it is a file, the newest of a run directory. Throws UsageError.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// An open run directory, locked as long as it lives.
class RunDirectory {
 public:
  // Creates it, or opens it to resume. Throws UsageError if it cannot be written or another process has it.
  explicit RunDirectory(const RunStart& start);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint(int64_t iteration) const;
  // Points best.h5 to that iteration's checkpoint.
  void mark_best(int64_t iteration) const;
  // Deletes all but the newest `keep` checkpoints and the best.
  void prune(int keep) const;
  // Renames checkpoints that cannot be read, so that newer ones of the same run are not mistaken for older ones.
  void set_aside(const std::vector<std::filesystem::path>& damaged) const;
  // True if the file STOP is there; removes it, so that the run can go on later.
  bool take_stop_request() const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace drl
