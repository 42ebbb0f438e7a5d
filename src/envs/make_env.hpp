// Looks up tasks by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drl/task/spec.hpp"
#include "envs/task_envs.hpp"

namespace drl {

// Adds a library's tasks to the table, which contains the built-in tasks (tasks/builtin_tasks.hpp) from the start.
// `origin` is the library's name in errors and lists. Throws UsageError, and adds none of the tasks, if a name is taken
// or a task cannot be used. Call it before other threads look up tasks. The library must remain loaded.
void register_tasks(const TaskLibrary& library, const std::string& origin);
// Returns drl's name of the task if `name` is another project's name of the same task (other_names.hpp), else `name`.
std::string own_task_name(const std::string& name);
// Returns the names of all tasks, in the order in which they were added.
std::vector<std::string> task_names();

// These functions throw UsageError, with the closest match, if the task does not exist.
const TaskRecord& task_record(std::string_view task);
std::string task_origin(std::string_view task);  // "" for built-in tasks
std::unique_ptr<VecEnv> make_env(std::string_view task, EnvConfig config, Queue& queue);
// Returns the task as its learner sees it, with the options of `setup`, or with their defaults.
TaskSpec task_spec(std::string_view task, const EnvSetup& setup = {});
std::string_view task_preset(std::string_view task);  // in the syntax of --config files

// Returns whether the cores of a rank step the task's robot even if the rank's learner is on a GPU: if the options say
// so, or if the robot has no code for GPUs.
bool is_robot_on_cores(const EnvSetup& setup);

}  // namespace drl
