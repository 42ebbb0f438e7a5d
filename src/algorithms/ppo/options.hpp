#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/options.hpp"

namespace drl {

// Random network distillation. Names and meanings are those of rsl_rl's rnd_cfg.
struct RndOptions {
  double weight = 0;
  std::string weight_schedule = "constant";
  int64_t initial_step = 0;
  int64_t final_step = 1000;
  double final_value = 0;
  std::string state = "policy";
  bool state_normalization = false;
  bool reward_normalization = false;
  int num_outputs = 16;
  std::vector<int> predictor_hidden_dims = {64, 64};
  std::vector<int> target_hidden_dims = {64, 64};
  std::string activation = "elu";
  double learning_rate = 1e-3;

  bool is_on() const { return weight > 0; }

  void describe(OptionVisitor& v) {
    const Condition on = not_with("rnd.weight", "0");
    v("rnd.weight", weight,
      "random network distillation: weight of the intrinsic reward for observations that were seldom seen, per second; "
      "0 turns it off",
      at_least(0), added_later("0"), shapes_policy("rnd/"), always);
    v("rnd.weight_schedule", weight_schedule,
      "schedule of that weight: step changes it at final_step, linear from initial_step to final_step",
      one_of({"constant", "step", "linear"}), on);
    v("rnd.initial_step", initial_step, "step of each environment at which the weight begins to change", at_least(0),
      on, only_with("rnd.weight_schedule", "linear"));
    v("rnd.final_step", final_step, "step of each environment at which the weight has reached its final value",
      at_least(1), on, not_with("rnd.weight_schedule", "constant"));
    v("rnd.final_value", final_value, "the weight from then on", at_least(0), on,
      not_with("rnd.weight_schedule", "constant"));
    v("rnd.state", state, "observations that its networks receive: those of the actor (policy) or of the critic",
      one_of({"policy", "critic"}), on, only_with("critic_obs", "yes"), changes_policy("rnd/"));
    v("rnd.state_normalization", state_normalization,
      "normalise these observations by their running mean and standard deviation over all ranks", on,
      shapes_policy("rnd/"));
    v("rnd.reward_normalization", reward_normalization,
      "divide intrinsic rewards by the running standard deviation of their discounted sums", on, shapes_policy("rnd/"));
    v("rnd.num_outputs", num_outputs, "numbers in an embedding of an observation", between(1, 65536), on,
      shapes_policy("rnd/"));
    v("rnd.predictor_hidden_dims", predictor_hidden_dims, "widths of the hidden layers of the network that learns",
      between(1, 65536), on, shapes_policy("rnd/"));
    v("rnd.target_hidden_dims", target_hidden_dims,
      "widths of the hidden layers of the network whose embeddings it learns to predict", between(1, 65536), on,
      shapes_policy("rnd/"));
    v("rnd.activation", activation, "activation function of the hidden layers of both",
      one_of({"elu", "tanh", "relu", "silu", "swish", "gelu"}), on, changes_policy("rnd/", {"silu", "swish"}));
    v("rnd.learning_rate", learning_rate, "learning rate of the network that learns (Adam's step size)",
      above(0) && at_most(1), on);
  }
};

struct PpoOptions : UpdateOptions {
  double gamma = 0.99;
  double lam = 0.95;
  bool use_clipped_value_loss = true;
  double value_clip = 0.2;
  double value_loss_coef = 1.0;
  double reward_scale = 1.0;
  bool reward_normalization = false;
  double reward_normalization_eps = 1e-8;
  double reward_normalization_clip = 10;
  bool normalize_advantage = true;
  bool normalize_advantage_per_mini_batch = false;
  std::string symmetry = "none";
  double mirror_loss_coeff = 0.1;
  RndOptions rnd;

  void describe(OptionVisitor& v) {
    UpdateOptions::describe(v);
    v("gamma", gamma, "discount factor of future rewards", between(0, 1), common, always);
    v("lam", lam, "lambda of generalised advantage estimation; smaller values have less variance and more bias",
      between(0, 1), common, always);
    v("use_clipped_value_loss", use_clipped_value_loss, "clip the change of the value prediction in the value loss",
      always);
    v("value_clip", value_clip, "clip range of that change, in units of the scaled return", above(0),
      only_with("use_clipped_value_loss"));
    v("value_loss_coef", value_loss_coef, "weight of the value loss", at_least(0), always);
    v("reward_scale", reward_scale,
      "factor by which rewards are multiplied for learning; reported returns are not scaled", above(0), always);
    v("reward_normalization", reward_normalization,
      "for learning, divide rewards by the running standard deviation of discounted returns", always);
    v("reward_normalization_eps", reward_normalization_eps, "constant added to the variance of those returns", above(0),
      only_with("reward_normalization"));
    v("reward_normalization_clip", reward_normalization_clip,
      "clip normalised rewards to +- this value; 0 turns clipping off", at_least(0), only_with("reward_normalization"));
    v("normalize_advantage", normalize_advantage,
      "normalise the advantages of all ranks' rollouts to mean 0 and standard deviation 1", always);
    v("normalize_advantage_per_mini_batch", normalize_advantage_per_mini_batch,
      "normalise advantages over each mini-batch instead of over the whole rollout", always);
    describe_annealing(v);
    v("symmetry", symmetry,
      "for symmetric tasks: augment adds a mirrored copy of each sample to the mini-batches, loss adds a loss that "
      "makes mirrored observations lead to mirrored actions",
      one_of({"none", "augment", "loss", "both"}), added_later("none"), always);
    v("mirror_loss_coeff", mirror_loss_coeff, "weight of that loss, the mean squared error of the actor's outputs",
      above(0), added_later("0.1"), only_with("symmetry", "loss|both"));
    rnd.describe(v);
  }
  SymmetryUse symmetry_use() const {
    return {symmetry == "augment" || symmetry == "both", symmetry == "loss" || symmetry == "both", mirror_loss_coeff};
  }
  NormalizerRule reward_rule() const {
    return {reward_normalization_eps, reward_normalization_clip, /*eps_inside_sqrt=*/true};
  }
};

}  // namespace drl
