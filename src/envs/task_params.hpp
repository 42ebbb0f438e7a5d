#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "drl/task/abi.hpp"
#include "envs/env_setup.hpp"
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
  // Returns whether the option `name` ("env.gravity") is a member of the task's Params.
  bool is_param(const std::string& name) const;
  // Returns the facts that decide whether these options have an effect.
  std::vector<Circumstance> circumstances() const;
  // Returns the robot's properties, or null if the task is not a robot. Throws like choose_physics().
  const RobotFacts* robot_facts() const { return record_.robot ? &inspection().facts : nullptr; }

  // Returns the options as environments use them. Throws like choose_physics().
  EnvSetup setup() const;

 private:
  // The facts about a robot that the library reads from its model.
  struct Inspection {
    RobotSetup robot;  // that was inspected
    RobotFacts facts{};
    std::string why_not_lanes;  // "" if lanes can be used
    bool is_mistaken = false;   // the file that was found is not the compiled model
  };
  // Inspects the robot, unless the last inspection was of the same one.
  const Inspection& inspection() const;
  // Returns the robot without the members that inspection() finds out. Throws UsageError if the network of the motors
  // cannot be read.
  RobotSetup robot() const;
  // Writes the options to the members of Params.
  std::vector<std::byte> params(const TaskRecord& record) const;
  std::vector<float> weights(double dt) const;
  std::vector<float> model_bounds(const TaskRecord& record, const RobotSetup& robot) const;
  // Returns the record of the robot in lanes that these options need, or null.
  const TaskRecord* record_in_lanes() const {
    return model_numbers_.ranges().empty() ? record_.robot->in_lanes : record_.robot->randomised;
  }
  // Returns why lanes cannot be used, or "". Throws UsageError if they cannot be used but are required.
  std::string check_lanes() const;
  bool is_in_lanes() const { return record_.robot && physics_ != "mujoco" && check_lanes().empty(); }

  const TaskRecord& record_;
  std::vector<std::variant<bool, int, double, std::string, std::vector<double>>> values_;  // [param_count]
  std::vector<double> weights_;  // [reward_term_count], or empty
  std::string model_;            // for a robot
  int frame_skip_ = 0;
  WrapperOptions wrappers_;
  ModelOptions model_numbers_;
  std::string physics_ = "auto", device_ = "auto", why_not_in_lanes_;
  mutable std::optional<Inspection> inspection_;  // the last one
};

}  // namespace drl
