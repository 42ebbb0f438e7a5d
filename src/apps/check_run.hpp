// drl_train --check: finds what is wrong with a run before devices are allocated for it.
#pragma once

#include "apps/run_texts.hpp"
#include "apps/settings.hpp"
#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// Collective. Prepares the run up to its first iteration, on this machine's cores, and prints how it would start.
// Writes no files. Throws an error that drl_train would end with, except those about devices, the number of ranks, and
// the memory of other machines. `plan` is that of `texts`.
void check_run(const RunPlan& plan, const RunTexts& texts, const LaunchInfo& launch, Communicator& comm);

}  // namespace drl
