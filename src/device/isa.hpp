// Instruction sets for which hot units are compiled (drl_hot_sources in cmake/DrlRooms.cmake), and which of them runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drl/isa_list.hpp"

namespace drl {

enum class Isa {
#define DRL_ENUMERATOR(name) name,
  DRL_FOR_EACH_ISA(DRL_ENUMERATOR)
#undef DRL_ENUMERATOR
};

// "x86-64-v4"
std::string_view name_of(Isa isa);
// Does it multiply and add in one?
bool has_fused_multiply_add(Isa isa);
// Those that this machine has, from the least to the most; never empty.
std::vector<Isa> available_isas();
// The one of this name, or the best for "auto". Throws UsageError for one that is unknown or that this machine lacks.
Isa isa_of(std::string_view name);

}  // namespace drl
