// The files of a replay buffer. Each rank writes the rows of its environments beside a checkpoint, before rank 0 writes
// the checkpoint itself: checkpoints/iter_000150.replay.0.h5 is that of rank 0 for iter_000150.h5. Their format is that
// of checkpoints (store/checkpoint.hpp) with another name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/state.hpp"

namespace drl {

class ReplayFiles {
 public:
  // `state`: all fields of a run; only those of a replay buffer count. `comm` must outlive this.
  ReplayFiles(const StateList& state, std::string task, Communicator& comm);

  bool is_needed() const { return !state_.empty(); }

  // Writes this rank's file beside the checkpoints in `folder`. Training waits for it, because a copy of the buffer
  // might not fit into the memory beside the next updates; while it is written, there are two. Warns if that fails: a
  // resume would then start with an empty buffer. Then rank 0 removes the files of all ranks that are older than the
  // newest checkpoint in the folder, or, with `keeps_all`, only those of checkpoints that are gone.
  void save(const std::filesystem::path& folder, int64_t iteration, bool keeps_all) const;

  // Collective. Reads the rows of this rank's environments from the files of `ranks_before` ranks. Returns "", or why
  // the buffer stays empty: files are missing, or have other environments or sizes. Throws UsageError on all ranks if a
  // file is damaged, or belongs to another task or iteration.
  std::string load(const std::filesystem::path& folder, int64_t iteration, int64_t ranks_before) const;

 private:
  using Rows = std::vector<std::vector<std::byte>>;  // of each field
  static void remove_old(const std::filesystem::path& folder, bool keeps_all);
  std::string read_rows(const std::filesystem::path& folder, int64_t iteration, int64_t ranks_before, Rows& rows) const;

  StateList state_;
  std::string task_;
  Communicator& comm_;
};

}  // namespace drl
