// Rows of numbers, as the evaluators of policies and of ONNX files compute with them, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace drl {

using Row = std::vector<double>;

// Returns weight x + bias, where weight is [outputs, inputs].
template <class Number>
Row affine(const std::vector<Number>& weight, const std::vector<Number>& bias, std::span<const double> x) {
  Row y(bias.begin(), bias.end());
  for (size_t i = 0; i < y.size(); ++i) y[i] += std::inner_product(x.begin(), x.end(), &weight[i * x.size()], 0.0);
  return y;
}

// Returns layer norm of x.
template <class Number>
Row layer_norm(const Row& x, const std::vector<Number>& weight, const std::vector<Number>& bias, double epsilon) {
  const double size = static_cast<double>(x.size()), mean = std::accumulate(x.begin(), x.end(), 0.0) / size;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / size;
  Row y(x.size());
  for (size_t k = 0; k < x.size(); ++k) y[k] = (x[k] - mean) / std::sqrt(variance + epsilon) * weight[k] + bias[k];
  return y;
}

inline double elu(double x) { return x > 0 ? x : std::expm1(x); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace drl
