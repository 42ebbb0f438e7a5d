#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "base/state.hpp"

namespace drl {

// Scales `gradient` so that its Euclidean norm is at most `max_norm`; returns the norm before. The sum of squares is
// taken in float64 in a fixed order.
double clip_gradient(std::span<float> gradient, double max_norm);

// What an Adam step is for all parameters: learning_rate / (1 - beta1^n) and 1 / sqrt(1 - beta2^n) at step n.
struct AdamScale {
  float step_size, inv_sqrt_correction2, epsilon;
};
inline constexpr double kAdamBeta1 = 0.9, kAdamBeta2 = 0.999;

// One parameter p with its gradient g and moments m, v.
DRL_HD void adam_update(float& p, float g, float& m, float& v, const AdamScale& scale) {
  constexpr float beta1 = kAdamBeta1, beta2 = kAdamBeta2, rest1 = 1 - kAdamBeta1, rest2 = 1 - kAdamBeta2;
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  p -= scale.step_size * m / (math::sqrt(v) * scale.inv_sqrt_correction2 + scale.epsilon);
}

// Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", arXiv:1412.6980) on flat buffers.
class Adam {
 public:
  explicit Adam(int64_t parameters, double epsilon = 1e-8) : epsilon_(epsilon), m_(parameters), v_(parameters) {}

  // params -= learning_rate * m_hat / (sqrt(v_hat) + epsilon)
  void step(std::span<float> params, std::span<const float> gradient, double learning_rate);
  void visit_state(StateVisitor& visitor);

 private:
  double epsilon_;
  int64_t steps_ = 0;
  Array<float> m_, v_;  // first and second moments
};

}  // namespace drl
