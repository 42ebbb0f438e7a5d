// Options of PPO and of its networks. Names and defaults are rsl_rl's where it has them.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

struct PpoOptions {
  double learning_rate = 1e-3;
  std::string schedule = "adaptive";
  double desired_kl = 0.01;
  int schedule_iterations = 1000;
  int num_learning_epochs = 5;
  int num_mini_batches = 4;
  double gamma = 0.99;
  double lam = 0.95;
  double clip_param = 0.2;
  bool use_clipped_value_loss = true;
  double value_clip = 0.2;
  double value_loss_coef = 1.0;
  double entropy_coef = 0.005;
  double max_grad_norm = 1.0;
  double adam_eps = 1e-8;
  double reward_scale = 1.0;
  bool obs_normalization = false;

  void describe(OptionVisitor& v) {
    v("learning_rate", learning_rate, "Adam's step size at the start", above(0) && at_most(1));
    v("schedule", schedule, "learning rate: adaptive follows desired_kl, linear falls to 0",
      one_of({"adaptive", "fixed", "linear"}));
    v("desired_kl", desired_kl, "KL divergence per mini-batch that the adaptive schedule aims at", above(0));
    v("schedule_iterations", schedule_iterations, "iterations in which the linear schedule reaches 0", at_least(1));
    v("num_learning_epochs", num_learning_epochs, "passes over each rollout", between(1, 1000));
    v("num_mini_batches", num_mini_batches, "gradient steps per pass", between(1, 1 << 20));
    v("gamma", gamma, "discount factor", between(0, 1));
    v("lam", lam, "lambda of generalised advantage estimation", between(0, 1));
    v("clip_param", clip_param, "clip range of the probability ratio", above(0));
    v("use_clipped_value_loss", use_clipped_value_loss, "limit how far one update moves the value");
    v("value_clip", value_clip, "by how much, in units of the scaled return", above(0));
    v("value_loss_coef", value_loss_coef, "weight of the value loss", at_least(0));
    v("entropy_coef", entropy_coef, "weight of the entropy bonus", at_least(0));
    v("max_grad_norm", max_grad_norm, "largest gradient norm, of actor and of critic", above(0));
    v("adam_eps", adam_eps, "Adam's epsilon", above(0));
    v("reward_scale", reward_scale, "factor on rewards, for learning only", above(0));
    v("obs_normalization", obs_normalization, "normalise observations by their running mean and std");
  }
};

struct PolicyOptions {
  std::vector<int> actor_hidden_dims = {64, 64};
  std::vector<int> critic_hidden_dims = {64, 64};
  std::string activation = "elu";
  double init_std = 1.0;
  std::string std_type = "log";
  double std_min = 1e-3;
  double std_max = 100;
  std::string init = "uniform";

  void describe(OptionVisitor& v) {
    v("actor_hidden_dims", actor_hidden_dims, "widths of the actor's hidden layers", between(1, 65536));
    v("critic_hidden_dims", critic_hidden_dims, "widths of the critic's hidden layers", between(1, 65536));
    v("activation", activation, "of the hidden layers", one_of({"elu", "tanh", "relu"}));
    v("init_std", init_std, "standard deviation of a continuous action at the start", above(0));
    v("std_type", std_type, "parameter behind it: its logarithm or itself", one_of({"log", "scalar"}));
    v("std_min", std_min, "smallest standard deviation", above(0));
    v("std_max", std_max, "largest standard deviation", above(0));
    v("init", init, "initial weights: uniform +-1/sqrt(inputs) or orthogonal", one_of({"uniform", "orthogonal"}));
  }
};

}  // namespace drl
