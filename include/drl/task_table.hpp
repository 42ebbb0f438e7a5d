#pragma once

#include "drl/task_abi.hpp"

namespace drl {

// Where a task's GPU unit says before main that it is there.
template <template <class> class Task>
struct GpuLoopsOf {
  static inline const TaskLoops* loops = nullptr;
};

}  // namespace drl
