// First in a unit that includes headers of tasks: each DRL_TASK is its loops on a CPU. Such a unit is compiled once for
// each instruction set, and holds nothing else: a function of the standard library would be compiled so too, and the
// linker could take it for all others.
#pragma once

#if defined(DRL_TASK)
#error "a header of a task comes before this one"
#endif

#include "drl/loop.hpp"
#include "drl/task.hpp"
#include "drl/task_few.hpp"
#include "drl/task_loops.hpp"

namespace drl {
inline namespace DRL_ISA {

template <template <class> class Task>
struct HostLoops {
  static int32_t reset([[maybe_unused]] const LoopCall* call, char*, int64_t) {
    if constexpr (!kNotCompiled<Task>) loop(call->begin, call->end, reset_of<Task>(*call));
    return 0;
  }
  static int32_t step([[maybe_unused]] const LoopCall* call, char*, int64_t) {
    if constexpr (kFillsRegisters<Task>) {
      const auto step = step_of<Task, false>(*call);
      int64_t i = call->begin;
      for (; i + kFloatLanes <= call->end; i += kFloatLanes) step.template lanes<Pack<float, kFloatLanes>>(i);
      if (i < call->end) FewEnvironments<Task>(step, i, call->end - i).run();
    } else if constexpr (!kNotCompiled<Task>) {
      loop(call->begin, call->end, step_of<Task, false>(*call));
    }
    return 0;
  }
  static int32_t begin_others([[maybe_unused]] const LoopCall* call, char*, int64_t) {
    if constexpr (!kNotCompiled<Task>) {
      using Others = BeginOthers<Task>;
      const int64_t blocks = (call->end - call->begin + Others::kEnvs - 1) / Others::kEnvs;
      loop(0, blocks, Others{Environments<Task>::of(*call), *call->row, call->step, call->begin, call->end});
    }
    return 0;
  }
};

}  // namespace DRL_ISA
}  // namespace drl

#define DRL_ROBOT_LOOPS  // robot.hpp
#undef DRL_TASK
#define DRL_TASK(...) template struct ::drl::DRL_ISA::HostLoops<__VA_ARGS__>;
