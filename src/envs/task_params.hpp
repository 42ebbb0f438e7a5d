#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "drl/task/abi.hpp"
#include "envs/delay_options.hpp"
#include "envs/grouped_envs.hpp"
#include "envs/model_options.hpp"

namespace drl {

// A file that an option of a task names.
struct OptionFile {
  std::string option, path;  // "env.motion"; absolute
};

// A task's options: the members that its Params::describe visits, the weights of its reward terms, and for a robot the
// model, the frame skip and the physics engine.
class TaskParams {
 public:
  explicit TaskParams(const TaskRecord& record);
  TaskParams(const TaskParams&) = delete;
  TaskParams& operator=(const TaskParams&) = delete;

  // Describes the options of the section "env"; rewards() describes the weights, for the section "env.reward".
  void describe(OptionVisitor& v);
  struct Rewards {
    TaskParams& params;
    void describe(OptionVisitor& v);
  };
  Rewards rewards() { return {*this}; }

  // For a robot: replaces the engine `auto` by the one to use here, and makes the path of the model absolute. Throws
  // UsageError if the chosen engine is not available, or if the model cannot be used.
  void choose_physics();
  // After choose_physics(): physics() returns "lanes" or "libmujoco", and why_not_in_lanes() the reason if `auto` did
  // not choose lanes. Both return "" if the task is not a robot.
  std::string physics() const;
  const std::string& why_not_in_lanes() const { return why_not_in_lanes_; }
  // Returns the files that options name, apart from a robot's model, after choose_physics().
  std::vector<OptionFile> files() const;
  // Returns the robot's properties, or null if the task is not a robot. Throws like choose_physics().
  const RobotFacts* robot_facts() const { return record_.robot ? &inspection().facts : nullptr; }
  // Returns whether actions or observations are delayed. Throws UsageError if a delay is malformed.
  bool has_delays() const { return delays_.plan(record_.step_limit).any(); }
  // Returns whether actor or critic observe other numbers than the task says.
  bool has_groups() const { return groups_.actor != "policy" || groups_.hidden != "none"; }

  // Returns the options as bytes, for EnvConfig: Params, then the weights as doubles, the delays and the groups of
  // observations, then for a robot its model, frame skip and engine, and what environments draw for its model. The
  // bytes belong to record_of(record, bytes). Throws like choose_physics().
  std::vector<std::byte> bytes() const;
  // Returns the record that the bytes belong to: the task itself, or the same task on compiled physics.
  static const TaskRecord& record_of(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns whether the bytes belong to this record.
  static bool fits(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns the weights in these bytes, multiplied by dt if they are per second; empty for a task without weights.
  static std::vector<float> scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns the seconds per step.
  static double dt(const TaskRecord& record, const std::vector<std::byte>& bytes);
  static DelayPlan delays(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns the range of the error of each observed number, [numbers, 2], or nothing.
  static std::vector<float> error_bounds(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns what actor and critic observe, and the numbers that are hidden from the actor.
  static GroupPlan groups(const TaskRecord& record, const std::vector<std::byte>& bytes);
  static std::vector<int32_t> hidden_numbers(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Replaces what the critic observes by all numbers of a group.
  static void set_critic(const TaskRecord& record, ObservationGroup critic, std::vector<std::byte>& bytes);
  // Returns EnvArrays::model_bounds, and whether environments draw these numbers at each reset.
  static std::vector<float> model_bounds(const TaskRecord& record, const std::vector<std::byte>& bytes);
  static bool model_per_episode(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns the network that drives the motors of a robot in lanes, or null.
  static const MotorNetwork* network(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns whether the host's threads step a robot that could run on the learner's GPU (--env.device cpu).
  static bool on_cores(const TaskRecord& record, const std::vector<std::byte>& bytes);
  // Returns the model and frame skip of a robot that libmujoco simulates, else nullopt. The result points into bytes.
  static std::optional<RobotChoice> robot_choice(const TaskRecord& record, const std::vector<std::byte>& bytes);

 private:
  // The facts about a robot that the library reads from its model.
  struct Inspection {
    std::string model;  // the inspected robot: model, frame skip, ranges, network of its motors
    int frame_skip = 0;
    std::string ranges, network;
    RobotFacts facts{};
    std::string why_not_lanes;  // "" if lanes can be used
    bool is_mistaken = false;   // the file that was found is not the compiled model
  };
  // Inspects the robot, unless the last inspection was of the same model and frame skip.
  const Inspection& inspection() const;
  // The result points into `ranges`. Throws UsageError if the network of the motors cannot be read.
  RobotChoice choice(const std::string& ranges) const;
  // Returns the record of the robot in lanes that these options need, or null.
  const TaskRecord* record_in_lanes() const {
    return model_numbers_.ranges().empty() ? record_.robot->in_lanes : record_.robot->randomised;
  }
  // Returns why lanes cannot be used, or "". Throws UsageError if they cannot be used but are required.
  std::string check_lanes() const;
  bool is_in_lanes() const { return record_.robot && physics_ != "mujoco" && check_lanes().empty(); }

  const TaskRecord& record_;
  std::vector<std::variant<bool, int, double, std::string>> values_;  // [param_count]
  std::vector<double> weights_;                                       // [reward_term_count], or empty
  std::string model_;                                                 // for a robot
  int frame_skip_ = 0;
  DelayOptions delays_;
  GroupOptions groups_;
  ModelOptions model_numbers_;
  std::string physics_ = "auto", device_ = "auto", why_not_in_lanes_;
  mutable std::optional<Inspection> inspection_;  // the last one
};

}  // namespace drl
