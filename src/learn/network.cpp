#include "learn/network.hpp"

#include <cmath>
#include <numbers>

#include "base/check.hpp"
#include "drl/philox.hpp"

namespace drl {
namespace {

MlpSpec mlp(int inputs, const std::vector<int>& hidden, int outputs) {
  MlpSpec spec{{inputs}};
  spec.dims.insert(spec.dims.end(), hidden.begin(), hidden.end());
  spec.dims.push_back(outputs);
  return spec;
}

void append(std::vector<ParamSlice>& layout, std::string name, std::vector<int64_t> shape) {
  layout.push_back({std::move(name), std::move(shape), parameter_count(layout)});
}

void append_mlp(std::vector<ParamSlice>& layout, const std::string& name, const MlpSpec& spec) {
  for (int layer = 0; layer < spec.layers(); ++layer) {
    const std::string path = "policy/" + name + "/" + std::to_string(layer);
    append(layout, path + "/weight", {spec.dims[layer + 1], spec.dims[layer]});
    append(layout, path + "/bias", {spec.dims[layer + 1]});
  }
}

// Uniform in [-1, 1), number `index` of slice `slice`.
double symmetric(uint64_t seed, uint64_t slice, uint64_t index) {
  const Words4 bits = random_bits(seed, Purpose::weights, index, slice);
  return 2 * uniform01(bits[0], bits[1]) - 1;
}

double normal(uint64_t seed, uint64_t slice, uint64_t index) {
  const Words4 bits = random_bits(seed, Purpose::weights, index, slice);
  const double u = 1 - uniform01(bits[0], bits[1]), v = uniform01(bits[2], bits[3]);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Makes `count` vectors of `size` numbers, vector i's element k at data[i * step + k * stride], orthonormal, by
// modified Gram-Schmidt on a Gaussian matrix: uniform over such frames, as QR with positive diagonal is.
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

int64_t ParamSlice::count() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

NetworkSpec network_spec(const TaskSpec& task, const PolicyOptions& options) {
  NetworkSpec spec;
  spec.actor = mlp(task.obs_dim, options.actor_hidden_dims, task.action.size);
  spec.critic = mlp(task.critic_obs_dim ? task.critic_obs_dim : task.obs_dim, options.critic_hidden_dims, 1);
  spec.activation = options.activation == "tanh"   ? Activation::tanh
                    : options.activation == "relu" ? Activation::relu
                                                   : Activation::elu;
  spec.discrete = task.action.discrete;
  spec.log_std = options.std_type == "log";
  return spec;
}

std::vector<ParamSlice> network_layout(const NetworkSpec& spec) {
  std::vector<ParamSlice> layout;
  append_mlp(layout, "actor", spec.actor);
  if (!spec.discrete) append(layout, spec.log_std ? "policy/log_std" : "policy/std", {spec.actor.outputs()});
  append_mlp(layout, "critic", spec.critic);
  return layout;
}

int64_t parameter_count(const std::vector<ParamSlice>& layout) {
  return layout.empty() ? 0 : layout.back().offset + layout.back().count();
}

int64_t first_critic_parameter(const std::vector<ParamSlice>& layout) {
  for (const ParamSlice& slice : layout)
    if (slice.name.starts_with("policy/critic/")) return slice.offset;
  return parameter_count(layout);
}

int64_t std_offset(const std::vector<ParamSlice>& layout) {
  for (const ParamSlice& slice : layout)
    if (slice.name.ends_with("std")) return slice.offset;
  return -1;
}

void initialize_parameters(const NetworkSpec& spec, const PolicyOptions& options, uint64_t seed,
                           std::span<float> params) {
  const std::vector<ParamSlice> layout = network_layout(spec);
  DRL_CHECK(static_cast<int64_t>(params.size()) == parameter_count(layout), "parameter buffer of another network");
  const bool orthogonal = options.init == "orthogonal";
  int fan_in = 1;
  for (size_t k = 0; k < layout.size(); ++k) {
    const ParamSlice& slice = layout[k];
    const std::span<float> values = params.subspan(slice.offset, slice.count());
    if (slice.name.ends_with("std")) {
      const double value = spec.log_std ? std::log(options.init_std) : options.init_std;
      std::fill(values.begin(), values.end(), static_cast<float>(value));
      continue;
    }
    const bool weight = slice.shape.size() == 2;
    if (weight) fan_in = static_cast<int>(slice.shape[1]);
    if (orthogonal && weight) {
      const bool actor = slice.name.starts_with("policy/actor/");
      const int last = (actor ? spec.actor : spec.critic).layers() - 1;
      const bool output =
          slice.name == std::string(actor ? "policy/actor/" : "policy/critic/") + std::to_string(last) + "/weight";
      const double gain = !output ? std::numbers::sqrt2 : actor ? 0.01 : 1.0;
      fill_orthogonal(values, static_cast<int>(slice.shape[0]), fan_in, gain, seed, k);
    } else {
      const double bound = orthogonal ? 0 : 1 / std::sqrt(static_cast<double>(fan_in));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * symmetric(seed, k, i));
    }
  }
}

}  // namespace drl
