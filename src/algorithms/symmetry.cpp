#include "algorithms/symmetry.hpp"

#include "algorithms/symmetry_kernels.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "device/for_each.hpp"
#include "envs/make_env.hpp"

namespace drl {

void require_symmetry(const TaskSpec& task, bool is_recurrent, const std::string& option) {
  const std::string remedy = "--" + option.substr(0, option.find(' ')) + " none";
  if (task.mirror.empty()) {
    std::vector<std::string> symmetric;
    for (const std::string& name : task_names())
      if (task_record(name).mirrored_obs) symmetric.push_back(name);
    if (contains(symmetric, task.name))
      throw UsageError(
          "--" + option +
          " cannot be used with these --env.hidden_obs (one of them changes places in a mirror with a number "
          "that is not hidden): hide both, or use " +
          remedy);
    throw UsageError("--" + option + " cannot be used with " + task.name +
                     " (its header does not say how its observations are mirrored, mirrored_obs in drl/task.hpp; those "
                     "of " +
                     join(symmetric, ", ") + " do): use " + remedy);
  }
  if (is_recurrent)
    throw UsageError("--" + option +
                     " cannot be used with recurrent layers (their states are not mirrored): use --policy.rnn_type "
                     "none, or " +
                     remedy);
}

MirroredTile::Numbers::Numbers(Queue& queue, const std::vector<MirroredNumber>& mirror, int64_t tile_rows)
    : table(queue, mirror.size()), numbers(queue, mirror.size() * static_cast<size_t>(tile_rows)) {
  queue.copy(table.data(), mirror.data(), mirror.size());
  queue.synchronize();
}

const float* MirroredTile::Numbers::mirror(Queue& queue, const float* from, const int32_t* rows, int64_t count) {
  const auto width = static_cast<int64_t>(table.size());
  for_each(queue, count, MirrorRows{from, rows, table.data(), width, numbers.data()});
  return numbers.data();
}

MirroredTile::MirroredTile(Queue& queue, const TaskSpec& task, const PolicySpec& policy, const SymmetryUse& use,
                           int64_t tile_rows)
    : queue_(queue),
      use_(use),
      is_discrete_(task.action.discrete),
      obs_(queue, task.mirror.obs, tile_rows),
      critic_obs_(queue, task.mirror.critic_obs, tile_rows),
      outputs_(queue, task.mirror.action, tile_rows),
      actions_(queue, is_discrete_ ? std::vector<MirroredNumber>() : task.mirror.action, tile_rows),
      choices_(queue, is_discrete_ ? static_cast<size_t>(tile_rows) : 0) {
  DRL_CHECK(static_cast<int>(outputs_.table.size()) == policy.actor_net().outputs(), "an output per mirrored number");
}

const float* MirroredTile::observations(const float* obs, const int32_t* rows, int64_t count) {
  return obs_.mirror(queue_, obs, rows, count);
}

const float* MirroredTile::critic_observations(const float* obs, const int32_t* rows, int64_t count) {
  return (critic_obs_.table.size() > 0 ? critic_obs_ : obs_).mirror(queue_, obs, rows, count);
}

const std::byte* MirroredTile::actions(const std::byte* action, const int32_t* rows, int64_t count) {
  if (!is_discrete_)
    return reinterpret_cast<const std::byte*>(
        actions_.mirror(queue_, reinterpret_cast<const float*>(action), rows, count));
  const auto* choices = reinterpret_cast<const int32_t*>(action);
  for_each(queue_, count, MirrorChoices{choices, rows, outputs_.table.data(), choices_.data()});
  return reinterpret_cast<const std::byte*>(choices_.data());
}

const float* MirroredTile::outputs(const float* out, int64_t count) {
  return outputs_.mirror(queue_, out, nullptr, count);
}

}  // namespace drl
