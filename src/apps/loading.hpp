// Loads the state that a run starts from.
#pragma once

#include <string>
#include <vector>

#include "apps/settings.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/trainer.hpp"

namespace drl {

// A run that has been created, and the facts about it that a checkpoint must agree with.
struct NewRun {
  const Settings& settings;
  const RunFacts& facts;
  Trainer& trainer;
  Algorithm& algorithm;
  const PolicySpec& policy;
};

// Collective. Loads the newest intact checkpoint of `start`, adds the damaged ones to start.damaged, and logs what has
// changed since the checkpoint was made. Only rank 0's `start` and facts are used. Throws ReportedError on all
// ranks if the checkpoint has another task, or does not fit the networks. --init_from loads the weights that the
// checkpoint and this run both have, also those of another algorithm: a student of distillation has no critic.
void load_start(RunStart& start, const NewRun& run, Communicator& comm);

// Returns the changes since the checkpoint was made that prevent bit-identical results, such as "world_size: 2 -> 4".
// Pure.
std::vector<std::string> changed_platform(const Checkpoint& checkpoint, const RunFacts& now);

}  // namespace drl
