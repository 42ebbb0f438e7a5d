// The input of networks, and a whole mini-batch as a backend receives it in Nets::gradient. Backends identify losses
// and distributions by their ids only; the code of each is written once, by the algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "nets/layout.hpp"
#include "nets/normalizer.hpp"

namespace drl {

class Weights;

using LossId = std::string_view;  // the algorithm's name
// The number of a distribution in the list of policy/distribution.hpp.
enum class DistributionId : int {};

// A network's input: row i is observation index[i] (or i if `index` is null) of `data`, normalised.
struct Rows {
  const float* data;     // [observations, inputs]
  const int32_t* index;  // [count], or null
  int64_t count;
  NormalizerView normalizer = {};

  // Returns rows [first, first + num_rows).
  Rows part(int64_t first, int64_t num_rows, int inputs) const {
    return {index ? data : data + first * inputs, index ? index + first : nullptr, num_rows, normalizer};
  }
};

// The buffers of a tile of samples: the networks' outputs, and the loss's gradient with respect to them.
struct LossTile {
  const int32_t* rows = nullptr;  // [count] indices into the rollout
  float *policy_out = nullptr, *value = nullptr;
  float *d_policy = nullptr, *d_value = nullptr;
  // [count] actions of mirrored samples, which the networks' outputs then belong to; null: the samples are not
  // mirrored.
  const std::byte* mirrored_action = nullptr;
};

struct Batch {
  struct Input {
    NetId net;
    Rows rows;
  };
  // The actor's input and, if there is a critic, its input. Both have the same samples in the same order.
  std::span<const Input> inputs;
  const Weights& weights;
  // The function object of the LossId and DistributionId, e.g. PpoLoss<Gaussian>. Its settings are complete, but its
  // LossTile is not set. A backend that uses it needs loops for this type, which must be compiled in the same unit as
  // the algorithm's own loops.
  const void* loss;
  // The loss adds to `loss_columns` columns, and after them to the gradients of `num_free` parameters that belong to
  // the distribution, from parameter number `first_free` on.
  int loss_columns = 0;
  int64_t first_free = 0;
  int num_free = 0;
};

}  // namespace drl
