// Sets a task's options in tests, as --env.NAME does.
#pragma once

#include <map>
#include <string>

#include "base/options.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"

namespace drl {

using OptionValues = std::map<std::string, std::string>;  // by name, without "env."

struct TaskOptions {
  explicit TaskOptions(const std::string& task, const OptionValues& values = {}) : TaskOptions(task_record(task)) {
    for (const auto& [name, value] : values) table.set("env." + name, value);
  }
  explicit TaskOptions(const TaskRecord& task) : params(task) { table.section("env", "Task", params); }

  TaskParams params;
  OptionTable table;
};

// Returns how the options set up environments, on the engine that they choose.
inline EnvSetup setup_with(const std::string& task, const OptionValues& values) {
  TaskOptions options(task, values);
  options.params.choose_physics();
  return options.params.setup();
}

}  // namespace drl
