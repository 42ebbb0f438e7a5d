// Tasks by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drl/task_spec.hpp"
#include "envs/task_envs.hpp"

namespace drl {

// Adds a library's tasks; ours (tasks/own_tasks.hpp) are there from the start. `origin` is what to call the library in
// errors and lists. Throws UsageError if a name is taken or a record says that it cannot be used; then none is added.
// Before other threads look tasks up. The library must stay.
void register_tasks(const TaskLibrary& library, const std::string& origin);
// In the order in which they were added.
std::vector<std::string> task_names();

// Each throws UsageError, naming the nearest known task, if there is no such task.
const TaskRecord& task_record(std::string_view task);
std::string task_origin(std::string_view task);  // "" of ours
std::unique_ptr<VecEnv> make_env(std::string_view task, EnvConfig config, Queue& queue);
// With these params (TaskParams::bytes), by default the task's own.
TaskSpec task_spec(std::string_view task, const std::vector<std::byte>& params = {});
std::string_view task_preset(std::string_view task);  // in the syntax of --config files

}  // namespace drl
