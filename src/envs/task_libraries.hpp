// Loads task libraries: shared libraries made by drl_add_task_library.
#pragma once

#include <string>
#include <vector>

namespace drl {

struct TaskLibraryFile {
  std::string file;      // absolute path
  std::string build;     // "libmy_tasks.so (build 3fa2c1d09b7e)", the same wherever the file is
  std::string compiler;  // that built it
  std::vector<std::string> tasks;
};

// Loads the libraries `given` and then those in DRL_TASK_LIBRARIES (a colon-separated list), each file once, and
// registers their tasks (make_env.hpp). Throws UsageError with the file's name, and registers none of its tasks, if a
// library cannot be used. Call it before threads are started.
void load_task_libraries(const std::vector<std::string>& given);
// Loads the libraries in lib/drl/tasks of this installation in the same way. make_env.hpp calls it when a task is not
// found otherwise, and to list all tasks.
void load_installed_task_libraries();
// Loads one library in the same way.
void load_task_library(const std::string& file);

// Loads the library that a run recorded, unless `task` is known or `file` is "". Throws UsageError, which names the
// file, if somebody else could have changed it: the file and its directory must belong to you or root, and only their
// owner may write to them.
void load_recorded_library(const std::string& task, const std::string& file);

// Returns the loaded libraries, in the order of loading.
const std::vector<TaskLibraryFile>& task_libraries();
// Returns the library of the task; null for a built-in task.
const TaskLibraryFile* task_library_of(const std::string& task);
// Returns the name and build of the task's library; "" for a built-in task.
std::string task_library_build(const std::string& task);
// Returns the absolute path of the task's library; "" for built-in tasks and for installed libraries.
std::string task_library_file(const std::string& task);
// Returns the option that loads the task's library, {"--task_library", file}. It is empty for built-in tasks and for
// installed libraries.
std::vector<std::string> task_library_option(const std::string& task);
// Returns the names and builds of all libraries: "" or "libmy_tasks.so (build 3fa2c1d09b7e), libother.so (...)".
std::string task_library_builds();

}  // namespace drl
