#include "block_kernels.hpp"
#include "device/gpu_loop.hpp"
#include "device/shared_matrix.hpp"

namespace drl::test {

template <class Factors>
DRL_WARP void Products<Factors>::operator()(Block<Products>& block) const {
  const bool a_transposed = block.index() & 1, b_transposed = block.index() & 2;
  const int part = 32 * columns / 2;
  auto* words = static_cast<uint32_t*>(block.shared());
  const SharedMatrix<Factors> left{words, {columns}, part}, right{words + Factors::kParts * part, {columns}, part};
  const int first = columns == 16 ? 0 : 16;
  block.threads([&](int thread) {
    for (int i = thread; i < 128; i += 32) {
      const int row = i / 8, column = i % 8 * 2;
      const auto store = [&](const SharedMatrix<Factors>& to, const float* from, bool transposed) {
        const float x = transposed ? from[column * 16 + row] : from[row * 16 + column],
                    y = transposed ? from[(column + 1) * 16 + row] : from[row * 16 + column + 1];
        to.store_two(16 + row, first + column, x, y);
      };
      store(left, a, a_transposed);
      store(right, b, b_transposed);
    }
  });
  block.warps([&](int, Registers&) {
    WarpFloat sums[2][4];
    for (auto& fragment : sums)
      for (WarpFloat& x : fragment) x = WarpFloat(0.0f);
    const auto of_a = a_transposed ? left.load_a_transposed(16, first) : left.load_a(16, first);
    const auto of_b = b_transposed ? right.load_b_transposed(16, first) : right.load_b(16, first);
    add_product<Factors>(sums, of_a, of_b);
    const WarpInt l = warp_lanes(), g = l >> 2, t = l & WarpInt(3);
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k)
        store_at(c + block.index() * 256, (g + WarpInt(k / 2 * 8)) * WarpInt(16) + (t << 1) + WarpInt(8 * j + k % 2),
                 sums[j][k]);
  });
}

DRL_WARP void PassOn::operator()(Block<PassOn>& block) const {
  auto* passed = static_cast<float*>(block.shared());  // [kWarps, 32]
  const auto at = [&](int warp) { return passed + 32 * (warp % kWarps); };
  block.warps([&](int, Registers& r) { r.sum = WarpFloat(0.0f); });
  for (int turn = 0; turn < turns; ++turn) {
    block.warps([&](int warp, Registers& r) {
      const WarpFloat own = WarpFloat(static_cast<float>(block.index() * kWarps + warp));
      store_at(at(warp + 1), warp_lanes(), r.sum + own);
    });
    block.warps([&](int warp, Registers& r) { r.sum = gather<WarpFloat>(at(warp), warp_lanes()); });
  }
  block.warps(
      [&](int warp, Registers& r) { store_at(out + (block.index() * kWarps + warp) * 32, warp_lanes(), r.sum); });
}

DRL_BLOCKS(Products<ExactFactors>)
DRL_BLOCKS(Products<Fp16Factors>)
DRL_BLOCKS(Products<Bf16Factors>)
DRL_BLOCKS(PassOn)

}  // namespace drl::test
