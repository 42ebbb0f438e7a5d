#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "export/exported_policy.hpp"

namespace drl {
namespace {

using Row = std::vector<double>;

double activate(const std::string& name, double x) {
  if (name == "elu") return x > 0 ? x : std::expm1(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "silu") return x / (1 + std::exp(-x));
  return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
}

Row linear(const std::vector<float>& weight, const std::vector<float>& bias, std::span<const double> x) {
  Row y(bias.begin(), bias.end());
  for (size_t i = 0; i < y.size(); ++i) y[i] += std::inner_product(x.begin(), x.end(), &weight[i * x.size()], 0.0);
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

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
    const Row of_x = linear(layer.input_weight, layer.input_bias, x),
              of_h = linear(layer.hidden_weight, layer.hidden_bias, h);
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
  void operator()(const op::Affine& layer) { x = linear(layer.weight, layer.bias, x); }
  void operator()(const op::Norm& norm) {
    const double size = static_cast<double>(x.size()), mean = std::accumulate(x.begin(), x.end(), 0.0) / size;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / size;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * norm.weight[i] + norm.bias[i];
  }
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
