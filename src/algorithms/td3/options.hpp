#pragma once

#include "algorithms/off_policy_options.hpp"

namespace drl {

// The defaults are those of CleanRL's td3_continuous_action.
struct Td3Options : OffPolicyOptions {
  double exploration_noise = 0.1;
  double policy_noise = 0.2;
  double noise_clip = 0.5;

  Td3Options() { critic_learning_rate = 3e-4, learning_starts = 25000; }
  void describe(OptionVisitor& v) {
    OffPolicyOptions::describe(v);
    v("exploration_noise", exploration_noise,
      "standard deviation of the noise that is added to actions, as a part of half the range between their bounds",
      at_least(0), common, always);
    v("policy_noise", policy_noise, "standard deviation of the noise on the target actor's actions, in the same unit",
      at_least(0), always);
    v("noise_clip", noise_clip, "clip that noise to +- this value", at_least(0), not_with("policy_noise", "0"));
  }
};

}  // namespace drl
