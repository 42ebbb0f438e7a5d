// The fused engine computes a network's passes over 64 samples at a time without leaving a multiprocessor: forward
// pass, loss, backward pass and gradients. Weights, activations and the gradients of activations stay in shared memory,
// and the sums of the weights' gradients in registers. Layer by layer (nets/gpu), the same numbers go through the GPU's
// memory between any two kernels, and that takes most of the time.
//
// Products are those of tensor cores, whose factors have 16 bits. With ExactFactors (device/halves.hpp) a factor has
// two such numbers, and three products add up to one of about float32's precision.
//
// fused_plan.hpp   which networks the engine knows, where a block keeps what, and packed weights
// fused_memory.hpp, fused_sums.hpp   what a block keeps in shared memory and in registers
// fused_tile.hpp   the passes of a tile of samples
// fused_gradient.hpp, fused_forward.hpp   the kernels
// fused_gpu_nets.hpp   the backend
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "device/blocks.hpp"
#include "device/halves.hpp"
#include "nets/layout.hpp"

namespace drl {

inline constexpr int kTileRows = 64;
inline constexpr int kMostInputs = 64, kMostOutputs = 32, kMostLayers = 4;
inline constexpr int kMostLossColumns = 8;  // without those of the distribution's own parameters

// Returns the number of columns of a matrix for n inputs or outputs of a network.
DRL_HD constexpr int padded(int n) { return n <= 16 ? 16 : n <= 32 ? 32 : n <= 64 ? 64 : 128; }
constexpr bool is_fused_activation(Activation activation) {
  return activation == Activation::tanh || activation == Activation::elu || activation == Activation::relu;
}
// Returns the largest number of hidden layers of this width, with factors of `parts` parts. The sums of the gradients
// of more would not fit into registers.
DRL_HD constexpr int most_hidden_layers(int width, int parts) { return width == 128 && parts > 1 ? 2 : 3; }

// The sizes for which a kernel is compiled. `inputs` and `outputs` are padded. If `exact`, its networks have just these
// sizes, and the activation, which the compiler then knows; otherwise these are the largest.
struct FusedShape {
  int width, inputs, hidden_layers, outputs;
  bool exact = false;
  Activation activation = Activation::tanh;
};
// The first shape that a network fits into is used. Most of the classic tasks have the first, and Gymnasium's robots
// the second.
inline constexpr FusedShape kFusedShapes[] = {{64, 16, 2, 16, true},
                                              {64, 32, 2, 16, true},
                                              {32, kMostInputs, 3, kMostOutputs},
                                              {64, kMostInputs, 3, kMostOutputs},
                                              {128, kMostInputs, 3, kMostOutputs}};
// Calls use.operator()<k>() for the index of each shape.
template <class Use>
void for_each_fused_shape(const Use& use) {
  [&]<int... k>(std::integer_sequence<int, k...>) { (use.template operator()<k>(), ...); }
  (std::make_integer_sequence<int, static_cast<int>(std::size(kFusedShapes))>{});
}

// The places of a network's packed weights, and of what a block keeps of a tile, counted in words of 4 bytes. The
// packed weights are factors, then biases; a block copies them to the beginning of its shared memory.
struct FusedPlaces {
  int packed_weight[kMostLayers] = {}, packed_bias[kMostLayers] = {}, packed_words = 0;
  int x = 0;                         // [kTileRows, inputs] factors
  int hidden[kMostLayers - 1] = {};  // [kTileRows, width] factors: outputs of hidden layers, and later the loss's
                                     // gradient with respect to their sums
  int d = 0;    // [kTileRows, outputs] factors: the loss's gradient with respect to the network's outputs
  int end = 0;  // of these, whose sizes do not depend on the numbers of inputs and outputs before padding

  // `parts`: of a factor.
  DRL_HD static constexpr FusedPlaces of(const FusedShape& shape, int parts) {
    FusedPlaces at;
    int next = 0, gap = 0;
    const auto take = [&](int words) {
      next += gap + words;
      return next - words;
    };
    const int layers = shape.hidden_layers + 1;
    const auto rows = [&](int layer) { return layer == layers - 1 ? shape.outputs : shape.width; };
    const auto factors = [&](int rows, int columns) { return take(parts * rows * columns / 2); };
    for (int layer = 0; layer < layers; ++layer)
      at.packed_weight[layer] = factors(rows(layer), layer == 0 ? shape.inputs : shape.width);
    for (int layer = 0; layer < layers; ++layer) at.packed_bias[layer] = take(rows(layer));
    at.packed_words = next;
    take((32 - next % 32) % 32);  // matrices begin at the first memory bank
    gap = kSharedGap;
    at.x = factors(kTileRows, shape.inputs);
    for (int layer = 0; layer < shape.hidden_layers; ++layer) at.hidden[layer] = factors(kTileRows, shape.width);
    at.d = factors(kTileRows, shape.outputs);
    at.end = next;
    return at;
  }
};

// A network as the kernels see it, and the places of its data.
struct FusedPlan {
  int inputs, outputs;  // before padding
  FusedShape shape;     // the network's own
  int shape_index;      // of the kernels' shape in kFusedShapes

  // The places of a layer's parameters, counted from the network's first one, and their number.
  int weight[kMostLayers], bias[kMostLayers], num_params;

  FusedPlaces at;
  int out, d_out;            // [kTileRows, outputs] floats
  int largest;               // [kTileRows] floats: the largest |d_out| of a row
  int index;                 // [kTileRows] numbers of the samples' observations, or -1
  int sums;                  // [num_sums, kTileRows] floats: the loss's columns, and then the sums of d_out
  int forward_words, words;  // that a block needs for the outputs, and for the gradient

  DRL_HD int layers() const { return shape.hidden_layers + 1; }
  // The size of a layer's matrix of weights, [rows, columns].
  DRL_HD int rows(int layer) const { return layer == layers() - 1 ? shape.outputs : shape.width; }
  DRL_HD int columns(int layer) const { return layer == 0 ? shape.inputs : shape.width; }
  DRL_HD int used_rows(int layer) const { return layer == layers() - 1 ? outputs : shape.width; }
  DRL_HD int used_columns(int layer) const { return layer == 0 ? inputs : shape.width; }
  // The loss may have a column for each output, too: the gradient of a Gaussian's standard deviation.
  DRL_HD int num_columns() const { return kMostLossColumns + outputs; }
  DRL_HD int num_sums() const { return num_columns() + outputs; }
  // The numbers that a block computes of a mini-batch: gradients of the parameters, and the loss's columns.
  DRL_HD int num_partials() const { return num_params + num_columns(); }
  size_t shared() const { return static_cast<size_t>(words) * sizeof(float); }
  size_t forward_shared() const { return static_cast<size_t>(forward_words) * sizeof(float); }
};

// Computes a network's packed weights, a word per call.
template <class Factors>
struct PackWeights {
  FusedPlan plan;
  const float* params;  // of the network
  uint32_t* packed;
  DRL_HD void operator()(int word) const {
    int layer = 0;
    while (layer + 1 < plan.layers() && plan.at.packed_weight[layer + 1] <= word) ++layer;
    if (word >= plan.at.packed_bias[0]) return pack_bias(word);
    const ChunkOrder order{plan.columns(layer)};
    const int per_row = plan.columns(layer) / 2, per_part = plan.rows(layer) * per_row,
              at = word - plan.at.packed_weight[layer], row = at % per_part / per_row,
              column = order.column(row, at % per_row);
    uint32_t parts[Factors::kParts];
    split<Factors>(weight(layer, row, column), weight(layer, row, column + 1), parts);
    packed[word] = parts[at / per_part];
  }

 private:
  DRL_HD float weight(int layer, int row, int column) const {
    const int columns = plan.used_columns(layer);
    return row < plan.used_rows(layer) && column < columns ? params[plan.weight[layer] + row * columns + column] : 0.0f;
  }
  DRL_HD void pack_bias(int word) const {
    int layer = 0;
    while (layer + 1 < plan.layers() && plan.at.packed_bias[layer + 1] <= word) ++layer;
    const int unit = word - plan.at.packed_bias[layer];
    packed[word] = bit_cast<uint32_t>(unit < plan.used_rows(layer) ? params[plan.bias[layer] + unit] : 0.0f);
  }
};
// Computes those of two networks, such as actor and critic, or of one.
template <class Factors>
struct PackNetworks {
  using GpuOnly = void;
  PackWeights<Factors> nets[2];
  DRL_HD void operator()(int64_t i) const {
    const int word = static_cast<int>(i), first = nets[0].plan.at.packed_words;
    if (word < first) return nets[0](word);
    nets[1](word - first);
  }
};

}  // namespace drl
