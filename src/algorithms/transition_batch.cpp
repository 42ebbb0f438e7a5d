#include "algorithms/transition_batch.hpp"

#include "device/for_each.hpp"

namespace drl {

TransitionBatch::TransitionBatch(Queue& queue, const TaskSpec& task, int64_t rows, bool mirrors)
    : queue_(queue),
      mirrors_(mirrors),
      first_(queue, static_cast<size_t>(rows)),
      last_(queue, first_.size()),
      mirrored_(queue, first_.size()),
      returns_(queue, first_.size()),
      discount_(queue, first_.size()),
      obs_table_(table_of(task.mirror.obs)),
      critic_obs_table_(table_of(task.mirror.critic_obs)),
      action_table_(table_of(task.mirror.action)) {
  const auto make = [&](int width) { return Numbers{width, Array<float>(queue, static_cast<size_t>(rows * width))}; };
  obs_ = make(task.obs_dim), next_obs_ = make(task.obs_dim);
  critic_obs_ = make(task.critic_obs_dim), next_critic_obs_ = make(task.critic_obs_dim);
  action_ = make(task.action.size);
}

Array<MirroredNumber> TransitionBatch::table_of(const std::vector<MirroredNumber>& mirror) const {
  Array<MirroredNumber> table(queue_, mirrors_ ? mirror.size() : 0);
  queue_.copy(table.data(), mirror.data(), table.size());
  queue_.synchronize();
  return table;
}

void TransitionBatch::copy(const float* from, const Array<int32_t>& rows, const Array<MirroredNumber>& table,
                           Numbers& to) {
  if (to.width == 0) return;
  for_each(queue_, static_cast<int64_t>(rows.size()),
           CopySamples{from, rows.data(), mirrored_.data(), table.data(), to.width, to.numbers.data()});
}

void TransitionBatch::enqueue(const Replay& replay, const ReplayBatch& batch) {
  const ReplayView& view = replay.view();
  for_each(
      queue_, static_cast<int64_t>(first_.size()),
      ChooseSamples{view, batch, first_.data(), last_.data(), mirrored_.data(), returns_.data(), discount_.data()});
  copy(view.obs, first_, obs_table_, obs_), copy(view.next_obs, last_, obs_table_, next_obs_);
  copy(view.critic_obs, first_, critic_obs_table_, critic_obs_);
  copy(view.next_critic_obs, last_, critic_obs_table_, next_critic_obs_);
  copy(view.action, first_, action_table_, action_);
}

}  // namespace drl
