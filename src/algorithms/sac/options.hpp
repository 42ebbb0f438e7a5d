#pragma once

#include <optional>

#include "algorithms/off_policy_options.hpp"

namespace drl {

struct SacOptions : OffPolicyOptions {
  double initial_temperature = 1;
  double temperature_learning_rate = 1e-3;
  std::optional<double> target_entropy;
  bool compensate_delay = true;

  void describe(OptionVisitor& v) {
    OffPolicyOptions::describe(v);
    v("initial_temperature", initial_temperature, "initial weight of the policy's entropy", above(0), always);
    v("temperature_learning_rate", temperature_learning_rate,
      "learning rate of that weight's logarithm; 0 keeps the initial weight", between(0, 1), always);
    v("target_entropy", target_entropy,
      "entropy that the temperature aims at; none = -1 for each dimension of an action", any_number(),
      not_with("temperature_learning_rate", "0"));
    v("compensate_delay", compensate_delay,
      "after policy_delay updates of the critics, take as many steps of the actor, instead of one",
      not_with("policy_delay", "1"));
  }
};

}  // namespace drl
