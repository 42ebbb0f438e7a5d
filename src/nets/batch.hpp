// What a backend is asked that could take the gradient of a whole mini-batch over (Nets::gradient). Losses and
// distributions it knows by name only: each is written once, by the algorithm.
#pragma once

#include <cstdint>
#include <span>

#include "nets/layout.hpp"
#include "nets/normalizer.hpp"

namespace drl {

enum class LossId { ppo, grpo };
enum class DistributionId { gaussian, categorical };  // as the alternatives of Distribution

// What goes into a network: row i is the observation number index[i] (or i) of `data`, normalised.
struct Rows {
  const float* data;     // [observations, inputs]
  const int32_t* index;  // [count], or null
  int64_t count;
  NormalizerView normalizer = {};

  // Rows first to first + some of them.
  Rows part(int64_t first, int64_t some, int inputs) const {
    return {index ? data : data + first * inputs, index ? index + first : nullptr, some, normalizer};
  }
};

// Samples on their way through the loss: what the networks make of them, and the loss's gradient with respect to it.
struct LossTile {
  const int32_t* rows = nullptr;  // [count] samples of the rollout
  float *policy_out = nullptr, *value = nullptr;
  float *d_policy = nullptr, *d_value = nullptr;
};

struct Batch {
  struct Input {
    NetId net;
    Rows rows;
  };
  std::span<const Input> inputs;  // of actor and critic, or of the actor alone; of the same samples, shard by shard
  const float* params;
  // The function object of that name (PpoLoss<Gaussian>), which has all numbers of the loss and lacks its LossTile. A
  // backend that takes it over has its loops compiled for it where the algorithm's own are.
  const void* loss;
};

}  // namespace drl
