// Include this first in a unit for the GPU compiler that includes headers of tasks. Each DRL_TASK then defines the
// task's loops on a GPU.
#pragma once

#if defined(DRL_TASK)
#error "include this header before the headers of tasks"
#endif

#include <cstdio>

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
  // Loads the kernels. Fails if there is no memory for their stacks, which the driver would request at the first
  // launch, without saying for what. Once the driver has this memory, it keeps it.
  static int32_t probe_all(const LoopCall*, char* error, int64_t size) {
    static bool reserved = false;
    int64_t stack = 0, threads = 0;
    size_t free = 0;
    Status status = probe<ResetAll<Task>>(stack);
    if (status == kSuccess) status = probe<StepAll<Task, true>>(stack);
    if (status == kSuccess) status = count_threads(threads);
    if (status == kSuccess) status = free_memory(free);
    if (status != kSuccess) return result(status, error, size);
    const double needed = static_cast<double>(stack * threads), available = static_cast<double>(free);
    if (reserved || needed <= available) {
      reserved = stack > 0;
      return 0;
    }
    std::snprintf(error, static_cast<size_t>(size),
                  "no GPU memory: the stacks of its threads need %.1f GB, and %.1f GB are free", needed * 1e-9,
                  available * 1e-9);
    return 1;
  }
  // Makes the loops available to the task's table entry. The host steps a robot that cannot run on GPUs, also for a
  // learner on a GPU, so such a robot has no loops here.
  static bool make() {
    if constexpr (kIsRefused && kIsRobot) {
    } else if constexpr (kIsRefused) {
      static constexpr TaskLoops loops{refuse, refuse, nullptr, refuse};
      GpuLoopsOf<Task>::loops = &loops;
    } else if constexpr (!kNotCompiled<Task>) {
      static constexpr TaskLoops loops{reset, step, nullptr, probe_all};
      GpuLoopsOf<Task>::loops = &loops;
    }
    return true;
  }

 private:
  // A task's own reason not to run on GPUs.
  static constexpr bool kIsRefused = requires { Task<float>::why_not_on_gpu; };
  static constexpr bool kIsRobot = requires { Task<float>::model_id; };
  static int32_t refuse(const LoopCall*, char* error, int64_t size) {
    if constexpr (kIsRefused) std::snprintf(error, static_cast<size_t>(size), "%s", Task<float>::why_not_on_gpu);
    return 1;
  }
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

#define DRL_ROBOT_LOOPS  // drl/physics/define_robot.hpp
#undef DRL_TASK
#define DRL_TASK_NAME_OF(number) drl_task_on_gpu_##number
#define DRL_TASK_NAME(number) DRL_TASK_NAME_OF(number)
#define DRL_TASK(...) static const bool DRL_TASK_NAME(__COUNTER__) = ::drl::gpu::TaskLoopsOnGpu<__VA_ARGS__>::make();
