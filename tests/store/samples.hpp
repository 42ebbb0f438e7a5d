// Small checkpoints for the tests.
#pragma once

#include <string>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

// Returns a tensor whose bytes are 0, 1, 2, ... (mod 251, a prime, so that rows differ).
inline Tensor counting_tensor(const std::string& name, DType type, const std::vector<int64_t>& shape) {
  size_t bytes = size_of(type);
  for (int64_t extent : shape) bytes *= static_cast<size_t>(extent);
  Tensor tensor{name, type, shape, std::vector<std::byte>(bytes)};
  for (size_t i = 0; i < bytes; ++i) tensor.data[i] = static_cast<std::byte>(i % 251);
  return tensor;
}

inline Checkpoint small_checkpoint(int64_t iteration = 12) {
  return {{{"task", std::string("Cartpole")}, {"iteration", iteration}, {"elapsed_seconds", 1.5}},
          {counting_tensor("policy/actor/0/weight", DType::f32, {4, 3}), counting_tensor("step", DType::i64, {})}};
}

}  // namespace drl
