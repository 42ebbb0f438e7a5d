#include "algorithms/actor_critic.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "algorithms/algorithm_kernels.hpp"
#include "base/check.hpp"
#include "device/for_each.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

Activation activation_of(const std::string& name) {
  return name == "tanh"                      ? Activation::tanh
         : name == "relu"                    ? Activation::relu
         : name == "silu" || name == "swish" ? Activation::silu
         : name == "gelu"                    ? Activation::gelu
                                             : Activation::elu;
}

NetSpec net(std::string name, int inputs, const std::vector<int>& hidden, int outputs, const PolicyOptions& options) {
  NetSpec spec{std::move(name), {inputs}, activation_of(options.activation), options.layer_norm};
  spec.dims.insert(spec.dims.end(), hidden.begin(), hidden.end());
  spec.dims.push_back(outputs);
  return spec;
}

// Returns the random number `index` of slice `slice`, uniform in [-1, 1).
double symmetric(uint64_t seed, uint64_t slice, uint64_t index) {
  const Words4 bits = random_bits(seed, Purpose::weights, index, slice);
  return 2 * uniform01(bits[0], bits[1]) - 1;
}

// Returns the random number `index` of slice `slice`, normally distributed (Box-Muller).
double normal(uint64_t seed, uint64_t slice, uint64_t index) {
  const Words4 bits = random_bits(seed, Purpose::weights, index, slice);
  const double u = 1 - uniform01(bits[0], bits[1]), v = uniform01(bits[2], bits[3]);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Makes `count` vectors of `size` elements orthonormal by modified Gram-Schmidt; element k of vector i is
// data[i * step + k * stride]. If the elements are Gaussian, the result is uniformly distributed over orthonormal
// frames, as it is for a QR decomposition with a positive diagonal.
void orthonormalize(std::vector<double>& data, int count, int size, int step, int stride) {
  const auto at = [&](int i, int k) -> double& {
    return data[static_cast<size_t>(i) * step + static_cast<size_t>(k) * stride];
  };
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      double dot = 0;
      for (int k = 0; k < size; ++k) dot += at(i, k) * at(j, k);
      for (int k = 0; k < size; ++k) at(i, k) -= dot * at(j, k);
    }
    double norm = 0;
    for (int k = 0; k < size; ++k) norm += at(i, k) * at(i, k);
    for (int k = 0; k < size; ++k) at(i, k) /= std::sqrt(norm);
  }
}

void fill_orthogonal(std::span<float> weight, int outputs, int inputs, double gain, uint64_t seed, uint64_t slice) {
  std::vector<double> matrix(weight.size());
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = normal(seed, slice, i);
  if (outputs <= inputs) {
    orthonormalize(matrix, outputs, inputs, inputs, 1);
  } else {
    orthonormalize(matrix, inputs, outputs, 1, inputs);
  }
  for (size_t i = 0; i < matrix.size(); ++i) weight[i] = static_cast<float>(gain * matrix[i]);
}

}  // namespace

ActorCritic actor_critic(const TaskSpec& task, const PolicyOptions& options, bool has_critic) {
  ActorCritic nets;
  nets.log_std = options.std_type == "log";
  nets.actor =
      nets.layout.add_net(net("policy/actor", task.obs_dim, options.actor_hidden_dims, task.action.size, options));
  if (!task.action.discrete)
    nets.std = nets.layout.add_free(nets.log_std ? "policy/log_std" : "policy/std", {task.action.size});
  if (!has_critic) return nets;
  nets.critic = nets.layout.add_net(net("policy/critic", task.critic_obs_dim ? task.critic_obs_dim : task.obs_dim,
                                        options.critic_hidden_dims, 1, options));
  return nets;
}

namespace {

void initialize_net(const ActorCritic& nets, NetId id, double output_gain, bool orthogonal, uint64_t seed,
                    std::span<float> params) {
  const NetSpec& spec = nets.layout.net(id);
  for (int layer = 0; layer < spec.layers(); ++layer) {
    const int inputs = spec.dims[static_cast<size_t>(layer)];
    const double bound = orthogonal ? 0 : 1 / std::sqrt(static_cast<double>(inputs));
    size_t number = nets.layout.first_slice(id, layer);
    for (const ParamSlice* slice : {&nets.layout.weight(id, layer), &nets.layout.bias(id, layer)}) {
      const std::span<float> values =
          params.subspan(static_cast<size_t>(slice->offset), static_cast<size_t>(slice->count()));
      if (orthogonal && slice->shape.size() == 2) {
        const double gain = layer + 1 < spec.layers() ? std::numbers::sqrt2 : output_gain;
        fill_orthogonal(values, static_cast<int>(slice->shape[0]), inputs, gain, seed, number);
      } else {
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * symmetric(seed, number, i));
      }
      ++number;
    }
    if (!spec.layer_norm || layer + 1 == spec.layers()) continue;
    const ParamSlice &weight = nets.layout.norm_weight(id, layer), &bias = nets.layout.norm_bias(id, layer);
    std::fill_n(params.begin() + weight.offset, weight.count(), 1.0f);
    std::fill_n(params.begin() + bias.offset, bias.count(), 0.0f);
  }
}

}  // namespace

void initialize_parameters(const ActorCritic& nets, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params) {
  DRL_CHECK(static_cast<int64_t>(params.size()) == nets.layout.size(),
            "the size of the parameter buffer does not match the networks");
  const bool orthogonal = options.init == "orthogonal";
  initialize_net(nets, nets.actor, 0.01, orthogonal, seed, params);
  if (nets.critic >= 0) initialize_net(nets, nets.critic, 1, orthogonal, seed, params);
  if (nets.std < 0) return;
  const ParamSlice& slice = nets.layout.slices()[static_cast<size_t>(nets.std)];
  const double value = nets.log_std ? std::log(options.init_std) : options.init_std;
  std::fill_n(params.begin() + slice.offset, slice.count(), static_cast<float>(value));
}

ActionDistribution::ActionDistribution(Queue& queue, const ActorCritic& nets, const ActionSpace& space,
                                       const float* params)
    : queue_(queue),
      low_(queue, space.low.size()),
      high_(queue, space.high.size()),
      std_(queue, space.low.size()),
      heads_(queue, space.heads.size()),
      distribution_(Categorical{space.size, space.head_count(), heads_.data()}) {
  queue.copy(heads_.data(), space.heads.data(), heads_.size());
  queue.copy(low_.data(), space.low.data(), low_.size());
  queue.copy(high_.data(), space.high.data(), high_.size());
  queue.synchronize();  // the caller may destroy the space after this
  if (space.discrete) return;
  distribution_ =
      Gaussian{space.size, low_.data(), high_.data(), params + nets.std_offset(), nets.log_std, std_.data()};
}

void ActionDistribution::refresh() {
  if (const auto* gaussian = std::get_if<Gaussian>(&distribution_))
    for_each(queue_, gaussian->size, StandardDeviations{*gaussian});
}

}  // namespace drl
