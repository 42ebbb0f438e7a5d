// Options of on-policy learning and of its networks. Names and defaults are rsl_rl's where it has them.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// How all on-policy algorithms take their steps.
struct UpdateOptions {
  double learning_rate = 1e-3;
  std::string schedule = "adaptive";
  double desired_kl = 0.01;
  int schedule_iterations = 1000;
  int num_learning_epochs = 5;
  int num_mini_batches = 4;
  double clip_param = 0.2;
  double entropy_coef = 0.005;
  double max_grad_norm = 1.0;
  double adam_eps = 1e-8;
  std::string grad_clip = "separate";
  bool obs_normalization = false;
  double obs_normalization_eps = 1e-2;
  double obs_normalization_clip = 10;

  void describe(OptionVisitor& v) {
    v("learning_rate", learning_rate, "Adam's step size at the start", above(0) && at_most(1));
    v("schedule", schedule, "learning rate: adaptive follows desired_kl, linear falls to 0",
      one_of({"adaptive", "fixed", "linear"}));
    v("desired_kl", desired_kl, "KL divergence per mini-batch that the adaptive schedule aims at", above(0));
    v("schedule_iterations", schedule_iterations, "iterations in which the linear schedule reaches 0", at_least(1));
    v("num_learning_epochs", num_learning_epochs, "passes over each rollout", between(1, 1000));
    v("num_mini_batches", num_mini_batches, "gradient steps per pass", between(1, 1 << 20));
    v("clip_param", clip_param, "clip range of the probability ratio", above(0));
    v("entropy_coef", entropy_coef, "weight of the entropy bonus", at_least(0));
    v("max_grad_norm", max_grad_norm, "largest gradient norm", above(0));
    v("grad_clip", grad_clip, "gradients that it holds for: actor's and critic's each, or both as one",
      one_of({"separate", "joint"}));
    v("adam_eps", adam_eps, "Adam's epsilon", above(0));
    v("obs_normalization", obs_normalization, "normalise observations by their running mean and std");
    v("obs_normalization_eps", obs_normalization_eps,
      "what is added to that std, so that what was constant stays small", above(0), later("1e-4", "obs_normalization"));
    v("obs_normalization_clip", obs_normalization_clip, "largest absolute value of a normalised observation, 0 = none",
      at_least(0), later("0", "obs_normalization"));
  }
  NormalizerRule obs_rule() const { return {obs_normalization_eps, obs_normalization_clip}; }
};

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
    v("critic_hidden_dims", critic_hidden_dims, "widths of the critic's hidden layers", between(1, 65536));
    v("activation", activation, "of the hidden layers; swish is another name of silu",
      one_of({"elu", "tanh", "relu", "silu", "swish", "gelu"}));
    v("layer_norm", layer_norm, "normalise each hidden layer's sums over its units, before the activation");
    v("init_std", init_std, "standard deviation of a continuous action at the start", above(0));
    v("std_type", std_type, "parameter behind it: its logarithm or itself", one_of({"log", "scalar"}));
    v("std_min", std_min, "smallest standard deviation", above(0));
    v("std_max", std_max, "largest standard deviation", above(0));
    v("init", init, "initial weights: uniform +-1/sqrt(inputs) or orthogonal", one_of({"uniform", "orthogonal"}));
  }
};

}  // namespace drl
