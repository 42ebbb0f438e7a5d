#pragma once

#include "drl/task_abi.hpp"

namespace drl {

// The simulator of examples/own_simulator, Arm, then those of small_simulators.hpp.
const TaskLibrary& test_simulators();

}  // namespace drl
