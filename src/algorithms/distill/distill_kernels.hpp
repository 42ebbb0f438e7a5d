// The kernels of distillation.
#pragma once

#include <cstdint>

#include "algorithms/update_kernels.hpp"
#include "policy/noise.hpp"

namespace drl {

// Columns of the loss, after those that every loss has.
struct DistillColumn {
  enum : int { behavior = kKl + 1, count };
};

// The loss of a sample is the mean over the action's numbers of (student - teacher)^2, or of the Huber loss with
// threshold 1 (torch.nn.functional.huber_loss), times `weight`.
struct DistillLoss {
  const float* labels;  // [segment's samples, size], the teacher's actions
  int size;
  bool huber;
  float weight;
  LossTile tile = {};

  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const Int<F> row = load<Int<F>>(tile.rows + i);
    F sum = F(0);
    for (int k = 0; k < size; ++k) {
      const F error = load_column<F>(tile.policy_out, i, size, k) - gather<F>(labels + k, row, size);
      const F most = math::clamp(error, F(-1), F(1)), beyond = math::abs(error) - F(0.5f);
      const F half_square = F(0.5f) * error * error;
      sum = sum + (huber ? math::select(math::abs(error) < F(1), half_square, beyond) : F(2) * half_square);
      store_column(tile.d_policy, i, size, k, F(weight / static_cast<float>(size)) * (huber ? most : F(2) * error));
    }
    sums.add(kSamples, F(1));
    sums.add(DistillColumn::behavior, sum * F(1 / static_cast<float>(size)));
  }
};

}  // namespace drl
