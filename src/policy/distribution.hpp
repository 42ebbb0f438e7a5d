// The distribution of actions: Gaussian for continuous actions, categorical for discrete ones.
#pragma once

#include <variant>

#include "drl/task/spec.hpp"
#include "policy/categorical.hpp"
#include "policy/gaussian.hpp"

namespace drl {

using Distribution = std::variant<Gaussian, Categorical>;

// Returns the distribution for a space, with its sizes but without its arrays.
inline Distribution distribution_of(const ActionSpace& space) {
  if (space.discrete) return Categorical{space.size, space.head_count()};
  return Gaussian{.size = space.size};
}

// Returns how many outputs of the network the distribution wants.
inline int outputs(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.outputs(); }, distribution);
}
// Returns the number of learned parameters of the distribution itself, outside the network.
inline int free_parameters(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.free_parameters(); }, distribution);
}

}  // namespace drl
