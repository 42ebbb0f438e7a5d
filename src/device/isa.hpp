// The instruction sets for which hot units are compiled (drl_hot_sources in cmake/DrlRooms.cmake), and the choice of
// one.
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

// Returns its name, e.g. "x86-64-v4".
std::string_view name_of(Isa isa);
// Returns whether it has fused multiply-add instructions.
bool has_fused_multiply_add(Isa isa);
// Returns those that this machine supports, from the most basic to the most advanced; never empty.
std::vector<Isa> available_isas();
// Returns the one with this name, or the most advanced one for "auto". Throws UsageError if it is unknown or not
// supported by this machine.
Isa isa_of(std::string_view name);

}  // namespace drl
