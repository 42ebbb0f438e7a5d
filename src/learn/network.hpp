// The shape of actor and critic, and where each weight lies in the one flat buffer of parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learn/options.hpp"
#include "drl/task_spec.hpp"

namespace drl {

enum class Activation { elu, tanh, relu };

struct MlpSpec {
  std::vector<int> dims;  // inputs, hidden..., outputs
  int layers() const { return static_cast<int>(dims.size()) - 1; }
  int inputs() const { return dims.front(); }
  int outputs() const { return dims.back(); }
};

// Separate networks. The actor's outputs are the logits of a categorical policy, or the means of a diagonal Gaussian
// one whose standard deviation is a parameter of its own.
struct NetworkSpec {
  MlpSpec actor, critic;
  Activation activation = Activation::elu;
  bool discrete = false;
  bool log_std = true;  // the parameter behind the standard deviation is its logarithm
};

NetworkSpec network_spec(const TaskSpec& task, const PolicyOptions& options);

struct ParamSlice {
  std::string name;            // "policy/actor/0/weight"
  std::vector<int64_t> shape;  // weights are [outputs, inputs], row-major
  int64_t offset = 0;          // in floats

  int64_t count() const;
};

// Actor's layers, then its std (Gaussian only), then the critic's layers.
std::vector<ParamSlice> network_layout(const NetworkSpec& spec);
int64_t parameter_count(const std::vector<ParamSlice>& layout);
int64_t first_critic_parameter(const std::vector<ParamSlice>& layout);
// Offset of the standard deviation's parameter [action], -1 if the policy has none.
int64_t std_offset(const std::vector<ParamSlice>& layout);

// Fills `params` [parameter_count] as a function of the seed alone. "uniform": weights and biases in +-1/sqrt(inputs),
// as rsl_rl and torch.nn.Linear. "orthogonal": gain sqrt(2) in hidden layers, 0.01 for the policy's and 1 for the
// value's output, biases 0 (Huang et al., "The 37 Implementation Details of PPO", 2022).
void initialize_parameters(const NetworkSpec& spec, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params);

}  // namespace drl
