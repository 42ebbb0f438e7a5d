// What a run says of itself as it begins.
#pragma once

#include <optional>
#include <string>

#include "apps/learner.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"

namespace drl {

// `engine` and `files` are Learner's.
RunFacts facts_of(const Settings& settings, const Workplace& place, const std::string& engine, const std::string& files,
                  const RunStart& start);

// `time_left` of the job in seconds: nullopt if it is not known, infinite without a limit. Pure.
std::string banner(const Options& options, const Workplace& place, const RunFacts& facts, const BatchPlan& plan,
                   const ActorCritic& networks, const std::string& directory, std::optional<double> time_left);

// With the launcher of this start, by `--ranks` if `by_ourselves`, and the command that no file holds; all else stands
// in the run's options.ini. Pure.
std::string command_to_go_on(const Settings& settings, const Workplace& place, const std::string& directory,
                             bool by_ourselves);

}  // namespace drl
