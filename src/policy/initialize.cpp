#include "policy/initialize.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

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

// `first_slice` is added to the numbers of the slices, which key their random numbers.
void initialize_net(const ParamLayout& layout, NetId id, double output_gain, bool orthogonal, uint64_t seed,
                    uint64_t first_slice, std::span<float> params) {
  const NetSpec& spec = layout.net(id);
  for (int layer = 0; layer < spec.num_layers(); ++layer) {
    const int inputs = spec.layers[static_cast<size_t>(layer)].inputs;
    const double bound = orthogonal ? 0 : 1 / std::sqrt(static_cast<double>(inputs));
    uint64_t number = first_slice + layout.first_slice(id, layer);
    for (const ParamSlice& slice : layout.slices_of(id, layer)) {
      const std::span<float> values =
          params.subspan(static_cast<size_t>(slice.offset), static_cast<size_t>(slice.count()));
      if (slice.initial) {
        std::ranges::fill(values, *slice.initial);
      } else if (orthogonal && slice.shape.size() == 2) {
        const double gain = layer + 1 < spec.num_layers() ? std::numbers::sqrt2 : output_gain;
        fill_orthogonal(values, static_cast<int>(slice.shape[0]), inputs, gain, seed, number);
      } else {
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * symmetric(seed, number, i));
      }
      ++number;
    }
  }
}

// Makes the second half of the actor's outputs, the standard deviations of `size` actions or the raw numbers of their
// beta, equal to `value` for all observations.
void initialize_second_half(const PolicySpec& policy, int size, float value, std::span<float> params) {
  const NetSpec& net = policy.actor_net();
  const int last = net.num_layers() - 1;
  const int64_t inputs = net.layers.back().inputs;
  std::fill_n(params.begin() + policy.layout.weight(policy.actor, last).offset + size * inputs, size * inputs, 0.0f);
  std::fill_n(params.begin() + policy.layout.bias(policy.actor, last).offset + size, size, value);
}

void initialize_rnn(const PolicySpec& policy, const RnnSpec& rnn, uint64_t seed, std::span<float> params) {
  for (const RnnSpec::Layer& layer : rnn.layers)
    for (const NetId map : {layer.input, layer.hidden})
      for (size_t number : {policy.layout.first_slice(map), policy.layout.first_slice(map) + 1}) {
        const ParamSlice& slice = policy.layout.slices()[number];
        for (int64_t i = 0; i < slice.count(); ++i)
          params[static_cast<size_t>(slice.offset + i)] = static_cast<float>(
              symmetric(seed, number, static_cast<uint64_t>(i)) / std::sqrt(static_cast<double>(rnn.width)));
      }
}

}  // namespace

void initialize_uniform(const ParamLayout& layout, NetId net, uint64_t seed, uint64_t first_slice,
                        std::span<float> params) {
  initialize_net(layout, net, 1, /*orthogonal=*/false, seed, first_slice, params);
}

void initialize_parameters(const PolicySpec& policy, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params) {
  DRL_CHECK(static_cast<int64_t>(params.size()) == policy.layout.size(),
            "the size of the parameter buffer does not match the networks");
  const bool orthogonal = options.init == "orthogonal";
  initialize_rnn(policy, policy.actor_rnn, seed, params);
  initialize_rnn(policy, policy.critic_rnn, seed, params);
  initialize_net(policy.layout, policy.actor, 0.01, orthogonal, seed, 0, params);
  if (policy.critic >= 0) initialize_net(policy.layout, policy.critic, 1, orthogonal, seed, 0, params);
  const float std = std_parameter(options.init_std, policy.log_std);
  std::visit(
      [&]<class D>(const D& distribution) {
        if constexpr (HasStateStd<D>)
          initialize_second_half(policy, distribution.size, distribution.initial_std(std), params);
      },
      policy.distribution);
  if (policy.std < 0) return;
  const ParamSlice& slice = policy.layout.slices()[static_cast<size_t>(policy.std)];
  std::fill_n(params.begin() + slice.offset, slice.count(), std);
}

}  // namespace drl
