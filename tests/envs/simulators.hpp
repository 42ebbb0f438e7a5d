#pragma once

#include "drl/task/abi.hpp"

namespace drl {

// Returns Arm, the simulator of examples/own_simulator, and then those of small_simulators.hpp.
const TaskLibrary& test_simulators();

}  // namespace drl
