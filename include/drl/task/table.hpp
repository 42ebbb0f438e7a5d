#pragma once

#include "drl/task/abi.hpp"

namespace drl {

// A task's GPU unit sets `loops` before main(). It stays null without GPU code.
template <template <class> class Task>
struct GpuLoopsOf {
  static inline const TaskLoops* loops = nullptr;
};

}  // namespace drl
