// The loops of all tasks, once for each instruction set.
#include "device/hot_loop.hpp"
#include "envs/task_kernels.hpp"
#include "tasks/list.hpp"

namespace drl::DRL_ISA {

#define DRL_TASK_LOOPS(Task) DRL_INSTANTIATE_LOOP(ResetAll<Task>) DRL_INSTANTIATE_LOOP(StepAll<Task>)
DRL_FOR_EACH_TASK(DRL_TASK_LOOPS)

}  // namespace drl::DRL_ISA
