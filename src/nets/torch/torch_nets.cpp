#include "nets/torch/torch_nets.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "device/array.hpp"
#include "nets/net_kernels.hpp"
#include "nets/torch/torch_library.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = 1024;

// A network's buffers for a tile.
struct TorchTape final : Tape {
  TorchTape(Queue& queue, const NetSpec& spec) {
    for (int k = 0; k < spec.layers(); ++k) {
      const auto numbers = static_cast<size_t>(kTile * spec.dims[static_cast<size_t>(k)]);
      const bool keeps_sums = k > 0 && (spec.layer_norm || !from_output(spec.activation));
      inputs.emplace_back(queue, numbers);
      gradients.emplace_back(queue, numbers);
      own_sums.emplace_back(queue, keeps_sums ? numbers : 0);
      sums.push_back(keeps_sums ? own_sums.back().data() : inputs.back().data());
      inv_std.emplace_back(queue, static_cast<size_t>(k > 0 && spec.layer_norm ? kTile : 0));
    }
  }
  std::vector<Array<float>> inputs;     // of each layer: [kTile, width]
  std::vector<Array<float>> gradients;  // of the loss with respect to the inputs
  // The input of the activation before each layer; with layer norm, z. It is in `own_sums` if the backward pass needs
  // it, otherwise in `inputs`, where the activation's output replaces it.
  std::vector<float*> sums;
  std::vector<Array<float>> own_sums;
  std::vector<Array<float>> inv_std;  // [kTile], with layer norm: 1 / standard deviation
  int64_t rows = 0;                   // of the last forward pass
};

class TorchNets final : public Nets {
 public:
  TorchNets(Queue& queue, ParamLayout params, const TorchLibrary& torch)
      : Nets(std::move(params)), queue_(queue), torch_(torch), ones_(queue, kTile) {
    int widest = 0;
    for (NetId net = 0; net < layout().nets(); ++net) {
      const NetSpec& spec = layout().net(net);
      scratch_.push_back(std::make_unique<TorchTape>(queue, spec));
      if (spec.layer_norm) widest = std::max(widest, *std::ranges::max_element(spec.dims));
    }
    std::ranges::fill(ones_, 1.0f);
    product_ = Array<float>(queue, static_cast<size_t>(kTile * widest));
  }

  int64_t tile() const override { return kTile; }
  std::unique_ptr<Tape> make_tape(NetId net) override { return std::make_unique<TorchTape>(queue_, layout().net(net)); }

  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    const float* params = weights.params();
    if (tape) return forward_tile(net, params, rows, out, static_cast<TorchTape&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += kTile)
      forward_tile(net, params, rows.part(first, std::min(kTile, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), *scratch_[static_cast<size_t>(net)]);
  }

  void backward(NetId net, const Weights& weights, Tape& any_tape, const float* d_out, float* grad,
                float* d_in) override {
    const float* params = weights.params();
    const NetSpec& spec = layout().net(net);
    TorchTape& tape = static_cast<TorchTape&>(any_tape);
    TorchMatrix dy = matrix(d_out, tape.rows, spec.outputs());
    for (int layer = spec.layers() - 1; layer >= 0; --layer) {
      const auto at = static_cast<size_t>(layer);
      const TorchMatrix x = matrix(tape.inputs[at].data(), tape.rows, spec.dims[at]);
      torch_.add_product(matrix_of(grad, net, layer), transposed(dy), x);
      torch_.add_vector_product(grad + layout().bias(net, layer).offset, transposed(dy), ones_.data());
      if (layer == 0 && !d_in) return;
      const TorchMatrix dx = matrix(layer > 0 ? tape.gradients[at].data() : d_in, tape.rows, spec.dims[at]);
      torch_.multiply(dx, dy, matrix_of(params, net, layer));
      if (layer > 0)
        with_activation(spec.activation, [&]<class A>(A) {
          const float *y = x.data, *sums = tape.sums[at];
          const int64_t numbers = dx.rows * dx.columns;
          if (spec.layer_norm) {
            for_each(queue_, numbers,
                     ScaleAndActivateBackward<A>{scaled_units(layout(), params, net, layer - 1, sums), y, dx.data});
            norm_backward(net, layer - 1, params, tape, dx, grad);
          } else {
            for_each(queue_, numbers, ActivateBackward<A>{A::kFromOutput ? y : sums, dx.data});
          }
        });
      dy = dx;
    }
  }

  std::string description() const override {
    return std::string("libtorch ") + torch_.facts().version + " (" + torch_.facts().blas + ")";
  }

 private:
  // Returns a layer's weights [outputs, inputs] in an array that is laid out as the parameters.
  TorchMatrix matrix_of(const float* params, NetId net, int layer) const {
    const ParamSlice& slice = layout().weight(net, layer);
    return matrix(params + slice.offset, slice.shape[0], slice.shape[1]);
  }

  void forward_tile(NetId net, const float* params, const Rows& rows, float* out, TorchTape& tape) {
    const NetSpec& spec = layout().net(net);
    DRL_CHECK(rows.count <= kTile, "more rows than a tape holds");
    tape.rows = rows.count;
    for_each(queue_, rows.count, GatherRows{rows, spec.inputs(), spec.inputs(), tape.inputs[0].data()});
    for (int layer = 0; layer < spec.layers(); ++layer) {
      const bool last = layer + 1 == spec.layers();
      if (last && !out) return;
      const auto at = static_cast<size_t>(layer);
      const int width = spec.dims[at + 1];
      float* x = last ? out : tape.sums[at + 1];
      torch_.multiply_add_row(matrix(x, rows.count, width), params + layout().bias(net, layer).offset,
                              matrix(tape.inputs[at].data(), rows.count, spec.dims[at]),
                              transposed(matrix_of(params, net, layer)));
      if (last) return;
      with_activation(spec.activation, [&]<class A>(A) {
        float* y = tape.inputs[at + 1].data();
        if (spec.layer_norm) {
          for_each(queue_, rows.count, NormalizeRows{x, tape.inv_std[at + 1].data(), width});
          for_each(queue_, rows.count * width, ScaleAndActivate<A>{scaled_units(layout(), params, net, layer, x), y});
        } else {
          for_each(queue_, rows.count * width, Activate<A>{x, y});
        }
      });
    }
  }

  // Replaces `d` [rows, width], the gradient with respect to a layer's weight z + bias, by the gradient with respect to
  // the layer's sums. Adds the gradients of weight and bias to `grad`.
  void norm_backward(NetId net, int layer, const float* params, const TorchTape& tape, const TorchMatrix& d,
                     float* grad) {
    const auto at = static_cast<size_t>(layer + 1);
    const ParamSlice &weight = layout().norm_weight(net, layer), &bias = layout().norm_bias(net, layer);
    const float* z = tape.sums[at];
    std::transform(d.data, d.data + d.rows * d.columns, z, product_.data(), std::multiplies<>());
    torch_.add_vector_product(grad + weight.offset, transposed(matrix(product_.data(), d.rows, d.columns)),
                              ones_.data());
    torch_.add_vector_product(grad + bias.offset, transposed(d), ones_.data());
    for_each(queue_, d.rows,
             NormalizeRowsBackward{z, tape.inv_std[at].data(), params + weight.offset, d.data,
                                   static_cast<int>(weight.count())});
  }

  Queue& queue_;
  const TorchLibrary& torch_;
  Array<float> ones_, product_;
  std::vector<std::unique_ptr<TorchTape>> scratch_;  // for passes without a tape
};

void warn_of_slow_blas(const TorchLibrary& torch) {
  static bool warned = false;
  if (torch.facts().reference_blas && !std::exchange(warned, true))
    log::warn(
        "matrix products use the reference BLAS, which is 4 to 5 times slower than an optimised one: install OpenBLAS "
        "(Debian: libopenblas0-pthread)");
}

}  // namespace

std::unique_ptr<Nets> make_torch_nets(Queue& queue, ParamLayout layout, int threads) {
  const TorchLibrary& torch = torch_library(threads);
  warn_of_slow_blas(torch);
  return std::make_unique<TorchNets>(queue, std::move(layout), torch);
}

}  // namespace drl
