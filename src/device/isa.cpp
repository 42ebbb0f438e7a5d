#include "device/isa.hpp"

#include <iterator>

#include "base/check.hpp"
#include "base/enum_table.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

#if defined(__x86_64__)
constexpr auto kNames = by_enum<Isa, std::string_view>(
    Isa::x86_64_v4, {{Isa::x86_64_v2, "x86-64-v2"}, {Isa::x86_64_v3, "x86-64-v3"}, {Isa::x86_64_v4, "x86-64-v4"}});
bool has(Isa isa) {
  if (isa == Isa::x86_64_v2) return true;  // the baseline for which all code is compiled
  return isa == Isa::x86_64_v3 ? __builtin_cpu_supports("x86-64-v3") : __builtin_cpu_supports("x86-64-v4");
}
#else
constexpr std::string_view kNames[] = {
#if defined(__aarch64__)
    "armv8-a"
#else
    "generic"
#endif
};
bool has(Isa) { return true; }
#endif

static_assert(std::size(kNames) == kIsaCount);

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }

bool has_fused_multiply_add(Isa isa) {
#if defined(__x86_64__)
  return isa != Isa::x86_64_v2;
#elif defined(__aarch64__)
  return true;
#else
  return static_cast<void>(isa), false;
#endif
}

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (size_t k = 0; k < std::size(kNames); ++k)
    if (has(static_cast<Isa>(k))) all.push_back(static_cast<Isa>(k));
  return all;
}

Isa isa_of(std::string_view name) {
  const std::vector<Isa> all = available_isas();
  if (name == "auto") return all.back();
  std::vector<std::string> names;
  for (Isa isa : all) {
    if (name_of(isa) == name) return isa;
    names.emplace_back(name_of(isa));
  }
  throw UsageError("--isa " + std::string(name) + " is not available on this machine (its instruction sets are " +
                   join(names, ", ") + "): use one of these, or auto");
}

}  // namespace drl
