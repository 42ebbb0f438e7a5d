// Tasks of others: shared libraries that drl_add_task_library has made.
#pragma once

#include <string>
#include <vector>

namespace drl {

struct TaskLibraryFile {
  std::string file;      // with its folders
  std::string build;     // "libmy_tasks.so (build 3fa2c1d09b7e)": what the file is, wherever it lies
  std::string compiler;  // which made it
  std::vector<std::string> tasks;
};

// Loads the libraries `given` and those of DRL_TASK_LIBRARIES (a list with colons), in this order, each file once;
// their tasks are in the table then (make_env.hpp). Throws UsageError that names the file if one cannot be used: then
// none of its tasks is there. Before there are threads.
void load_task_libraries(const std::vector<std::string>& given);
// As that, those that lie in lib/drl/tasks of this installation. The table does it when it is asked for a task that it
// does not know without them, or for all tasks.
void load_installed_task_libraries();
// As that, of one file.
void load_task_library(const std::string& file);

// Those that were loaded, in their order.
const std::vector<TaskLibraryFile>& task_libraries();
// That of the task; null of a task of ours.
const TaskLibraryFile* task_library_of(const std::string& task);
// What that library is; "" of a task of ours.
std::string task_library_build(const std::string& task);
// The option that names it: {} of a task of ours or of an installed library, else {"--task_library", file}.
std::vector<std::string> task_library_option(const std::string& task);
// Of all: "" or "libmy_tasks.so (build 3fa2c1d09b7e), libother.so (...)".
std::string task_library_builds();

}  // namespace drl
