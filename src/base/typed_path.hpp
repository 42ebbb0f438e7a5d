// Paths as users type them (in options, config files and environment variables), the directory of all runs, and the
// directory in which this program is installed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace drl {

// Returns the path that the value `text` of the option or variable `name` means. A leading ~ is the home directory:
// shells do not expand it in --runs_dir=~/runs or within quotes, and nothing expands it in a file. Throws UsageError
// for $NAME and ${NAME}, which a shell would have replaced, for ~user, and for control characters, such as the end of a
// line of a Windows file.
std::string typed_path(const std::string& name, std::string_view text);

// Returns the directory that contains the program's bin/ and lib/drl, in a build directory or an installation, also
// after it was moved.
std::filesystem::path installation();

// Returns the directory of all runs: `runs_dir`, else $DRL_RUNS_DIR, else "runs". Throws UsageError as typed_path()
// does.
std::filesystem::path runs_folder(const std::string& runs_dir = "");
// Returns `path` if it exists. Otherwise looks for it in the directory of all runs, for example for "Cartpole/latest"
// or "runs/Cartpole/latest". Returns `path` if it does not exist there either.
std::filesystem::path in_runs_folder(const std::filesystem::path& path, const std::string& runs_dir = "");

// runs/<task>/latest, a directory with links to the files of the task's newest run.
constexpr const char* kLatest = "latest";
// Returns the run that latest/ stands for, if `path` is that, and the target of any other link; otherwise `path`. On a
// file system without links, latest/ is empty or missing, and stands for the run that wrote its run.json last.
std::filesystem::path run_of(const std::filesystem::path& path);

}  // namespace drl
