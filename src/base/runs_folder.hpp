// The directory of all runs.
#pragma once

#include <filesystem>
#include <string>

namespace drl {

// Returns the directory of all runs: `runs_dir`, else $DRL_RUNS_DIR, else "runs". Throws UsageError as typed_path()
// does.
std::filesystem::path runs_folder(const std::string& runs_dir = "");
// Returns `path` if it exists. Otherwise looks for it in the directory of all runs, for example for "Cartpole/latest"
// or "runs/Cartpole/latest". Returns `path` if it does not exist there either.
std::filesystem::path in_runs_folder(const std::filesystem::path& path, const std::string& runs_dir = "");

// runs/<task>/latest, a directory with links to the files of the task's newest run.
constexpr const char* kLatest = "latest";
// Returns the run that latest/ stands for, if `path` is that, and the target of any other link; otherwise `path`.
std::filesystem::path run_of(const std::filesystem::path& path);

}  // namespace drl
