// What libmujoco does with a model in random motion. Some choices of the compiler follow from it: how many contacts
// lanes have places for, and how stiff contacts become.
#pragma once

#include <vector>

#include "drl/physics/mujoco_model.hpp"

namespace drl::robot_compiler {

struct VisitedContact {
  int first = 0, second = 0;  // MuJoCo's indices of the geoms
  double depth = 0;           // how far the geoms are inside the margin
};
struct VisitedStep {
  std::vector<VisitedContact> contacts;
};

class VisitedStates {
 public:
  // If tries_float, computes errors of float, too.
  VisitedStates(const mjModel& model, bool tries_float) : m_(model), tries_float_(tries_float) {}
  // Returns all steps. Runs the model the first time it is called.
  const std::vector<VisitedStep>& steps();
  // Returns the errors of float (physics/float_error.hpp) in every third step with contacts.
  const std::vector<double>& float_errors() { return steps(), float_errors_; }

 private:
  const mjModel& m_;
  bool tries_float_;
  std::vector<VisitedStep> steps_;
  std::vector<double> float_errors_;
};

}  // namespace drl::robot_compiler
