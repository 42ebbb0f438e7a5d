// Environment variables as a function, so that what is read from them can be tested.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace drl {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// This process's environment.
Environment process_environment();

// The whole number that a launcher's variable holds, nullopt if it is not set. Throws UsageError if it is something
// else.
std::optional<int> number(const Environment& environment, const char* name);

// Slurm's counts per node: "4(x2),3" is {4, 4, 3}. Throws UsageError, naming the variable, if `name` holds something
// else; empty if it is not set.
std::vector<int> counts_per_node(const Environment& environment, const char* name);

}  // namespace drl
