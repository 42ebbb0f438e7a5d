// The loops of all tasks, once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "envs/task_kernels.hpp"
#include "tasks/list.hpp"

namespace drl::DRL_ISA {

#define DRL_TASK_LOOPS(Task) DRL_LOOP(ResetAll<Task>) DRL_LOOP(StepAll<Task>) DRL_LOOP(StepRandomly<Task>)
DRL_FOR_EACH_TASK(DRL_TASK_LOOPS)
DRL_SUM_COLUMNS(LoadEpisodes)

}  // namespace drl::DRL_ISA
