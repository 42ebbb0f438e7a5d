// The distribution of actions: categorical for discrete actions, and otherwise Gaussian, or one whose actions are
// within the task's bounds (Beta, SquashedGaussian). The standard deviation is a parameter (Gaussian, SquashedGaussian)
// or depends on the observation (StateGaussian, Beta).
#pragma once

#include <cmath>
#include <variant>

#include "policy/beta.hpp"
#include "policy/categorical.hpp"
#include "policy/gaussian.hpp"
#include "policy/squashed_gaussian.hpp"
#include "policy/state_gaussian.hpp"

namespace drl {

using Distribution = std::variant<Gaussian, Categorical, StateGaussian, Beta, SquashedGaussian>;

// Distributions with a learned standard deviation, and those whose standard deviation depends on the observation.
template <class T>
concept HasStdParameter = requires(const T& distribution) {
  distribution.std_now(0);
};
template <class T>
concept HasStateStd = requires(const T& distribution) {
  distribution.template std_at<float>(nullptr, 0, 0);
};

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
