// The directory of all runs.
#pragma once

#include <filesystem>
#include <string>

namespace drl {

// Returns the directory of all runs: `runs_dir`, else $DRL_RUNS_DIR, else "runs".
std::filesystem::path runs_folder(const std::string& runs_dir = "");
// Returns `path` if it exists. Otherwise looks for it in the directory of all runs, for example for "Cartpole/latest"
// or "runs/Cartpole/latest". Returns `path` if it does not exist there either.
std::filesystem::path in_runs_folder(const std::filesystem::path& path, const std::string& runs_dir = "");

}  // namespace drl
