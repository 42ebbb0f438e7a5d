// The options that let numbers of a robot's model differ between environments.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

// The options env.dr.*, of the section "env". The library of the robot's task knows what its model has
// (drl/physics/model_quantities.hpp).
class ModelOptions {
 public:
  ModelOptions();
  void describe(OptionVisitor& v);
  // Returns RobotChoice::ranges. Throws UsageError if an option is malformed.
  std::string ranges() const;
  bool any() const {
    return std::ranges::any_of(values_, [](const std::string& range) { return range != "none"; });
  }
  bool per_episode() const { return when_ == "reset"; }
  // Returns the file of the network that drives the motors, or "".
  std::string network() const { return has_network() ? network_ : ""; }
  // Makes the path of that file absolute.
  void make_absolute();

 private:
  bool has_network() const { return !network_.empty() && network_ != "none"; }

  std::vector<std::string> values_;  // of each quantity
  std::string push_body_ = "roots", network_ = "none", network_of_ = "*";
  std::string when_ = "reset";
};

}  // namespace drl
