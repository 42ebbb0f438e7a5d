// The learned parameters: separate networks for actor and critic, and the standard deviation of continuous actions.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/options.hpp"
#include "device/array.hpp"
#include "drl/task/spec.hpp"
#include "nets/layout.hpp"
#include "nets/normalizer.hpp"
#include "policies/distribution.hpp"

namespace drl {

struct ActorCritic {
  ParamLayout layout;  // the actor's layers, then the standard deviation (if any), then the critic's layers (if any)
  NetId actor, critic = -1;  // critic -1: the algorithm has none
  int std = -1;              // index of the standard deviation's slice in layout.slices(); -1: discrete actions
  bool log_std = true;       // the parameter is the logarithm of the standard deviation

  int64_t first_critic_parameter() const { return critic < 0 ? layout.size() : layout.weight(critic, 0).offset; }
  // Returns the offset of the standard deviation's parameter [action size], or 0 if there is none.
  int64_t std_offset() const { return std < 0 ? 0 : layout.slices()[static_cast<size_t>(std)].offset; }
};

// Returns the networks and the layout of the parameters for a task.
ActorCritic actor_critic(const TaskSpec& task, const PolicyOptions& options, bool has_critic = true);

// Fills `params` [layout.size()], which is in host memory. For given networks, the values depend only on the options
// and the seed.
//   "uniform": weights and biases are uniform in +-1/sqrt(inputs), as in rsl_rl and torch.nn.Linear.
//   "orthogonal": orthogonal weights with gain sqrt(2) in hidden layers, 0.01 in the policy's output layer and 1 in the
//   value network's; biases are 0 (Huang et al., "The 37 Implementation Details of PPO", 2022).
// Layer norm starts with weight 1 and bias 0.
void initialize_parameters(const ActorCritic& nets, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params);

struct Normalizers {
  NormalizerView obs, critic_obs;
  // Returns the normaliser of the critic's input. A critic without its own observations gets the actor's.
  NormalizerView critic() const { return critic_obs.mean ? critic_obs : obs; }
};

// The action distribution of a task: Gaussian for continuous actions, categorical for discrete ones. `params` are
// the networks' parameters in the queue's memory. The caller owns them, and they must outlive this object.
class ActionDistribution {
 public:
  ActionDistribution(Queue& queue, const ActorCritic& nets, const ActionSpace& space, const float* params);

  const Distribution& get() const { return distribution_; }
  // Enqueues the computation of std() from the parameters. Call it before sampling with new parameters.
  void refresh();
  // Returns the standard deviations [action size] of the last refresh(); empty for discrete actions.
  const Array<float>& std() const { return std_; }

 private:
  Queue& queue_;
  Array<float> low_, high_, std_;
  Array<int32_t> heads_;  // number of choices of each head; empty for a single head
  Distribution distribution_;
};

}  // namespace drl
