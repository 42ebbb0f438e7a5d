// The instruction sets for which units of hot loops are compiled (drl_hot_sources in cmake/DrlRooms.cmake), and the
// choice of one of them.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "drl/lanes/isa_list.hpp"

namespace drl {

enum class Isa {
#define DRL_ENUMERATOR(name) name,
  DRL_FOR_EACH_ISA(DRL_ENUMERATOR)
#undef DRL_ENUMERATOR
};

// Returns the name of an instruction set, e.g. "x86-64-v4".
std::string_view name_of(Isa isa);
// Returns whether the instruction set has fused multiply-add instructions.
bool has_fused_multiply_add(Isa isa);
// Returns the instruction sets that this machine supports, from the most basic to the most advanced; never empty.
std::vector<Isa> available_isas();
// Returns those of them for which the loops of the calling translation unit are compiled (drl/lanes/isa_list.hpp).
static inline std::vector<Isa> compiled_isas() {
  std::vector<Isa> all;
#define DRL_ADD_ISA(name) \
  if (is_compiled(#name)) all.push_back(Isa::name);
  DRL_FOR_EACH_ISA(DRL_ADD_ISA)
#undef DRL_ADD_ISA
  std::erase_if(all, [](Isa isa) { return std::ranges::count(available_isas(), isa) == 0; });
  return all;
}
// Returns the instruction set with this name; for "auto", the most advanced one that this machine supports. Throws
// UsageError if the name is unknown or this machine does not support the instruction set.
Isa isa_of(std::string_view name);

}  // namespace drl
