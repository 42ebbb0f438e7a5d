// Compares a robot's physics in double, one lane at a time, with libmujoco.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "exact_robot.hpp"
#include "reference.hpp"

namespace drl::test {

class Compared {
 public:
  // `file` is the path of the robot's model, as Reference takes it.
  Compared(const std::string& file, std::unique_ptr<ExactRobot> robot);

  // Draws new frictions and centres of mass, if the model has parameters; of a randomised robot, all its numbers.
  void vary();
  // Continues from this state.
  void set(const RobotState& from);
  // Compares a step and all quantities of its last stage, and returns libmujoco's data.
  const mjData& expect_step(const RobotState& from);
  // Compares all quantities of a state without a step.
  const mjData& expect_evaluation(const RobotState& from);
  // Also accepts a state with more contacts between geoms than places if it counts as not solved.
  void expect_evaluation_or_no_place(const RobotState& from);
  // Evaluates a state, and returns the error of the accelerations and libmujoco's data.
  std::pair<double, const mjData*> evaluate(const RobotState& from);
  // Compares a run of this many steps. Its distance from libmujoco must be at most ten times the distance between
  // libmujoco's runs whose initial states differ by this relative distance, by default in their last bits.
  void expect_run(const RobotState& from, int steps, double distance = 1e-15);

  Reference reference;
  std::unique_ptr<ExactRobot> robot;

 private:
  struct Noise;
  template <class After>
  Noise noise_of(const RobotState& from, const After& after);
  template <class After>
  const mjData& expect_same(const RobotState& from, const After& after, void (ExactRobot::*compute)(), Noise& noise);
  void expect_stage(const mjData& d, const Noise& noise);
  void expect_derived(const mjModel& m, const mjData& d, const Noise& noise);
  void vary_all();

  std::unique_ptr<mjModel, DeleteModel> file_;  // the model without changes
  std::vector<double> limits_;                  // [nu, 2] force ranges of the changed model
};

}  // namespace drl::test
