#include "cutting_task.hpp"
#include "device/hot_loop.hpp"
#include "double_integrator.hpp"
#include "envs/task_kernels.hpp"

namespace drl::DRL_ISA {

#define DRL_OWN_LOOPS(Task) DRL_LOOP(ResetAll<Task>) DRL_LOOP(StepAll<Task>) DRL_LOOP(StepRandomly<Task>)
DRL_OWN_LOOPS(DoubleIntegrator)
DRL_OWN_LOOPS(CuttingTask)

}  // namespace drl::DRL_ISA
