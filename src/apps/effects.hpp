// Options that the user has set and that have no effect in this run.
#pragma once

#include <string>
#include <vector>

#include "apps/settings.hpp"
#include "apps/workplace.hpp"

namespace drl {

// Returns a warning for each reason why options that the user has set have no effect, and one if the learning rate is 0
// in some of the iterations that remain after the first `done`.
std::vector<std::string> warnings_of_effects(const RunPlan& plan, const Workplace& place, int64_t done);

}  // namespace drl
