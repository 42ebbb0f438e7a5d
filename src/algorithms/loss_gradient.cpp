#include "algorithms/loss_gradient.hpp"

#include <algorithm>

#include "algorithms/symmetry_kernels.hpp"
#include "base/check.hpp"

namespace drl {

LossGradient::LossGradient(const LearnerParts& parts, LearnedPolicy& policy, const RolloutView& rollout, LossId id,
                           int loss_columns, const SymmetryUse& symmetry)
    : queue_(parts.queue),
      nets_(parts.nets),
      policy_(policy),
      rollout_(rollout),
      loss_id_(id),
      loss_columns_(loss_columns),
      tile_rows_(std::min(nets_.tile(), parts.plan.rows())),
      scratch_(queue_, sum_scratch(queue_, all_columns())) {
  const BatchPlan& plan = parts.plan;
  const auto add = [&](NetId net, const RnnSpec& rnn) -> Pass& {
    const auto numbers = static_cast<size_t>(tile_rows_ * policy.spec().layout.net(net).outputs());
    passes_.push_back(
        {net, nets_.make_tape(net), Array<float>(queue_, numbers), Array<float>(queue_, numbers), {}, {}});
    Pass& pass = passes_.back();
    if (rnn.empty()) return pass;
    DRL_CHECK(plan.sequences, "recurrent networks need mini-batches of sequences");
    pass.rnn = std::make_unique<RnnSequences>(queue_, nets_, rnn, plan.rows() / plan.num_steps, plan.num_steps);
    pass.d_features = Array<float>(queue_, static_cast<size_t>(plan.rows() * rnn.width));
    return pass;
  };
  passes_.reserve(2);
  Pass& actor = add(policy.spec().actor, policy.spec().actor_rnn);
  tile_.policy_out = actor.out.data(), tile_.d_policy = actor.d_out.data();
  if (symmetry.any()) mirrored_.emplace(queue_, parts.envs.spec(), policy.spec(), symmetry, tile_rows_);
  if (policy.spec().critic >= 0) {
    Pass& critic = add(policy.spec().critic, policy.spec().critic_rnn);
    tile_.value = critic.out.data(), tile_.d_value = critic.d_out.data();
  }
  std::vector<NetId> nets;
  for (const Pass& pass : passes_) nets.push_back(pass.net);
  nets_.use_loss(loss_id_, distribution_id(), nets, is_whole());
}

// Returns whether the backend may compute the gradient: neither recurrent layers nor mirrored samples come between.
bool LossGradient::is_whole() const {
  return !mirrored_ && std::ranges::none_of(passes_, [](const Pass& pass) { return pass.rnn != nullptr; });
}

DistributionId LossGradient::distribution_id() const {
  return static_cast<DistributionId>(policy_.distribution().index());
}

// The backend of the networks may compute the gradient as a whole (Nets::gradient). Otherwise the mini-batch is
// processed tile by tile: forward, loss, backward. Recurrent layers go through whole sequences before and after that.
void LossGradient::enqueue(const int32_t* rows, int64_t count, float* gradient) {
  const PolicySpec& spec = policy_.spec();
  const Weights& weights = policy_.weights();
  const Normalizers normalizers = policy_.normalizers();
  const Rows observations[] = {{rollout_.obs, rows, count, normalizers.obs},
                               {rollout_.critic_input(), rows, count, normalizers.critic()}};
  const float* states[] = {rollout_.actor_state, rollout_.critic_state};
  std::vector<Batch::Input> inputs;
  for (size_t k = 0; k < passes_.size(); ++k) {
    Pass& pass = passes_[k];
    inputs.push_back({pass.net, observations[k]});
    if (!pass.rnn) continue;
    const float* features =
        pass.rnn->forward(weights, observations[k], states[k], rollout_.terminated, rollout_.truncated);
    inputs.back().rows = {features, nullptr, count};
  }
  const Batch batch{inputs, weights, loss_.get(), loss_columns_, spec.std_offset(), all_columns() - loss_columns_};
  if (is_whole() && nets_.gradient(batch, loss_id_, distribution_id(), gradient)) return;

  queue_.clear(gradient, static_cast<size_t>(spec.layout.size()));
  clear_sums(queue_, all_columns(), scratch_.data());
  for (int64_t first = 0; first < count; first += tile_rows_) {
    const int64_t num_rows = std::min(tile_rows_, count - first);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto& [net, of_net] = inputs[k];
      nets_.forward(net, weights, of_net.part(first, num_rows, spec.layout.net(net).inputs()), passes_[k].out.data(),
                    passes_[k].tape.get());
    }
    add_loss_(rows + first, num_rows, nullptr);
    for (Pass& pass : passes_) {
      float* d_in = pass.rnn ? pass.d_features.data() + first * spec.layout.net(pass.net).inputs() : nullptr;
      nets_.backward(pass.net, weights, *pass.tape, pass.d_out.data(), gradient, d_in);
    }
    if (mirrored_) enqueue_mirrored(rows + first, num_rows, gradient);
  }
  for (size_t k = 0; k < passes_.size(); ++k)
    if (Pass& pass = passes_[k]; pass.rnn)
      pass.rnn->backward(weights, observations[k], pass.d_features.data(), gradient);
  finish_sums(queue_, all_columns(), scratch_.data(),
              StoreLoss{loss_columns_, gradient + spec.layout.size(), gradient + spec.std_offset()});
}

// Adds the gradient of a tile's mirrored samples. The actor's outputs are still those of the samples themselves.
void LossGradient::enqueue_mirrored(const int32_t* rows, int64_t count, float* gradient) {
  const Weights& weights = policy_.weights();
  const Normalizers normalizers = policy_.normalizers();
  const SymmetryUse& use = mirrored_->use();
  Pass& actor = passes_.front();
  const float *target = mirrored_->outputs(actor.out.data(), count),
              *obs = mirrored_->observations(rollout_.obs, rows, count);
  nets_.forward(actor.net, weights, {obs, nullptr, count, normalizers.obs}, actor.out.data(), actor.tape.get());
  if (use.augments) {
    if (passes_.size() > 1) {
      const float* critic_obs = mirrored_->critic_observations(rollout_.critic_input(), rows, count);
      Pass& critic = passes_.back();
      nets_.forward(critic.net, weights, {critic_obs, nullptr, count, normalizers.critic()}, critic.out.data(),
                    critic.tape.get());
    }
    add_loss_(rows, count, mirrored_->actions(rollout_.action, rows, count));
  }
  const int width = policy_.spec().layout.net(actor.net).outputs();
  add_rows(queue_, count, all_columns(), scratch_.data(),
           SymmetryLoss{actor.out.data(), target, width, use.has_loss ? static_cast<float>(use.coef) : 0.0f,
                        use.augments, actor.d_out.data(), loss_columns_ - 1});
  for (Pass& pass : passes_)
    if (use.augments || &pass == &actor)
      nets_.backward(pass.net, weights, *pass.tape, pass.d_out.data(), gradient, nullptr);
}

}  // namespace drl
