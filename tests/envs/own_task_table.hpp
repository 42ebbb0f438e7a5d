#pragma once

#include "drl/task_abi.hpp"

namespace drl {

// The tests' own tasks.
const TaskLibrary& test_tasks();

}  // namespace drl
