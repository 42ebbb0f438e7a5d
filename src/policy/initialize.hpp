// The initial values of a policy's parameters.
#pragma once

#include <cstdint>
#include <span>

#include "policy/spec.hpp"

namespace drl {

// Fills `params` [layout.size()], which is in host memory. For given networks, the values depend only on the options
// and the seed.
//   "uniform": weights and biases are uniform in +-1/sqrt(inputs), as in rsl_rl and torch.nn.Linear.
//   "orthogonal": orthogonal weights with gain sqrt(2) in hidden layers, 0.01 in the policy's output layer and 1 in the
//   value network's; biases are 0 (Huang et al., "The 37 Implementation Details of PPO", 2022).
// Layer norm starts with weight 1 and bias 0. Recurrent layers start uniform in +-1/sqrt(width), as in torch.nn.GRU,
// with both options.
void initialize_parameters(const PolicySpec& policy, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params);

// Fills the parameters of one network as "uniform" does. The random numbers of its slices are those of a policy's
// slices from number `first_slice` on.
void initialize_uniform(const ParamLayout& layout, NetId net, uint64_t seed, uint64_t first_slice,
                        std::span<float> params);

}  // namespace drl
