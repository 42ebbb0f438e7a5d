#pragma once

#include "algorithms/options.hpp"

namespace drl {

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

  void describe(OptionVisitor& v) {
    UpdateOptions::describe(v);
    v("gamma", gamma, "discount factor", between(0, 1));
    v("lam", lam, "lambda of generalised advantage estimation", between(0, 1));
    v("use_clipped_value_loss", use_clipped_value_loss, "limit how far one update moves the value");
    v("value_clip", value_clip, "by how much, in units of the scaled return", above(0));
    v("value_loss_coef", value_loss_coef, "weight of the value loss", at_least(0));
    v("reward_scale", reward_scale, "factor on rewards, for learning only", above(0));
    v("reward_normalization", reward_normalization,
      "for learning, divide rewards by the running std of the environments' discounted returns");
    v("reward_normalization_eps", reward_normalization_eps, "what is added to those returns' variance", above(0));
    v("reward_normalization_clip", reward_normalization_clip, "largest absolute value of a normalised reward, 0 = none",
      at_least(0));
    v("normalize_advantage", normalize_advantage, "advantages of all ranks get mean 0 and std 1 before the update");
    v("normalize_advantage_per_mini_batch", normalize_advantage_per_mini_batch,
      "those of each mini-batch, instead of the whole rollout's");
  }
  NormalizerRule reward_rule() const {
    return {reward_normalization_eps, reward_normalization_clip, /*under_root=*/true};
  }
};

}  // namespace drl
