// Options of a policy's networks. Names and most defaults are those of rsl_rl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

// Facts that follow from the list of distributions (policy/distribution.hpp): the values of --policy.distribution,
// their description, and the conditions without which no standard deviation is learned.
Choices distribution_choices();
std::string described_distributions();
std::vector<Condition> conditions_of_std();

struct PolicyOptions {
  std::vector<int> actor_hidden_dims = {64, 64};
  std::vector<int> critic_hidden_dims = {64, 64};
  std::string activation = "elu";
  bool layer_norm = false;
  double init_std = 1.0;
  std::string std_type = "log";
  std::string distribution = "gaussian";
  bool state_dependent_std = false;
  std::optional<double> action_limit;
  double std_min = 1e-3;
  double std_max = 100;
  std::string init = "uniform";
  std::string rnn_type = "none";
  int rnn_hidden_dim = 256;
  int rnn_num_layers = 1;

  bool is_recurrent() const { return rnn_type != "none"; }

  void describe(OptionVisitor& v) {
    v("actor_hidden_dims", actor_hidden_dims, "widths of the actor's hidden layers", between(1, 65536), common,
      shapes_policy(), always);
    v("critic_hidden_dims", critic_hidden_dims, "widths of the critic's hidden layers", between(1, 65536),
      only_with("critic", "yes"), common, shapes_policy("critic/"));
    v("activation", activation, "activation function of the hidden layers; swish is another name for silu",
      one_of({"elu", "tanh", "relu", "silu", "swish", "gelu"}), only_with("hidden_layers", "yes"), common,
      changes_policy("", {"silu", "swish"}));
    v("layer_norm", layer_norm, "layer normalisation in the hidden layers, before the activation",
      only_with("hidden_layers", "yes"), shapes_policy());
    const Condition continuous = only_with("actions", "continuous");
    const std::vector<Condition> has_std = conditions_of_std();
    v("distribution", distribution, "distribution of continuous actions: " + described_distributions(),
      distribution_choices(), added_later("gaussian"), continuous, changes_policy());
    v("action_limit", action_limit,
      "bound (+-) of continuous actions that the task leaves unbounded; none = leave them unbounded", above(0),
      added_later("none"), continuous, changes_policy());
    v("init_std", init_std, "initial standard deviation of continuous actions", above(0), only_with("std", "new"),
      continuous, has_std);
    v("std_type", std_type,
      "whether the learned parameter is the logarithm of the standard deviation (log) or the deviation itself (scalar)",
      one_of({"log", "scalar"}), continuous, has_std, shapes_policy());
    v("state_dependent_std", state_dependent_std,
      "let the network compute the standard deviation (or its logarithm) from the observation, as it does the mean",
      continuous, only_with("distribution", "gaussian|squashed_gaussian"), shapes_policy());
    v("std_min", std_min, "lower bound of the standard deviation", above(0), continuous, has_std);
    v("std_max", std_max, "upper bound of the standard deviation", above(0), continuous, has_std);
    v("init", init, "distribution of initial weights: uniform in +-1/sqrt(inputs), or orthogonal",
      one_of({"uniform", "orthogonal"}), only_with("start", "scratch"));
    v("rnn_type", rnn_type,
      "recurrent layers before the hidden layers of actor and critic, for tasks whose observations do not tell the "
      "whole state",
      one_of({"none", "gru", "lstm"}), shapes_policy(), always);
    v("rnn_hidden_dim", rnn_hidden_dim, "width of the recurrent layers", between(1, 65536),
      not_with("rnn_type", "none"), shapes_policy());
    v("rnn_num_layers", rnn_num_layers, "number of recurrent layers", between(1, 100), not_with("rnn_type", "none"),
      shapes_policy());
  }
};

}  // namespace drl
