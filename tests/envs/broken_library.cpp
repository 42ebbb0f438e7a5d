// Task libraries with one fault each, selected by a macro BROKEN_....
#include "drl/task/abi.hpp"

#define SYMBOL extern "C" __attribute__((visibility("default")))

#if defined(BROKEN_fast_math) && defined(__SSE__)
#include <xmmintrin.h>
// Does what the start-up code of -ffast-math does: sets flush-to-zero and denormals-are-zero.
__attribute__((constructor)) static void fast_math() { _mm_setcsr(_mm_getcsr() | 0x8040); }
#endif

#if defined(BROKEN_signal)
#include <csignal>
#include <cstdlib>
// Raises the signal with the number in RAISE while it is loaded, in ranks only if RAISE_IN_RANKS is set, else only in
// other processes.
__attribute__((constructor)) static void raise_signal() {
  const char* number = std::getenv("RAISE");
  const bool is_rank = std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMI_RANK"),
             in_ranks = std::getenv("RAISE_IN_RANKS");
  if (number && is_rank == in_ranks) std::raise(std::atoi(number));
}
#endif

#if defined(BROKEN_symbol)
SYMBOL int drl_other_library() { return 0; }
#else

namespace {

using namespace drl;

int32_t do_nothing(const LoopCall*, char*, int64_t) { return 0; }

const TaskLibrary* table() {
  static const TaskLoops loops[kIsaCount] = {
#define LOOPS(isa) {do_nothing, do_nothing, do_nothing, nullptr},
      DRL_FOR_EACH_ISA(LOOPS)};
  static const TaskLoops* const no_gpu = nullptr;
  static const char params[1] = {};
  static TaskRecord record{};
  record.name = "Broken", record.preset = "", record.obs_dim = 1, record.history = 1, record.discrete = 1,
  record.action_size = 2;
  record.dt = 1, record.params_size = 1, record.default_params = params, record.host = loops, record.gpu = &no_gpu;
  static const TaskRecord* const tasks[] = {&record};
  static TaskLibrary library{};
  library.magic = kTaskMagic, library.abi = kTaskAbi, library.flags = text_hash(DRL_TASK_FLAGS);
  for (int k = 0; k < kTaskSizeCount; ++k) library.sizes[k] = TaskSizes{}.all[k];
  library.compiler = "a compiler", library.drl_version = "0", library.count = 1, library.tasks = tasks;
#if defined(BROKEN_magic)
  library.magic = 1;
#elif defined(BROKEN_version)
  library.abi = 99;
#elif defined(BROKEN_sizes)
  library.sizes[0] += 8;
#elif defined(BROKEN_flags)
  library.flags = text_hash("-Ofast");
#elif defined(BROKEN_empty)
  library.count = 0;
#elif defined(BROKEN_loops)
  record.host = nullptr;
#elif defined(BROKEN_smaller_loops)  // not a fault: compiled for the largest instruction set only
  static TaskLoops last[kIsaCount] = {};
  last[kIsaCount - 1] = loops[kIsaCount - 1], record.host = last, record.name = "LastOnly";
#elif defined(BROKEN_state)
  record.trouble = "State::describe is wrong";
#endif
  return &library;
}

}  // namespace

SYMBOL const drl::TaskLibrary* drl_task_library() { return table(); }
#endif
