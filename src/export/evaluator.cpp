#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "export/exported_policy.hpp"
#include "export/rows.hpp"

namespace drl {
namespace {

double activate(const std::string& name, double x) {
  if (name == "elu") return elu(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "silu") return x / (1 + std::exp(-x));
  return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
}

// Evaluates the operations, in double precision.
struct Evaluator {
  Row x;
  std::span<double> state;  // of the recurrent layers to come

  void operator()(const op::Normalise& normalise) {
    const double clip = normalise.clip;
    for (size_t k = 0; k < normalise.mean.size(); ++k)
      x[k] = std::clamp((x[k] - normalise.mean[k]) * normalise.scale[k], -clip, clip);
  }
  void operator()(const op::Recurrent& layer) {
    const auto width = static_cast<size_t>(layer.width);
    const std::span<double> h = state.first(width);
    const Row of_x = affine(layer.input_weight, layer.input_bias, x),
              of_h = affine(layer.hidden_weight, layer.hidden_bias, h);
    const auto gate = [&](size_t number, size_t i) { return of_x[number * width + i] + of_h[number * width + i]; };
    for (size_t i = 0; i < width; ++i) {
      if (layer.type == "gru") {
        const double r = sigmoid(gate(0, i)), z = sigmoid(gate(1, i));
        h[i] = (1 - z) * std::tanh(of_x[2 * width + i] + r * of_h[2 * width + i]) + z * h[i];
      } else {
        double& c = state[width + i];
        c = sigmoid(gate(1, i)) * c + sigmoid(gate(0, i)) * std::tanh(gate(2, i));
        h[i] = sigmoid(gate(3, i)) * std::tanh(c);
      }
    }
    x.assign(h.begin(), h.end());
    state = state.subspan(static_cast<size_t>(layer.state_size()));
  }
  void operator()(const op::Affine& layer) { x = affine(layer.weight, layer.bias, x); }
  void operator()(const op::Norm& norm) { x = layer_norm(x, norm.weight, norm.bias, 1e-5); }
  void operator()(const op::Activation& activation) {
    for (double& value : x) value = activate(activation.name, value);
  }
  void operator()(const op::Bound& bound) {
    const size_t size = bound.low.size();
    for (size_t k = 0; k < size && are_within_bounds(bound.outputs); ++k) {
      double at = sigmoid(2 * x[k]);
      if (bound.outputs == Outputs::alphas_and_betas) {
        const double alpha = 1 + softplus(x[k]), beta = 1 + softplus(x[size + k]);
        at = alpha / (alpha + beta);
      }
      x[k] = bound.low[k] + bound.range[k] * at;
    }
    x.resize(size);
    x = applied(bound, x);
  }
  void operator()(const op::ArgMax& heads) {
    Row chosen;
    auto first = x.begin();
    for (const int64_t choices : heads.choices) {
      chosen.push_back(static_cast<double>(std::max_element(first, first + choices) - first));
      first += choices;
    }
    x = chosen;
  }
};

}  // namespace

std::vector<double> applied(const op::Bound& bound, std::vector<double> action) {
  for (size_t k = 0; k < action.size(); ++k) {
    action[k] = std::clamp(action[k], double{bound.low[k]}, double{bound.high[k]});
    if (!bound.gain.empty()) action[k] = bound.offset[k] + bound.gain[k] * action[k];
  }
  return action;
}

std::vector<double> act(const ExportedPolicy& policy, std::span<const double> observation, std::span<double> state) {
  DRL_CHECK(static_cast<int64_t>(state.size()) == policy.state_size(), "the state has another size than the policy's");
  Evaluator evaluator{{observation.begin(), observation.end()}, state};
  for (const Op& op : policy.ops) std::visit(evaluator, op);
  return evaluator.x;
}

}  // namespace drl
