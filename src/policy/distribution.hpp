// The distribution of actions: categorical for discrete actions, and otherwise Gaussian, or one whose actions are
// within the task's bounds (Beta, SquashedGaussian, SquashedStateGaussian). The standard deviation is a parameter
// (Gaussian, SquashedGaussian) or depends on the observation (StateGaussian, SquashedStateGaussian, Beta).
#pragma once

#include <cmath>
#include <string_view>
#include <variant>

#include "nets/batch.hpp"
#include "policy/beta.hpp"
#include "policy/categorical.hpp"
#include "policy/gaussian.hpp"
#include "policy/squashed_gaussian.hpp"
#include "policy/squashed_state_gaussian.hpp"
#include "policy/state_gaussian.hpp"

namespace drl {

// The list of distributions: expands use(Kernel<D>) for each distribution D. The loops over them, their ids, the
// choices of --policy.distribution, initial weights and exports follow from it.
#define DRL_DISTRIBUTIONS(use, Kernel)                                                        \
  use(Kernel<Gaussian>) use(Kernel<Categorical>) use(Kernel<StateGaussian>) use(Kernel<Beta>) \
      use(Kernel<SquashedGaussian>) use(Kernel<SquashedStateGaussian>)

namespace distribution {

template <class D>
using Itself = D;
template <class, class... D>
struct OneOf {
  using type = std::variant<D...>;
};
#define DRL_AND(...) , __VA_ARGS__

}  // namespace distribution

using Distribution = distribution::OneOf<void DRL_DISTRIBUTIONS(DRL_AND, distribution::Itself)>::type;

template <class D>
inline constexpr DistributionId kDistributionId{static_cast<int>(Distribution(D{}).index())};

// Calls use.operator()<D>() for each distribution D.
template <class Use>
void for_each_distribution(const Use& use) {
  [&]<class... D>(const std::variant<D...>*) {
    (use.template operator()<D>(), ...);
  }(static_cast<const Distribution*>(nullptr));
}

// A distribution as options and checkpoints name it.
struct NamedDistribution {
  std::string_view name;
  const char* choice;  // how the help describes this value of --policy.distribution; null: it is not one
  Outputs outputs;
};
#define DRL_NAMED(...) NamedDistribution{__VA_ARGS__::kName, __VA_ARGS__::kChoice, __VA_ARGS__::kOutputs},
inline constexpr NamedDistribution kDistributions[] = {DRL_DISTRIBUTIONS(DRL_NAMED, distribution::Itself)};

// Returns the distribution of this name, or null.
const NamedDistribution* find_distribution(std::string_view name);

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
