// The shared memory of a block of the fused engine: weights, and what it keeps of a tile of samples.
#pragma once

#include <cstdint>

#include "device/blocks.hpp"
#include "device/shared_matrix.hpp"
#include "nets/gpu_fused/fused_plan.hpp"

namespace drl {

template <FusedShape kShape, class Factors>
class FusedMemory {
 public:
  static constexpr int kWidth = kShape.width;
  static constexpr int kWarps = kWidth == 128 ? 8 : 4;
  static constexpr int kHidden = kShape.exact ? kShape.hidden_layers : most_hidden_layers(kWidth, Factors::kParts);
  using Matrix = SharedMatrix<Factors>;

  DRL_WARP FusedMemory(const FusedPlan& plan, void* shared) : plan_(plan), words_(static_cast<uint32_t*>(shared)) {}

  DRL_WARP const FusedPlan& plan() const { return plan_; }
  DRL_WARP int hidden_layers() const { return kShape.exact ? kHidden : plan_.shape.hidden_layers; }
  DRL_WARP float* floats(int place) const { return reinterpret_cast<float*>(words_) + place; }
  DRL_WARP int32_t* index() const { return reinterpret_cast<int32_t*>(words_) + plan_.index; }
  DRL_WARP float* outputs() const { return floats(plan_.out); }
  DRL_WARP float* d_out() const { return floats(plan_.d_out); }
  DRL_WARP Matrix matrix(int place, int rows, int columns) const {
    return {words_ + place, {columns}, rows * columns / 2};
  }
  DRL_WARP int input_columns() const { return kShape.exact ? kShape.inputs : plan_.shape.inputs; }
  DRL_WARP int output_columns() const { return kShape.exact ? kShape.outputs : plan_.shape.outputs; }
  DRL_WARP decltype(auto) places() const {
    if constexpr (kShape.exact)
      return FusedPlaces::of(kShape, Factors::kParts);
    else
      return (plan_.at);
  }
  DRL_WARP Matrix weights(int layer) const {
    return matrix(places().packed_weight[layer], layer == hidden_layers() ? output_columns() : kWidth,
                  layer == 0 ? input_columns() : kWidth);
  }
  DRL_WARP Matrix hidden(int layer) const { return matrix(places().hidden[layer], kTileRows, kWidth); }
  DRL_WARP Matrix input_of(int layer) const {
    return layer == 0 ? matrix(places().x, kTileRows, input_columns()) : hidden(layer - 1);
  }
  DRL_WARP Matrix gradient_of(int layer) const {
    return layer == hidden_layers() ? matrix(places().d, kTileRows, output_columns()) : hidden(layer);
  }

 protected:
  const FusedPlan& plan_;
  uint32_t* words_;
};

// The row and the first column of a product C that a thread holds.
DRL_WARP WarpInt rows_of_lanes() { return warp_lanes() >> 2; }
DRL_WARP WarpInt columns_of_lanes() { return (warp_lanes() & WarpInt(3)) << 1; }

}  // namespace drl
