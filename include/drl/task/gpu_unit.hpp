// Include this first in a unit for the GPU compiler that includes headers of tasks. Each DRL_TASK then defines the
// task's loops on a GPU.
#pragma once

#if defined(DRL_TASK)
#error "include this header before the headers of tasks"
#endif

#include "drl/lanes/gpu_launch.hpp"
#include "drl/task.hpp"
#include "drl/task/loops.hpp"
#include "drl/task/table.hpp"

namespace drl::gpu {

template <template <class> class Task>
struct TaskLoopsOnGpu {
  static int32_t reset(const LoopCall* call, char* error, int64_t size) {
    return result(launch(call->stream, call->begin, call->end, reset_of<Task>(*call)), error, size);
  }
  static int32_t step(const LoopCall* call, char* error, int64_t size) {
    return result(launch(call->stream, call->begin, call->end, step_of<Task, true>(*call)), error, size);
  }
  static int32_t probe_all(const LoopCall*, char* error, int64_t size) {
    const Status status = probe<ResetAll<Task>>();
    return result(status == kSuccess ? probe<StepAll<Task, true>>() : status, error, size);
  }
  // Makes the loops available to the task's table entry.
  static bool make() {
    if constexpr (!kNotCompiled<Task>) {
      static constexpr TaskLoops loops{reset, step, nullptr, probe_all};
      GpuLoopsOf<Task>::loops = &loops;
    }
    return true;
  }

 private:
  static int32_t result(Status status, char* error, int64_t size) {
    if (status == kSuccess) return 0;
    int64_t k = 0;
    for (const char* text : {name_of(status), ": ", text_of(status)})
      for (; *text && k + 1 < size; ++text) error[k++] = *text;
    error[k] = 0;
    return 1;
  }
};

}  // namespace drl::gpu

#define DRL_ROBOT_LOOPS  // robot.hpp
#undef DRL_TASK
#define DRL_TASK_NAME_OF(number) drl_task_on_gpu_##number
#define DRL_TASK_NAME(number) DRL_TASK_NAME_OF(number)
#define DRL_TASK(...) static const bool DRL_TASK_NAME(__COUNTER__) = ::drl::gpu::TaskLoopsOnGpu<__VA_ARGS__>::make();
