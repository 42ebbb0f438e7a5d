// The loops of a task behind the border of task_abi.hpp.
#pragma once

#include "drl/task_abi.hpp"
#include "drl/task_kernels.hpp"

namespace drl {

// Of a robot's task whose model was not compiled there are no loops over lanes.
template <template <class> class Task>
inline constexpr bool kNotCompiled = requires {
  typename Task<float>::NotCompiled;
};

template <template <class> class Task>
DRL_HD ResetAll<Task> reset_of(const LoopCall& c) {
  return {Environments<Task>::of(c), *c.row, {c.step, c.group_size}, c.random_start_ages != 0};
}
template <template <class> class Task, bool BeginsOthers>
DRL_HD StepAll<Task, BeginsOthers> step_of(const LoopCall& c) {
  return {Environments<Task>::of(c), *c.row, c.step};
}

}  // namespace drl
