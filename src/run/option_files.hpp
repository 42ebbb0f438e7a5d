// The content of the files that options of a task name, such as a motion, a picture of the ground or a network of
// motors. A path may lead to another content on another node, or later: then ranks would simulate different
// environments, or a resumed run would not continue the same one.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"
#include "comm/communicator.hpp"
#include "envs/task_params.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// Returns a line "OPTION HASH PATH" for each file, or "". The hash is one of all bytes (FNV-1a). Throws UsageError if a
// file cannot be read.
std::string contents_of(const std::vector<OptionFile>& files);

// Returns the differences between the lines of two runs: files with the same option and path, but with other contents.
struct ChangedFile {
  std::string option, path, then, now;  // `then` and `now` are hashes
};
std::vector<ChangedFile> changed_files(const std::string& then, const std::string& now);

// Collective. If the ranks' files differ, logs one message and throws ReportedError on all ranks.
void require_same_contents(Communicator& comm, const std::string& mine);

// Returns the options that the state of environments depends on (changes_env_state) and in which the table differs from
// the options and files that a run recorded, such as "--env.delay.action is 2, not 0". The path of a file may differ if
// its content does not. `file` is where they were recorded, for errors.
struct RecordedOptions {
  std::string options, files, file;
};
std::vector<std::string> changes_of_env_state(const OptionTable& table, const std::string& files,
                                              const RecordedOptions& then);

// Returns the files that a checkpoint's run recorded, or "" if it is of an earlier version.
std::string recorded_files(const Checkpoint& checkpoint, const std::string& file);

// Throws UsageError if a file has changed since the checkpoint `file` was made. Checkpoints that record no files pass.
void require_contents_of(const Checkpoint& checkpoint, const std::string& file, const std::string& now);
// Warns of such files.
void warn_if_contents_changed(const Checkpoint& checkpoint, const std::string& file, const TaskParams& task);

}  // namespace drl
