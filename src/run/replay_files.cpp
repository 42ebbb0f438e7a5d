#include "run/replay_files.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/failure.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "run/run_directory.hpp"
#include "run/run_lock.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "drl-replay";

constexpr const char* kInfix = ".replay.";

fs::path file_of(const fs::path& folder, int64_t iteration, int64_t rank) {
  return folder / fmt::format("{}{}{}.h5", checkpoint_name(iteration), kInfix, rank);
}

// Returns the number in "iter_<number>.<anything>", or -1 in another name.
int64_t iteration_of(const std::string& name) {
  const std::string begin = "iter_";
  int64_t iteration = -1;
  if (name.starts_with(begin)) std::from_chars(name.data() + begin.size(), name.data() + name.size(), iteration);
  return iteration;
}

// Throws UsageError unless the file belongs to this task and checkpoint.
void require_fact(const Checkpoint& content, const fs::path& file, const char* name, const Attribute& wanted) {
  const auto found = content.attributes.find(name);
  if (found == content.attributes.end() || found->second != wanted)
    throw UsageError(
        fmt::format("'{}' does not belong to the checkpoint beside it (its {} differs): remove it, "
                    "and the replay buffer starts empty",
                    file.string(), name));
}

Checkpoint read_intact(const fs::path& file) {
  try {
    return read_arrays(file, kFormat);
  } catch (const UsageError& error) {
    throw UsageError(std::string(error.what()) + ", or remove it, and the replay buffer starts empty");
  }
}

}  // namespace

ReplayFiles::ReplayFiles(const StateList& state, std::string task, Communicator& comm)
    : task_(std::move(task)), comm_(comm) {
  std::ranges::copy_if(state, std::back_inserter(state_),
                       [](const StateField& field) { return field.sharding == Sharding::replay; });
}

void ReplayFiles::save(const fs::path& folder, int64_t iteration, bool keeps_all) const {
  const fs::path file = file_of(folder, iteration, comm_.rank());
  std::error_code ignored;
  try {
    fs::create_directory(folder, ignored);  // it may have been removed during the run
    Checkpoint content;
    content.attributes = {{"task", task_}, {"iteration", iteration}};
    for (const StateField& field : state_)
      content.tensors.push_back({field.name, field.type, field.shape, field.read()});
    write_arrays(file, kFormat, content);
  } catch (const std::exception& error) {
    fs::remove(file, ignored);  // an older one of the same name does not belong to this state
    log::warn(
        "the replay buffer of rank {} was not saved: {}. Training goes on; a resume from iteration {} would "
        "start with an empty replay buffer",
        comm_.rank(), message_of(error), iteration);
  }
  if (comm_.rank() == 0) remove_old(folder, keeps_all);
}

// Checkpoints that are newer than the newest one in the folder may still be waiting for the writer's thread.
void ReplayFiles::remove_old(const fs::path& folder, bool keeps_all) {
  const std::vector<fs::path> checkpoints = list_checkpoints(folder.parent_path());
  if (checkpoints.empty()) return;
  const int64_t newest = iteration_of(checkpoints.front().filename());
  std::error_code ignored;
  for (const fs::path& entry : entries_of(folder)) {
    const std::string name = entry.filename();
    const int64_t its = iteration_of(name);
    if (name.find(kInfix) == std::string::npos || its < 0 || its >= newest) continue;
    if (!keeps_all || !path_exists(folder / (checkpoint_name(its) + ".h5"))) fs::remove(entry, ignored);
  }
}

std::string ReplayFiles::load(const fs::path& folder, int64_t iteration, int64_t ranks_before) const {
  std::string why;
  Rows rows;
  on_all_ranks(comm_, [&] { why = read_rows(folder, iteration, ranks_before, rows); });
  std::string first;  // all ranks start with an empty buffer if one of them does
  for (int rank = comm_.size() - 1; rank >= 0; --rank)
    if (const std::string its = broadcast_text(comm_, why, rank); !its.empty()) first = its;
  for (size_t k = 0; first.empty() && k < state_.size(); ++k) state_[k].write(rows[k]);
  return first;
}

std::string ReplayFiles::read_rows(const fs::path& folder, int64_t iteration, int64_t ranks_before, Rows& rows) const {
  const int64_t envs = state_.front().shape[0], all = envs * comm_.size(), first = envs * comm_.rank();
  if (ranks_before < 1 || all % ranks_before != 0)
    return fmt::format("the {} environments were not those of {} ranks", all, ranks_before);
  const int64_t envs_before = all / ranks_before;
  rows.resize(state_.size());
  for (int64_t rank = first / envs_before; rank * envs_before < first + envs; ++rank) {
    const fs::path file = file_of(folder, iteration, rank);
    if (!path_exists(file)) return file.string() + " does not exist";
    const Checkpoint content = read_intact(file);
    require_fact(content, file, "task", task_);
    require_fact(content, file, "iteration", iteration);
    const int64_t begin = std::max(first - rank * envs_before, int64_t{0}),
                  end = std::min(first + envs - rank * envs_before, envs_before);
    for (size_t k = 0; k < state_.size(); ++k) {
      const StateField& field = state_[k];
      std::vector<int64_t> shape = field.shape;
      shape[0] = envs_before;
      const Tensor* tensor = content.find(field.name);
      if (!tensor || tensor->shape != shape || tensor->type != field.type)
        return file.string() + " has a replay buffer of another size";
      const auto row = static_cast<int64_t>(tensor->data.size()) / envs_before;
      rows[k].insert(rows[k].end(), tensor->data.begin() + begin * row, tensor->data.begin() + end * row);
    }
  }
  return "";
}

}  // namespace drl
