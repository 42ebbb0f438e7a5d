// The gradient of a loss over a mini-batch: forward passes of the networks, the loss, and backward passes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/symmetry.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/reduce.hpp"

namespace drl {

class LossGradient {
 public:
  // make_loss(distribution) returns the loss for the policy's distribution: a function of rows (device/reduce.hpp) with
  // a member `LossTile tile`, which is set for each tile of a mini-batch. It adds to `loss_columns` columns, and after
  // them to the gradients of the distribution's own parameters. With `symmetry`, the last loss column is that of
  // SymmetryLoss, and the loss is also called for mirrored tiles if they augment the batch. The caller owns `policy`
  // and `rollout`, which must outlive this object.
  template <class MakeLoss>
  LossGradient(const LearnerParts& parts, LearnedPolicy& policy, const RolloutView& rollout, LossId id,
               int loss_columns, const MakeLoss& make_loss, const SymmetryUse& symmetry = {})
      : LossGradient(parts, policy, rollout, id, loss_columns, symmetry) {
    std::visit([&](const auto& distribution) { set_loss(make_loss(distribution)); }, policy.distribution());
  }
  LossGradient(const LossGradient&) = delete;
  LossGradient& operator=(const LossGradient&) = delete;

  // Enqueues the computation of this rank's gradient and loss columns over the samples `rows` [count], both summed, to
  // `gradient` [parameters, then loss columns]. The padding between parameters is not always written, and must be zero.
  void enqueue(const int32_t* rows, int64_t count, float* gradient);

  // Enqueues the copy of the actor's states after the sequences of the last mini-batch to `states` [sequences,
  // state_size]. Does nothing for an actor without recurrent layers.
  void copy_end_states(float* states) {
    if (passes_.front().rnn) passes_.front().rnn->copy_end_states(states);
  }

  // Return the number of samples that pass through the networks at once, and the buffers between networks and loss.
  int64_t tile_rows() const { return tile_rows_; }
  const LossTile& tile() const { return tile_; }

 private:
  LossGradient(const LearnerParts& parts, LearnedPolicy& policy, const RolloutView& rollout, LossId id,
               int loss_columns, const SymmetryUse& symmetry);
  void enqueue_mirrored(const int32_t* rows, int64_t count, float* gradient);
  template <class Loss>
  void set_loss(const Loss& loss) {
    const auto kept = std::make_shared<const Loss>(loss);
    loss_ = kept;
    add_loss_ = [this, kept](const int32_t* rows, int64_t count, const std::byte* mirrored_action) {
      Loss of_tile = *kept;
      of_tile.tile = tile_, of_tile.tile.rows = rows, of_tile.tile.mirrored_action = mirrored_action;
      add_rows(queue_, count, all_columns(), scratch_.data(), of_tile);
    };
  }
  bool is_whole() const;
  DistributionId distribution_id() const;
  int all_columns() const { return loss_columns_ + free_parameters(policy_.distribution()); }

  // A network's buffers for a tile: its outputs, and the loss's gradient with respect to them.
  struct Pass {
    NetId net;
    std::unique_ptr<Tape> tape;
    Array<float> out, d_out;            // [tile, outputs]
    std::unique_ptr<RnnSequences> rnn;  // recurrent layers before the network; null: none
    Array<float> d_features;            // [rows, width]: the gradient with respect to their outputs
  };

  Queue& queue_;
  Nets& nets_;
  LearnedPolicy& policy_;
  const RolloutView& rollout_;
  LossId loss_id_;
  int loss_columns_;
  int64_t tile_rows_;
  std::vector<Pass> passes_;  // actor, and critic if there is one
  LossTile tile_;             // points to the arrays of passes_; without a critic, its value and d_value are null
  Array<double> scratch_;
  std::shared_ptr<const void> loss_;
  std::function<void(const int32_t* rows, int64_t count, const std::byte* mirrored_action)> add_loss_;
  std::optional<MirroredTile> mirrored_;
};

}  // namespace drl
