#pragma once

#include "drl/task_abi.hpp"

namespace drl {

// Our tasks, as a library of somebody else's would give them. Not before main.
const TaskLibrary& own_tasks();

}  // namespace drl
