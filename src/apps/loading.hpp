// How a run begins: anew, or from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "apps/settings.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/trainer.hpp"

namespace drl {

// Collective. Loads what `start` says; rank 0's `start` and `now` count. Of several checkpoints the newest that is not
// damaged: those that are, are then in start.damaged. Says what changed since that one was made. Throws UsageError (on
// all ranks) if the checkpoint is of another task or algorithm, or does not fit the networks.
void load_start(RunStart& start, const Settings& settings, const RunFacts& now, Trainer& trainer, Algorithm& algorithm,
                Communicator& comm);

// What "equal to the bit" is promised for, and is other than when the checkpoint was made: "world_size: 2 -> 4". Pure.
std::vector<std::string> changed_surroundings(const Checkpoint& checkpoint, const RunFacts& now);

}  // namespace drl
