// Include this first in a unit that includes headers of tasks. Each DRL_TASK then defines the task's loops on a CPU.
// The unit is compiled once per instruction set and must contain nothing else: an inline function of the standard
// library would be compiled for that instruction set too, and the linker might use it for the whole program.
#pragma once

#if defined(DRL_TASK)
#error "include this header before the headers of tasks"
#endif

#include "drl/lanes/loop.hpp"
#include "drl/task.hpp"
#include "drl/task/few.hpp"
#include "drl/task/loops.hpp"

namespace drl::inline DRL_ISA {

template <template <class> class Task>
struct HostLoops {
  // Is the first function, so that its error precedes those of the code that uses a wrong member.
  static void check([[maybe_unused]] void* state) {
    if constexpr (!kNotCompiled<Task>) {
      using F = Pack<float, kFloatLanes>;
      auto member = [](const char*, auto& m) {
        using Number = std::remove_all_extents_t<std::remove_reference_t<decltype(m)>>;
        static_assert(std::is_same_v<Number, F> || std::is_same_v<Number, Int<F>>,
                      "a State may hold F, Int<F> and arrays of them");
      };
      static_cast<typename Task<F>::State*>(state)->describe(member);
    }
  }
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
  static int32_t reset_ended([[maybe_unused]] const LoopCall* call, char*, int64_t) {
    if constexpr (!kNotCompiled<Task>) {
      using Reset = ResetEnded<Task>;
      const int64_t blocks = (call->end - call->begin + Reset::kEnvs - 1) / Reset::kEnvs;
      loop(0, blocks, Reset{Environments<Task>::of(*call), *call->row, call->step, call->begin, call->end});
    }
    return 0;
  }
};

}  // namespace drl::inline DRL_ISA

#define DRL_ROBOT_LOOPS  // drl/physics/define_robot.hpp
#undef DRL_TASK
#define DRL_TASK(...) template struct ::drl::DRL_ISA::HostLoops<__VA_ARGS__>;
