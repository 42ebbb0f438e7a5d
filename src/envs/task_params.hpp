#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "drl/task_abi.hpp"

namespace drl {

// A task's options: those that its Params::describe names, the weights of its reward's terms, and of a robot its model,
// its frame skip and what computes its physics.
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

  // Where a robot's physics is left open, from now on it is what `auto` means here; the path of its model is absolute.
  // Throws UsageError if that physics is not to be had, or if the model cannot be used.
  void choose_physics();
  // Then "lanes" or "libmujoco", and why it is not in lanes where that was left open; "" of a task that is no robot.
  std::string physics() const;
  const std::string& why_not_in_lanes() const { return why_not_; }
  // What is known of a robot; null of a task that is none. Throws as choose_physics.
  const RobotFacts* robot_facts() const { return record_.robot ? &looked().facts : nullptr; }

  // For EnvConfig, of record_of(them): Params, and behind them the weights as double, and of a robot what is chosen.
  // Throws as choose_physics.
  std::vector<std::byte> bytes() const;
  // The task itself, or the same on physics in lanes: what such bytes are for.
  static const TaskRecord& record_of(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Whether bytes are of this one.
  static bool fits(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // The weights in such bytes as a step takes them, times dt if they are per second; empty for a task without.
  static std::vector<float> scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // s, of a step.
  static double dt(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Of a robot behind libmujoco; it points into bytes.
  static std::optional<RobotChoice> robot_choice(const TaskRecord& record, const std::vector<std::byte>& bytes);

 private:
  // What the library says of a robot, which reads its model for that.
  struct Look {
    std::string model;  // of this one
    int frame_skip = 0;
    RobotFacts facts{};
    std::string no_lanes;  // why not; "" if they can be used
  };
  const Look& looked() const;
  std::string lanes_trouble() const;  // "" if they can be used, else why not
  bool is_in_lanes() const { return record_.robot && physics_ != "mujoco" && lanes_trouble().empty(); }

  const TaskRecord& record_;
  std::vector<std::variant<bool, int, double>> values_;  // [param_count]
  std::vector<double> weights_;                          // [reward_term_count], or none
  std::string model_;                                    // of a robot
  int frame_skip_ = 0;
  std::string physics_ = "auto", why_not_;
  mutable std::optional<Look> look_;  // the last one
};

}  // namespace drl
