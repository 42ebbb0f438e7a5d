#pragma once

#include "drl/task/abi.hpp"

namespace drl {

// Returns the built-in tasks, in the form of a task library. Do not call it before main().
const TaskLibrary& builtin_tasks();

}  // namespace drl
