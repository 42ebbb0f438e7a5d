// The distribution of actions: Gaussian for continuous actions, categorical for discrete ones.
#pragma once

#include <variant>

#include "policies/categorical.hpp"
#include "policies/gaussian.hpp"

namespace drl {

using Distribution = std::variant<Gaussian, Categorical>;

// Returns how many numbers (float or int32) an action consists of.
inline int action_size(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.action_size(); }, distribution);
}
// Returns the number of learned parameters of the distribution itself, outside the network.
inline int free_parameters(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.free_parameters(); }, distribution);
}

}  // namespace drl
