#include "cutting_task.hpp"
#include "device/hot_loop.hpp"
#include "double_integrator.hpp"
#include "envs/task_kernels.hpp"

namespace drl::DRL_ISA {

DRL_TASK_LOOPS(DoubleIntegrator)
DRL_TASK_LOOPS(CuttingTask)

}  // namespace drl::DRL_ISA
