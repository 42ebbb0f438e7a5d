// Options that all off-policy algorithms share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/options.hpp"
#include "drl/task/spec.hpp"
#include "nets/layout.hpp"
#include "policy/options.hpp"

namespace drl {

// Numbers of samples, transitions and environments are those of all ranks together. The defaults are those of CleanRL
// (Huang et al., "CleanRL", JMLR 23, 2022).
struct OffPolicyOptions : NormalizationOptions {
  double learning_rate = 3e-4;
  double critic_learning_rate = 1e-3;
  double gamma = 0.99;
  double tau = 0.005;
  int batch_size = 256;
  int64_t replay_size = 1'000'000;
  int64_t learning_starts = 5000;
  int updates_per_step = 1;
  int policy_delay = 2;
  int n_step = 1;
  std::string critics = "min";
  bool residual_critics = false;
  int atoms = 1;
  double value_min = -20;
  double value_max = 20;
  double reward_scale = 1;
  bool reward_normalization = false;
  double reward_limit = 5;
  std::string symmetry = "none";
  double weight_decay = 0;
  double adam_eps = 1e-8;

  void describe(OptionVisitor& v) {
    v("learning_rate", learning_rate, "learning rate of the actor (Adam's step size)", above(0) && at_most(1), common,
      always);
    v("critic_learning_rate", critic_learning_rate, "learning rate of the critics", above(0) && at_most(1), common,
      always);
    v("gamma", gamma, "discount factor of future rewards", between(0, 1), common, always);
    v("tau", tau, "step size of the target networks towards the learned ones, at each update", above(0) && at_most(1),
      always);
    v("batch_size", batch_size, "samples of an update, on all ranks together", between(1, 1 << 24), common, always);
    v("replay_size", replay_size,
      "transitions in the replay buffer, on all ranks together; the oldest make room for new ones",
      between(1, int64_t{1} << 40), common, always);
    v("learning_starts", learning_starts,
      "transitions, on all ranks together, before the first update; until then, actions are uniformly random",
      at_least(0), common, always);
    v("updates_per_step", updates_per_step, "updates after each step of all environments", between(1, 10000), common,
      always);
    v("policy_delay", policy_delay, "update the actor after every N-th update of the critics", between(1, 10000),
      always);
    v("n_step", n_step, "rewards in a target before the critics' estimate of the rest", between(1, 1000), always);
    v("critics", critics, "which of the two critics' values counts: the smaller one, or their mean",
      one_of({"min", "mean"}), always);
    v("residual_critics", residual_critics,
      "critics are residual blocks with layer norm and ReLU (SimBa), one for each of policy.critic_hidden_dims, which "
      "must repeat one width; inside, a block has 4 times as many units",
      shapes_policy("critic/"), always);
    v("atoms", atoms,
      "number of returns, the atoms, to which each critic gives probabilities, so that it learns a distribution (C51); "
      "1 = it learns the mean",
      between(1, 1001), shapes_policy("critic/"), always);
    v("value_min", value_min, "smallest return among the atoms", any_number(), not_with("atoms", "1"),
      below_option("value_max"), changes_policy("critic/"));
    v("value_max", value_max, "largest return among the atoms", any_number(), not_with("atoms", "1"),
      changes_policy("critic/"));
    v("reward_normalization", reward_normalization,
      "divide rewards by the running standard deviation of their discounted sums over all ranks, or by more "
      "(reward_limit)",
      always);
    v("reward_limit", reward_limit,
      "normalised rewards are so small that their discounted sums have not exceeded +- this value", above(0),
      only_with("reward_normalization"));
    v("reward_scale", reward_scale,
      "factor by which rewards are multiplied for learning; reported returns are not scaled", above(0), always);
    v("symmetry", symmetry, "for symmetric tasks: augment mirrors each sample of a batch with probability 1/2",
      one_of({"none", "augment"}), always);
    v("weight_decay", weight_decay,
      "weight decay of actor and critics: each step multiplies all parameters by 1 - learning rate * weight_decay "
      "(AdamW)",
      between(0, 1), always);
    v("adam_eps", adam_eps, "Adam's epsilon, added to the denominator of its step", above(0), always);
    describe_normalization(v);
  }
  std::vector<Circumstance> circumstances() const { return {}; }
  // Returns one of the critics' networks, whose inputs are observations and actions.
  NetSpec critic_net(const TaskSpec& task, const PolicyOptions& policy) const;
  // Describes the update for users, see AlgorithmKind.
  std::string describe_update(const BatchPlan& plan) const;
  std::vector<std::string> warnings(std::string_view, int64_t, int64_t) const { return {}; }
};

// The preset that they share, in the syntax of --config files: one environment per rank, and 1 M steps of it.
inline constexpr std::string_view kOffPolicyPreset = R"(
num_envs = 1
num_steps_per_env = 1000
max_iterations = 1000
init_at_random_ep_len = false
save_interval = 100
[policy]
actor_hidden_dims = 256,256
critic_hidden_dims = 256,256
activation = relu
action_limit = 3
layer_norm = false
distribution = squashed_gaussian
init = uniform
)";

}  // namespace drl
