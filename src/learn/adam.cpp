#include "learn/adam.hpp"

#include <cmath>

#include "base/check.hpp"
#include "base/simd.hpp"

namespace drl {
namespace {

// Eight running sums: a fixed order that SIMD of any width follows.
DRL_CLONES double sum_of_squares(const float* x, size_t n) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
  for (int lane = 0; i < n; ++i, ++lane) sums[lane] += static_cast<double>(x[i]) * x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

DRL_CLONES void adam_step(size_t n, float* params, const float* gradient, float* m, float* v, const AdamScale& scale) {
  const AdamScale s = scale;  // which no store below changes
  for (size_t i = 0; i < n; ++i) adam_update(params[i], gradient[i], m[i], v[i], s);
}

}  // namespace

double clip_gradient(std::span<float> gradient, double max_norm) {
  const double norm = std::sqrt(sum_of_squares(gradient.data(), gradient.size()));
  const float factor = static_cast<float>(max_norm / (norm + 1e-6));
  if (factor < 1)
    for (float& g : gradient) g *= factor;
  return norm;
}

void Adam::step(std::span<float> params, std::span<const float> gradient, double learning_rate) {
  DRL_CHECK(params.size() == m_.size() && gradient.size() == m_.size(), "buffers of another network");
  steps_ += 1;
  const double correction1 = 1 - std::pow(kAdamBeta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(kAdamBeta2, static_cast<double>(steps_));
  adam_step(params.size(), params.data(), gradient.data(), m_.data(), v_.data(),
            {static_cast<float>(learning_rate / correction1), static_cast<float>(1 / std::sqrt(correction2)),
             static_cast<float>(epsilon_)});
}

void Adam::visit_state(StateVisitor& visitor) {
  visitor.scalar("optimizer/steps", steps_);
  visitor.array("optimizer/m", m_.data(), {static_cast<int64_t>(m_.size())});
  visitor.array("optimizer/v", v_.data(), {static_cast<int64_t>(v_.size())});
}

}  // namespace drl
