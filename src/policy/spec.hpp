// Describes a policy without the values of its parameters: its networks, normaliser, distribution and actions. If there
// is a critic, its network is described too. A checkpoint's group `policy/` describes it (export/exported_policy.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drl/task/spec.hpp"
#include "nets/layout.hpp"
#include "nets/normalizer.hpp"
#include "nets/recurrent.hpp"
#include "policy/distribution.hpp"
#include "policy/options.hpp"

namespace drl {

struct PolicySpec {
  // The actor's recurrent layers (if any), its other layers, the standard deviation (if any), and those of the critic
  // (if any).
  ParamLayout layout;
  NetId actor = 0, critic = -1;   // critic -1: the algorithm has none
  RnnSpec actor_rnn, critic_rnn;  // recurrent layers before these networks; empty: none
  int std = -1;                   // index of the standard deviation's slice in layout.slices(); -1: discrete actions
  bool log_std = true;            // the parameter is the logarithm of the standard deviation
  Distribution distribution;      // without its arrays, which an Actor adds
  std::optional<NormalizerRule> normalizer;  // of observations; none: they are not normalised
  int critic_observations = 0;               // 0: the critic receives the actor's
  std::optional<NetSpec> separate_critic{};  // of off-policy algorithms, whose critics are not in `layout`

  std::string task;
  double dt = 0;                                   // seconds per step
  std::vector<NamedNumber> observations, actions;  // by the task's names, or "obs[0]", "action[0]", ...
  std::vector<std::string> commands;               // of the observations, see TaskSpec
  ActionSpace action;                              // choices, or bounds and what the task's step() makes of an action

  const NetSpec& actor_net() const { return layout.net(actor); }
  // Returns the number of the actor's observations.
  int inputs() const { return layout.net(first_net(actor, actor_rnn)).inputs(); }
  int64_t first_critic_parameter() const {
    return critic < 0 ? layout.size() : layout.weight(first_net(critic, critic_rnn), 0).offset;
  }
  // Returns the offset of the standard deviation's parameter [action size], or 0 if there is none.
  int64_t std_offset() const { return std < 0 ? 0 : layout.slices()[static_cast<size_t>(std)].offset; }
  // Return the numbers of observations that are normalised, of the actor and of a critic that has its own.
  int normalized() const { return normalizer ? inputs() : 0; }
  int normalized_of_critic() const { return normalizer && (critic >= 0 || separate_critic) ? critic_observations : 0; }

  static NetId first_net(NetId net, const RnnSpec& rnn) { return rnn.empty() ? net : rnn.layers.front().input; }
};

// Returns the activation of this name; swish is another name for silu.
Activation activation_of(const std::string& name);

// Returns the policy for a task. The distribution of its actions determines the number of the actor's outputs.
PolicySpec policy_spec(const TaskSpec& task, const PolicyOptions& options,
                       const std::optional<NormalizerRule>& normalizer = {}, bool has_critic = true);

}  // namespace drl
