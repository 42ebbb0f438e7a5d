// The values of a task's options, as its environments use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drl/task/abi.hpp"
#include "envs/wrappers.hpp"

namespace drl {

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
