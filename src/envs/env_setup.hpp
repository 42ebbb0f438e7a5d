// The values of a task's options, as its environments use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "drl/task/abi.hpp"
#include "envs/delayed_envs.hpp"
#include "envs/grouped_envs.hpp"

namespace drl {

// The options of all wrappers, the innermost one first (recipe: docs/code.md). Each has describe(), for the section
// "env", and plan(task), which throws UsageError if the options do not fit the task. A plan has any(), which says
// whether environments are wrapped, spec(task), the task as a learner then sees it, and wrap(envs, config, queue).
using WrapperOptions = std::tuple<DelayOptions, GroupOptions>;

template <class... Options>
std::tuple<typename Options::Plan...> plans_of(const std::tuple<Options...>& wrappers, const TaskSpec& task) {
  return std::apply([&](const auto&... each) { return std::tuple{each.plan(task)...}; }, wrappers);
}
using WrapperPlans = decltype(plans_of(WrapperOptions(), TaskSpec()));

struct RobotSetup {
  std::string model;  // MJCF file: an absolute path, or the task's name for it
  int32_t frame_skip = 0;
  std::string ranges;                     // RobotChoice::ranges, which the task's library reads
  bool model_per_episode = false;         // RobotChoice::model_per_episode
  const MotorNetwork* network = nullptr;  // that drives the motors; or null
  double dt = 0;                          // s, per step of the task
  std::vector<float> model_bounds{};      // EnvArrays::model_bounds
  bool on_cores = false;                  // the host's threads step it, even if the learner is on a GPU

  bool operator==(const RobotSetup&) const = default;
  // The result points into this object.
  RobotChoice choice() const { return {model.c_str(), frame_skip, ranges.c_str(), model_per_episode ? 1 : 0, network}; }
};

struct EnvSetup {
  const TaskRecord* record = nullptr;  // the task, or the same task on compiled physics; null: the task's defaults
  std::vector<std::byte> params{};     // the task's Params: all of this that its library receives
  std::vector<float> weights{};        // of the reward terms, for one step; empty for a task without weights
  WrapperPlans wrappers{};
  std::optional<RobotSetup> robot{};  // of a task with a RobotRecord

  // Returns the network that drives the motors of a robot in lanes, or null.
  const MotorNetwork* network_in_lanes() const { return record->motors > 0 && robot ? robot->network : nullptr; }
};

}  // namespace drl
