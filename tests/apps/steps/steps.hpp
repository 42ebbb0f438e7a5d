// Helpers for the tests of drl_train's steps.
#pragma once

#include "apps/learner.hpp"
#include "apps/loading.hpp"

namespace drl::test {

// Returns the settings of `drl_train --task CartPole-v1` with small networks and these arguments.
inline std::unique_ptr<RunPlan> settings_of(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"drl_train",           "--task", "CartPole-v1", "--num_envs", "8",
                                    "--num_steps_per_env", "16"};
  for (const char* net : {"actor", "critic"})
    words.insert(words.end(), {"--policy." + std::string(net) + "_hidden_dims", "4"});
  words.insert(words.end(), more.begin(), more.end());
  return std::make_unique<RunPlan>(Settings(words), RunTexts(), std::vector<NamedValue>());
}

// Returns the workplace of a rank on the CPU, with default values.
inline Workplace plain_workplace(int world_size = 1) {
  Workplace place;
  place.isa = available_isas().back();
  place.world_size = world_size;
  return place;
}

}  // namespace drl::test
