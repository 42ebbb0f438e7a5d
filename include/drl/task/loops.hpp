// Makes a task's kernels from the arguments of a loop (drl/task/abi.hpp).
#pragma once

#include "drl/task/abi.hpp"
#include "drl/task/kernels.hpp"

namespace drl {

// True for a robot's task whose model was not compiled: it has no loops over lanes.
template <template <class> class Task>
inline constexpr bool kNotCompiled = requires {
  typename Task<float>::NotCompiled;
};

template <template <class> class Task>
DRL_HD ResetAll<Task> reset_of(const LoopCall& c) {
  return {Environments<Task>::of(c), *c.row, {c.step, c.group_size}, c.random_start_ages != 0};
}
template <template <class> class Task, bool ResetsEnded>
DRL_HD StepAll<Task, ResetsEnded> step_of(const LoopCall& c) {
  return {Environments<Task>::of(c), *c.row, c.step};
}

}  // namespace drl
