#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/array.hpp"
#include "base/state.hpp"

namespace drl {

// Scales `gradient` so that its Euclidean norm is at most `max_norm`; returns the norm before. The sum of squares is
// taken in float64 in a fixed order.
double clip_gradient(std::span<float> gradient, double max_norm);

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
