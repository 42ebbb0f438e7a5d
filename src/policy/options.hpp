// Options of a policy's networks. Names and most defaults are those of rsl_rl.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

struct PolicyOptions {
  std::vector<int> actor_hidden_dims = {64, 64};
  std::vector<int> critic_hidden_dims = {64, 64};
  std::string activation = "elu";
  bool layer_norm = false;
  double init_std = 1.0;
  std::string std_type = "log";
  double std_min = 1e-3;
  double std_max = 100;
  std::string init = "uniform";

  void describe(OptionVisitor& v) {
    v("actor_hidden_dims", actor_hidden_dims, "widths of the actor's hidden layers", between(1, 65536));
    v("critic_hidden_dims", critic_hidden_dims, "widths of the critic's hidden layers", between(1, 65536),
      only_with("critic", "yes"));
    v("activation", activation, "activation function of the hidden layers; swish is another name for silu",
      one_of({"elu", "tanh", "relu", "silu", "swish", "gelu"}));
    v("layer_norm", layer_norm, "layer normalisation in the hidden layers, before the activation");
    v("init_std", init_std, "initial standard deviation of continuous actions", above(0), only_with("start", "scratch"),
      only_with("actions", "continuous"));
    v("std_type", std_type,
      "whether the learned parameter is the logarithm of the standard deviation (log) or the deviation itself (scalar)",
      one_of({"log", "scalar"}), only_with("actions", "continuous"));
    v("std_min", std_min, "lower bound of the standard deviation", above(0), only_with("actions", "continuous"));
    v("std_max", std_max, "upper bound of the standard deviation", above(0), only_with("actions", "continuous"));
    v("init", init, "distribution of initial weights: uniform in +-1/sqrt(inputs), or orthogonal",
      one_of({"uniform", "orthogonal"}), only_with("start", "scratch"));
  }
};

}  // namespace drl
