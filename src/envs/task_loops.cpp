// The loops of all tasks, once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "envs/task_kernels.hpp"
#include "tasks/list.hpp"

namespace drl::DRL_ISA {

DRL_FOR_EACH_TASK(DRL_TASK_LOOPS)
DRL_SUM_COLUMNS(LoadEpisodes)

}  // namespace drl::DRL_ISA
