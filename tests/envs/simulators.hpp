#pragma once

#include "envs/make_env.hpp"

namespace drl {

// Returns Arm, the simulator of examples/own_simulator, and then those of small_simulators.hpp.
const TaskLibrary& test_simulators();

// Registers them by name. Further calls do nothing.
inline void register_test_simulators() {
  [[maybe_unused]] static const bool once = (register_tasks(test_simulators(), "a test"), true);
}

}  // namespace drl
