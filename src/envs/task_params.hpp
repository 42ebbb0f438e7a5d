#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "drl/task_abi.hpp"

namespace drl {

// A task's options: those that its Params::describe names, the weights of its reward's terms, and of a robot what
// computes its physics.
class TaskParams {
 public:
  explicit TaskParams(const TaskRecord& record);
  TaskParams(const TaskParams&) = delete;
  TaskParams& operator=(const TaskParams&) = delete;

  // Those of Params, for a section "env", and the weights, for "env.reward".
  void describe(OptionVisitor& v);
  struct Rewards {
    TaskParams& params;
    void describe(OptionVisitor& v);
  };
  Rewards rewards() { return {*this}; }

  // Where a robot's physics is left open, from now on it is what `auto` means here. Throws UsageError if it is not to
  // be had, or if the robot's model cannot be used.
  void choose_physics();
  // Then "lanes" or "libmujoco", and why it is not in lanes where that was left open; "" of a task that is no robot.
  std::string physics() const;
  const std::string& why_not_in_lanes() const { return why_not_; }

  // For EnvConfig, of record_of(them): Params, and behind them the weights as double, and for a robot 1 if it is
  // computed in lanes, else 0. Throws as choose_physics.
  std::vector<std::byte> bytes() const;
  // The task itself, or the same on physics in lanes: what such bytes are for.
  static const TaskRecord& record_of(const TaskRecord& record, const std::vector<std::byte>& bytes);
  static size_t size(const TaskRecord& record);  // of bytes() without that last one
  // The weights in such bytes as a step takes them, times dt if they are per second; empty for a task without.
  static std::vector<float> scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes);

 private:
  // "" if they can be used, else why not.
  std::string lanes_trouble() const;
  bool is_in_lanes() const { return record_.robot && physics_ != "mujoco" && lanes_trouble().empty(); }

  const TaskRecord& record_;
  std::vector<std::variant<bool, int, double>> values_;  // [param_count]
  std::vector<double> weights_;                          // [reward_term_count], or none
  std::string physics_ = "auto", why_not_;
};

}  // namespace drl
