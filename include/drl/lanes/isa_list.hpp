// The instruction sets for which loops over lanes are compiled, as the names of their namespaces.
#pragma once

// Expands what(namespace) for each instruction set, from the smallest to the largest.
#if defined(__x86_64__)
#define DRL_FOR_EACH_ISA(what) what(x86_64_v2) what(x86_64_v3) what(x86_64_v4)
#elif defined(__aarch64__)
#define DRL_FOR_EACH_ISA(what) what(armv8_a)
#else
#define DRL_FOR_EACH_ISA(what) what(generic)
#endif

namespace drl {

#define DRL_COUNT_ISA(isa) +1
inline constexpr int kIsaCount = DRL_FOR_EACH_ISA(DRL_COUNT_ISA);
#undef DRL_COUNT_ISA

// Returns whether this library's loops are compiled for the instruction set with this namespace. DRL_COMPILED_ISAS
// lists their namespaces, with a space after each; if it is not defined, all are compiled.
static constexpr bool is_compiled([[maybe_unused]] const char* isa) {
#if defined(DRL_COMPILED_ISAS)
  for (const char* list = DRL_COMPILED_ISAS; *list; ++list) {
    const char *a = list, *b = isa;
    while (*b && *a == *b) ++a, ++b;
    if (!*b && *a == ' ') return true;
  }
  return false;
#else
  return true;
#endif
}

}  // namespace drl
