// These functions return what a run prints when it starts: its banner, and warnings about options without effect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/learner.hpp"
#include "apps/settings.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"

namespace drl {

// Collects the facts about this start of the program. `engine` and `files` are those of the Learner.
RunFacts facts_of(const Settings& settings, const Workplace& place, const std::string& engine, const std::string& files,
                  const RunStart& start);

// Returns the banner's text. `time_left` is the job's remaining time in seconds: nullopt if unknown, infinite without a
// limit. Pure.
std::string banner(const Options& options, const Workplace& place, const RunFacts& facts, const BatchPlan& plan,
                   const PolicySpec& policy, const std::string& directory, std::optional<double> time_left);

// Returns a warning for each reason why options that the user has set have no effect, and one if the learning rate is 0
// in some of the iterations that remain after the first `done`.
std::vector<std::string> warnings_of_effects(const RunPlan& plan, const Workplace& place, const RunStart& start,
                                             int64_t done);

// Returns the command that resumes the run: with the launcher of this start, or `--ranks` if drl_train started the
// ranks itself (`by_ourselves`), and with the options that the run's options.ini does not hold. Pure.
std::string resume_command(const Settings& settings, const Workplace& place, const std::string& directory,
                           bool by_ourselves);

}  // namespace drl
