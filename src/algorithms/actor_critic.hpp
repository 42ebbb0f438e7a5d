// Separate networks of actor and critic, if there is one, and what else is learned.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/options.hpp"
#include "device/array.hpp"
#include "drl/task_spec.hpp"
#include "nets/layout.hpp"
#include "nets/normalizer.hpp"
#include "policies/distribution.hpp"

namespace drl {

struct ActorCritic {
  ParamLayout layout;        // the actor's layers, the standard deviation if there is one, the critic's layers
  NetId actor, critic = -1;  // -1: none
  int std = -1;              // the slice of the parameter behind the standard deviation; -1: none
  bool log_std = true;

  int64_t first_critic_parameter() const { return critic < 0 ? layout.size() : layout.weight(critic, 0).offset; }
  // Offset of the standard deviation's parameter [action], 0 if there is none.
  int64_t std_offset() const { return std < 0 ? 0 : layout.slices()[static_cast<size_t>(std)].offset; }
};

ActorCritic actor_critic(const TaskSpec& task, const PolicyOptions& options, bool has_critic = true);

// Fills `params` [layout.size()], in host memory, as a function of the seed alone. "uniform": weights and biases in
// +-1/sqrt(inputs), as rsl_rl and torch.nn.Linear. "orthogonal": gain sqrt(2) in hidden layers, 0.01 for the policy's
// and 1 for the value's output, biases 0 (Huang et al., "The 37 Implementation Details of PPO", 2022). Layer norm
// begins as the mere normalisation.
void initialize_parameters(const ActorCritic& nets, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params);

struct Normalizers {
  NormalizerView obs, critic_obs;
  // A critic without observations of its own sees, and is normalised as, the actor.
  NormalizerView critic() const { return critic_obs.mean ? critic_obs : obs; }
};

// What is asked of the actions of a task. `params` are in the memory of the queue.
class ActionDistribution {
 public:
  ActionDistribution(Queue& queue, const ActorCritic& nets, const ActionSpace& space, const float* params);

  const Distribution& get() const { return distribution_; }
  // Enqueues what must be before actions are sampled with new parameters.
  void refresh();
  // Standard deviations [dimensions] as of then; empty for choices.
  const Array<float>& std() const { return std_; }

 private:
  Queue& queue_;
  Array<float> low_, high_, std_;
  Array<int32_t> heads_;  // of several choices at once
  Distribution distribution_;
};

}  // namespace drl
