// The distribution of actions: Gaussian for continuous actions, categorical for discrete ones. The standard deviation
// is a parameter (Gaussian) or an output of the network (StateGaussian).
#pragma once

#include <cmath>
#include <variant>

#include "policy/categorical.hpp"
#include "policy/gaussian.hpp"
#include "policy/state_gaussian.hpp"

namespace drl {

using Distribution = std::variant<Gaussian, Categorical, StateGaussian>;

// Returns the value of a standard deviation's parameter, or of the network's output for it.
inline float std_parameter(double std, bool log_std) { return static_cast<float>(log_std ? std::log(std) : std); }

// Returns how many outputs of the network the distribution wants.
inline int outputs(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.outputs(); }, distribution);
}
// Returns the number of learned parameters of the distribution itself, outside the network.
inline int free_parameters(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.free_parameters(); }, distribution);
}

}  // namespace drl
