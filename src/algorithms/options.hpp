// Options of on-policy algorithms. Names follow rsl_rl where it has the option, and so do most defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/batch_plan.hpp"
#include "base/options.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// How mirrored samples are used. By default they are not.
struct SymmetryUse {
  bool augments = false;  // the algorithm's loss is the mean over the samples and the mirrored samples
  bool has_loss = false;  // the loss has the term `coef` times the squared error of mirrored outputs
  double coef = 0;
  bool any() const { return augments || has_loss; }
};

// The normalisation of observations.
struct NormalizationOptions {
  bool obs_normalization = false;
  double obs_normalization_eps = 1e-2;
  double obs_normalization_clip = 10;

  void describe_normalization(OptionVisitor& v) {
    v("obs_normalization", obs_normalization,
      "normalise observations by their running mean and standard deviation over all ranks", shapes_policy(), always);
    v("obs_normalization_eps", obs_normalization_eps,
      "constant added to that standard deviation; keeps nearly constant observations small", above(0),
      added_later("1e-4"), only_with("obs_normalization"), changes_policy());
    v("obs_normalization_clip", obs_normalization_clip,
      "clip normalised observations to +- this value; 0 turns clipping off", at_least(0), added_later("0"),
      only_with("obs_normalization"), changes_policy());
  }
  // Returns the rule by which observations are normalised, if they are.
  std::optional<NormalizerRule> normalizer() const {
    if (!obs_normalization) return std::nullopt;
    return NormalizerRule{obs_normalization_eps, obs_normalization_clip};
  }
};

// Update options that all on-policy algorithms share.
struct UpdateOptions : NormalizationOptions {
  double learning_rate = 1e-3;
  std::string schedule = "adaptive";
  double desired_kl = 0.01;
  int schedule_iterations = 1000;
  int num_learning_epochs = 5;
  int num_mini_batches = 4;
  double clip_param = 0.2;
  double entropy_coef = 0.005;
  std::optional<double> entropy_coef_end;
  std::optional<double> desired_kl_end;
  int anneal_iterations = 1000;
  double max_grad_norm = 1.0;
  std::string optimizer = "adam";
  double adam_eps = 1e-8;
  double weight_decay = 0.01;
  double momentum = 0;
  std::optional<double> critic_learning_rate;
  std::optional<double> critic_max_grad_norm;
  std::string grad_clip = "separate";

  void describe(OptionVisitor& v) {
    v("learning_rate", learning_rate, "initial learning rate (Adam's step size)", above(0) && at_most(1), common,
      always);
    v("schedule", schedule,
      "schedule of the learning rate: adaptive keeps the KL divergence near desired_kl, linear decreases the rate to 0",
      one_of({"adaptive", "fixed", "linear"}), common, always);
    v("desired_kl", desired_kl,
      "target KL divergence of the adaptive schedule: the learning rate falls above twice this value and rises below "
      "half of it",
      above(0), only_with("schedule", "adaptive"));
    v("schedule_iterations", schedule_iterations, "number of iterations after which the linear schedule reaches 0",
      at_least(1), only_with("schedule", "linear"));
    v("num_learning_epochs", num_learning_epochs, "number of passes over each rollout", between(1, 1000), common,
      always);
    v("num_mini_batches", num_mini_batches, "number of mini-batches per pass, with one gradient step each",
      between(1, 1 << 20), common, always);
    v("clip_param", clip_param, "clip range of the surrogate loss: the probability ratio is clipped to 1 +- this value",
      above(0), common, always);
    v("entropy_coef", entropy_coef, "weight of the entropy bonus; larger values explore more", at_least(0), common,
      always);
    v("max_grad_norm", max_grad_norm, "gradients with a larger norm are scaled down to this norm", above(0), always);
    v("grad_clip", grad_clip, "apply max_grad_norm to the gradients of actor and critic separately, or jointly to both",
      one_of({"separate", "joint"}), only_with("critic", "yes"));
    v("critic_max_grad_norm", critic_max_grad_norm, "max_grad_norm of the critic; none = max_grad_norm", above(0),
      only_with("critic", "yes"), only_with("grad_clip", "separate"));
    v("critic_learning_rate", critic_learning_rate,
      "initial learning rate of the critic, which an adaptive schedule does not change; none = the actor's rate",
      above(0) && at_most(1), only_with("critic", "yes"));
    v("optimizer", optimizer, "adam, adamw (Adam with weight_decay), or sgd (gradient descent with momentum)",
      one_of({"adam", "adamw", "sgd"}), always);
    v("adam_eps", adam_eps, "Adam's epsilon, added to the denominator of its step", above(0),
      not_with("optimizer", "sgd"));
    v("weight_decay", weight_decay,
      "AdamW's weight decay: each step multiplies all parameters by 1 - learning rate * weight_decay", between(0, 1),
      only_with("optimizer", "adamw"));
    v("momentum", momentum, "SGD's momentum: each step follows the gradient plus momentum times the last step",
      at_least(0) && below(1), only_with("optimizer", "sgd"));
    describe_normalization(v);
  }
  void describe_annealing(OptionVisitor& v) {
    v("entropy_coef_end", entropy_coef_end,
      "change entropy_coef linearly to this value over anneal_iterations; none = it is constant", at_least(0), always);
    v("desired_kl_end", desired_kl_end,
      "change desired_kl linearly to this value over anneal_iterations; none = it is constant", above(0),
      only_with("schedule", "adaptive"));
    v("anneal_iterations", anneal_iterations,
      "number of iterations after which entropy_coef and desired_kl have reached their end values", at_least(1),
      only_with("annealing", "yes"));
  }
  // Returns whether an option changes to an end value during the run.
  bool anneals() const { return entropy_coef_end || (desired_kl_end && schedule == "adaptive"); }
  // Returns the facts that decide whether these options have an effect.
  std::vector<Circumstance> circumstances() const;
  // Describes the update for users, see AlgorithmKind.
  std::string describe_update(const BatchPlan& plan) const;
  // Returns a warning, with the option to give, if some of the iterations that remain after the first `done` of
  // `max_iterations` are beyond the linear schedule, where the learning rate is 0. `section` is that of the options.
  std::vector<std::string> warnings(std::string_view section, int64_t done, int64_t max_iterations) const;
};

}  // namespace drl
