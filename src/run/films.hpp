// Films of a run's checkpoints (--video_interval): drl_eval makes them, beside the training.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "run/checkpoint_hook.hpp"
#include "run/train_options.hpp"

namespace drl {

// Before a run begins: says so if films will be GIFs. Throws UsageError if none can be made of the task or on this
// machine, which drl_eval finds out by drawing a picture (a second); a run that `goes_on` does so, after a warning.
void require_films(const RunOptions& options, const std::string& task, bool goes_on);

// What makes them for the run in `folder`, which goes on after `iteration`; null without --video_interval. It takes no
// time from the training.
std::unique_ptr<CheckpointHook> make_films(const RunOptions& options, const std::string& task,
                                           const std::filesystem::path& folder, int64_t iteration);

}  // namespace drl
