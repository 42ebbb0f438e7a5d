#include "algorithms/loss_gradient.hpp"

#include <algorithm>

namespace drl {

LossGradient::LossGradient(const LearnerParts& parts, LearnedPolicy& policy, const RolloutView& rollout, LossId id,
                           int loss_columns)
    : queue_(parts.queue),
      nets_(parts.nets),
      policy_(policy),
      rollout_(rollout),
      loss_id_(id),
      loss_columns_(loss_columns),
      tile_rows_(std::min(nets_.tile(), parts.plan.rows())),
      scratch_(queue_, sum_scratch(queue_, all_columns())) {
  const auto add = [&](NetId net) -> Pass& {
    const auto numbers = static_cast<size_t>(tile_rows_ * policy.spec().layout.net(net).outputs());
    passes_.push_back({net, nets_.make_tape(net), Array<float>(queue_, numbers), Array<float>(queue_, numbers)});
    return passes_.back();
  };
  Pass& actor = add(policy.spec().actor);
  tile_.policy_out = actor.out.data(), tile_.d_policy = actor.d_out.data();
  if (policy.spec().critic < 0) return;
  Pass& critic = add(policy.spec().critic);
  tile_.value = critic.out.data(), tile_.d_value = critic.d_out.data();
}

// The backend of the networks may compute the gradient as a whole (Nets::gradient). Otherwise the mini-batch is
// processed tile by tile: forward, loss, backward.
void LossGradient::enqueue(const int32_t* rows, int64_t count, float* gradient) {
  const PolicySpec& spec = policy_.spec();
  const Normalizers normalizers = policy_.normalizers();
  const Batch::Input of_both[] = {{spec.actor, {rollout_.obs, rows, count, normalizers.obs}},
                                  {spec.critic, {rollout_.critic_input(), rows, count, normalizers.critic()}}};
  const std::span<const Batch::Input> inputs(of_both, passes_.size());
  const auto distribution_id = static_cast<DistributionId>(policy_.distribution().index());
  if (nets_.gradient({inputs, policy_.weights(), loss_.get()}, loss_id_, distribution_id, gradient)) return;

  clear_sums(queue_, all_columns(), scratch_.data());
  for (int64_t first = 0; first < count; first += tile_rows_) {
    const int64_t num_rows = std::min(tile_rows_, count - first);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto& [net, of_net] = inputs[k];
      nets_.forward(net, policy_.weights(), of_net.part(first, num_rows, spec.layout.net(net).inputs()),
                    passes_[k].out.data(), passes_[k].tape.get());
    }
    add_loss_(rows + first, num_rows);
    for (const Pass& pass : passes_)
      nets_.backward(pass.net, policy_.weights(), *pass.tape, pass.d_out.data(), gradient);
  }
  finish_sums(queue_, all_columns(), scratch_.data(),
              StoreLoss{loss_columns_, gradient + spec.layout.size(), gradient + spec.std_offset()});
}

}  // namespace drl
