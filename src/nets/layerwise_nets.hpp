// Networks whose layers are computed one after the other, on rows without padding. The matrix products are those of a
// library: cuBLAS (nets/gpu) or libtorch (nets/torch).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "device/array.hpp"
#include "nets/net_kernels.hpp"

namespace drl {

// A layer's matrix and bias.
struct LayerParams {
  const float* weight;  // [out, in]
  const float* bias;    // [out]
  int64_t in, out;
};

// A network's buffers for a tile. The first forward pass allocates them, which must not be recorded: there may be none,
// because the fused engine (nets/gpu_fused) computes some networks in all passes.
struct LayerwiseTape final : Tape {
  // `backward`: a backward pass may follow.
  explicit LayerwiseTape(bool backward) : backward(backward) {}
  void reserve(Queue& queue, const NetSpec& spec, int64_t tile) {
    if (!inputs.empty()) return;
    for (size_t k = 0; k < spec.layers.size(); ++k) {
      const LayerSpec below = k > 0 ? spec.layers[k - 1] : LayerSpec{};
      const auto size = static_cast<size_t>(tile * spec.layers[k].inputs);
      inputs.emplace_back(queue, size);
      if (backward) gradients.emplace_back(queue, k > 0 ? size : 0);
      sums.emplace_back(queue, below.norm || (backward && !from_output(below.activation)) ? size : 0);
      inv_std.emplace_back(queue, below.norm ? static_cast<size_t>(tile) : 0);
      residuals.emplace_back(queue, spec.feeds_residual(static_cast<int>(k) - 1) ? size : 0);
    }
  }
  bool backward;
  std::vector<Array<float>> inputs;     // of each layer: [tile, width]
  std::vector<Array<float>> gradients;  // of the loss with respect to the inputs
  // The input of the activation before each layer, if its backward pass needs it; with layer norm, z.
  std::vector<Array<float>> sums;
  std::vector<Array<float>> inv_std;    // [tile], with layer norm: 1 / standard deviation
  std::vector<Array<float>> residuals;  // the sums of the layer before, if a later layer adds them to its own
  int64_t rows = 0;                     // of the last forward pass
};

// Products computes, for `rows` rows of a layer l; all functions enqueue:
//   gather(const Rows&, inputs, x)             the networks' normalised inputs
//   multiply(rows, l, x, y)                    y = x weight^T, plus bias if kAddsBias; otherwise add_bias(rows, l, y)
//   activate<A>(rows, l, y, sums)              y = A(sums); without kAddsBias, y = A(y + bias), and also sums = y +
//   bias
//                                              unless sums is null
//   multiply_back(rows, l, dy, dx)             dx = dy weight
//   add_weights(rows, l, dy, x, dw)            dw += dy^T x
//   add_columns(rows, width, x, sum)           sum += the sums of x's columns
//   add_columns(rows, width, x, y, sum)        likewise, of the elementwise product of x and y
//   activate_backward<A>(rows, width, from, d, d_bias)  d = d A'(from), as ActivateBackward; d_bias += its columns'
//   sums
template <class Products>
class LayerwiseNets final : public Nets {
 public:
  template <class... Arguments>
  LayerwiseNets(Queue& queue, ParamLayout params, int64_t tile, Arguments&&... arguments)
      : Nets(std::move(params)),
        queue_(queue),
        tile_(tile),
        products_(queue, layout(), std::forward<Arguments>(arguments)...) {
    for (NetId net = 0; net < layout().nets(); ++net) scratch_.push_back(std::make_unique<LayerwiseTape>(false));
  }

  int64_t tile() const override { return tile_; }
  std::unique_ptr<Tape> make_tape(NetId) override { return std::make_unique<LayerwiseTape>(true); }

  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    const float* params = weights.params();
    if (tape) return forward_tile(net, params, rows, out, static_cast<LayerwiseTape&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += tile_)
      forward_tile(net, params, rows.part(first, std::min(tile_, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), *scratch_[static_cast<size_t>(net)]);
  }

  void backward(NetId net, const Weights& weights, Tape& any_tape, const float* d_out, float* grad,
                float* d_in) override {
    const float* params = weights.params();
    const NetSpec& spec = layout().net(net);
    if (!grad && unused_.empty()) unused_ = Array<float>(queue_, static_cast<size_t>(layout().size()));
    if (!grad) grad = unused_.data();
    LayerwiseTape& tape = static_cast<LayerwiseTape&>(any_tape);
    const int last = spec.num_layers() - 1;
    const float* dy = d_out;
    products_.add_columns(tape.rows, spec.outputs(), d_out, grad + layout().bias(net, last).offset);
    for (int layer = last; layer >= 0; --layer) {
      const auto at = static_cast<size_t>(layer);
      const LayerParams l = params_of(params, net, layer);
      products_.add_weights(tape.rows, l, dy, tape.inputs[at].data(), grad + layout().weight(net, layer).offset);
      float* dx = layer > 0 ? tape.gradients[at].data() : d_in;
      if (!dx) return;
      products_.multiply_back(tape.rows, l, dy, dx);
      if (layer > 0) activation_backward(net, layer - 1, params, tape, dx, grad);
      dy = dx;
    }
  }

  std::string description() const override { return products_.description(); }

 private:
  LayerParams params_of(const float* params, NetId net, int layer) const {
    const LayerSpec& l = layout().net(net).layers[static_cast<size_t>(layer)];
    return {params + layout().weight(net, layer).offset, params + layout().bias(net, layer).offset, l.inputs,
            l.outputs};
  }

  void forward_tile(NetId net, const float* params, const Rows& rows, float* out, LayerwiseTape& tape) {
    const NetSpec& spec = layout().net(net);
    DRL_CHECK(rows.count <= tile_, "more rows than a tape holds");
    tape.reserve(queue_, spec, tile_);
    tape.rows = rows.count;
    products_.gather(rows, spec.inputs(), tape.inputs[0].data());
    for (int layer = 0; layer < spec.num_layers(); ++layer) {
      const auto at = static_cast<size_t>(layer);
      const bool norm = spec.layers[at].norm, last = layer + 1 == spec.num_layers();
      if (last && !out) return;
      const LayerParams l = params_of(params, net, layer);
      const float* x = tape.inputs[at].data();
      if (last) {
        products_.multiply(rows.count, l, x, out);
        if constexpr (!Products::kAddsBias) products_.add_bias(rows.count, l, out);
        return;
      }
      float *y = tape.inputs[at + 1].data(), *sums = tape.sums[at + 1].data();
      products_.multiply(rows.count, l, x, norm || (Products::kAddsBias && sums) ? sums : y);
      with_activation(spec.layers[at].activation, [&]<class A>(A) {
        if (!norm) return products_.template activate<A>(rows.count, l, y, sums);
        bool has_bias = Products::kAddsBias;
        if (spec.layers[at].residual || spec.feeds_residual(layer)) {
          if constexpr (!Products::kAddsBias) products_.add_bias(rows.count, l, sums);
          has_bias = true;
          for_each(queue_, rows.count * l.out,
                   AddResidual{spec.layers[at].residual ? tape.residuals[at - 1].data() : nullptr, sums,
                               tape.residuals[at + 1].data()});
        }
        for_each(
            queue_, rows.count,
            NormalizeRows{sums, tape.inv_std[at + 1].data(), static_cast<int>(l.out), has_bias ? nullptr : l.bias});
        for_each(queue_, rows.count * l.out, ScaleAndActivate<A>{scaled_units(layout(), params, net, layer, sums), y});
      });
    }
  }

  // Replaces d, the gradient with respect to a layer's outputs, by the gradient with respect to its sums. Adds the
  // gradients of its bias and of its layer norm.
  void activation_backward(NetId net, int layer, const float* params, const LayerwiseTape& tape, float* d,
                           float* grad) {
    const auto at = static_cast<size_t>(layer);
    const int64_t rows = tape.rows, width = layout().net(net).layers[at].outputs;
    const float *y = tape.inputs[at + 1].data(), *sums = tape.sums[at + 1].data();
    float* d_bias = grad + layout().bias(net, layer).offset;
    with_activation(layout().net(net).layers[at].activation, [&]<class A>(A) {
      if (!layout().net(net).layers[at].norm)
        return products_.template activate_backward<A>(rows, width, A::kFromOutput ? y : sums, d, d_bias);
      const ScaledUnits units = scaled_units(layout(), params, net, layer, sums);
      for_each(queue_, rows * width, ScaleAndActivateBackward<A>{units, y, d});
      products_.add_columns(rows, width, d, grad + layout().norm_bias(net, layer).offset);
      products_.add_columns(rows, width, d, sums, grad + layout().norm_weight(net, layer).offset);
      for_each(queue_, rows,
               NormalizeRowsBackward{sums, tape.inv_std[at + 1].data(), units.weight, d, static_cast<int>(width)});
      if (layout().net(net).feeds_residual(layer))
        for_each(queue_, rows * width, AddResidual{tape.gradients[at + 3].data(), d, nullptr});
      products_.add_columns(rows, width, d, d_bias);
    });
  }

  Queue& queue_;
  int64_t tile_;
  Products products_;
  std::vector<std::unique_ptr<LayerwiseTape>> scratch_;  // for passes without a tape
  Array<float> unused_;                                  // the parameters' gradients, if nobody wants them
};

}  // namespace drl
