// Records videos of a run's checkpoints (--video_interval): drl_eval does so in the background.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "run/checkpoint_hook.hpp"
#include "run/train_options.hpp"

namespace drl {

// Checks before a run that videos can be recorded: drl_eval draws one picture, which takes about a second. Logs a
// message if the videos will be GIFs. Throws UsageError if the task has no draw(), or if this machine cannot record
// videos; the latter is only a warning if the run `is_resumed`.
void require_films(const RunOptions& options, const std::string& task, bool is_resumed);

// Returns the hook that records videos of the run in `folder`, which has finished `iteration` iterations. Returns null
// if --video_interval is 0. The recording has a low priority, so that it hardly slows the training.
std::unique_ptr<CheckpointHook> make_films(const RunOptions& options, const std::string& task,
                                           const std::filesystem::path& folder, int64_t iteration);

}  // namespace drl
