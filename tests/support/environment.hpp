// Environments that consist of given variables.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "launch/environment.hpp"

namespace drl {

using Variables = std::map<std::string, std::string>;

// Returns the variables of a process whose launcher sets `inner` and was started with `outer`.
inline Variables operator+(Variables outer, const Variables& inner) {
  for (const auto& [name, value] : inner) outer[name] = value;
  return outer;
}

inline Environment environment_of(Variables variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace drl
