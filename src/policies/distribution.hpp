// The distributions of actions, and which of them a task's actions have.
#pragma once

#include <variant>

#include "policies/categorical.hpp"
#include "policies/gaussian.hpp"

namespace drl {

using Distribution = std::variant<Gaussian, Categorical>;

// What all of them are asked.
inline int action_size(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.action_size(); }, distribution);
}
inline int free_parameters(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.free_parameters(); }, distribution);
}

}  // namespace drl
