#include "nets/torch/torch_nets.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "nets/kernels.hpp"
#include "nets/torch/blas.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = 1024;

at::Tensor view(const float* data, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(data), shape, at::TensorOptions().dtype(at::kFloat));
}
at::Tensor view(const float* params, const ParamSlice& slice) { return view(params + slice.offset, slice.shape); }

// A network's buffers for a tile.
struct TorchTape final : Tape {
  explicit TorchTape(const NetSpec& spec) {
    for (int k = 0; k < spec.layers(); ++k) {
      inputs.push_back(at::empty({kTile, spec.dims[static_cast<size_t>(k)]}));
      gradients.push_back(at::empty({kTile, spec.dims[static_cast<size_t>(k)]}));
      const bool keeps_sums = k > 0 && (spec.layer_norm || !from_output(spec.activation));
      sums.push_back(keeps_sums ? at::empty({kTile, spec.dims[static_cast<size_t>(k)]}) : inputs.back());
      inv_std.push_back(at::empty({k > 0 && spec.layer_norm ? kTile : 0}));
    }
  }
  std::vector<at::Tensor> inputs;     // of each layer: [kTile, width]
  std::vector<at::Tensor> gradients;  // of the loss with respect to them
  std::vector<at::Tensor> sums;       // that became the inputs by the activation, in their place unless the way back
                                      // needs them too; with layer norm normalised
  std::vector<at::Tensor> inv_std;    // [kTile], what they were multiplied by then
  int64_t rows = 0;                   // of the last forward pass
};

class TorchNets final : public Nets {
 public:
  TorchNets(Queue& queue, ParamLayout params) : Nets(std::move(params)), queue_(queue), ones_(at::ones({kTile})) {
    int widest = 0;
    for (NetId net = 0; net < layout().nets(); ++net) {
      const NetSpec& spec = layout().net(net);
      scratch_.push_back(std::make_unique<TorchTape>(spec));
      if (spec.layer_norm) widest = std::max(widest, *std::ranges::max_element(spec.dims));
    }
    product_ = at::empty({kTile * widest});
  }

  int64_t tile() const override { return kTile; }
  std::unique_ptr<Tape> make_tape(NetId net) override { return std::make_unique<TorchTape>(layout().net(net)); }

  void forward(NetId net, const float* params, const Rows& rows, float* out, Tape* tape, const HiddenState& hidden,
               const HiddenState& next) override {
    require_feed_forward(hidden, next);
    const c10::InferenceMode guard;
    if (tape) return forward_tile(net, params, rows, out, static_cast<TorchTape&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += kTile)
      forward_tile(net, params, rows.part(first, std::min(kTile, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), *scratch_[static_cast<size_t>(net)]);
  }

  void backward(NetId net, const float* params, Tape& any_tape, const float* d_out, float* grad, float* d_in) override {
    const c10::InferenceMode guard;
    const NetSpec& spec = layout().net(net);
    TorchTape& tape = static_cast<TorchTape&>(any_tape);
    at::Tensor dy = view(d_out, {tape.rows, spec.outputs()});
    for (int layer = spec.layers() - 1; layer >= 0; --layer) {
      const auto at = static_cast<size_t>(layer);
      const at::Tensor x = tape.inputs[at].narrow(0, 0, tape.rows);
      view(grad, layout().weight(net, layer)).addmm_(dy.t(), x);
      view(grad, layout().bias(net, layer)).addmv_(dy.t(), ones_.narrow(0, 0, tape.rows));
      if (layer == 0 && !d_in) return;
      at::Tensor dx = layer > 0 ? tape.gradients[at].narrow(0, 0, tape.rows) : view(d_in, {tape.rows, spec.inputs()});
      at::mm_out(dx, dy, view(params, layout().weight(net, layer)));
      if (layer > 0)
        with_activation(spec.activation, [&]<class A>(A) {
          const float *y = x.data_ptr<float>(), *sums = tape.sums[at].data_ptr<float>();
          if (spec.layer_norm) {
            for_each(queue_, x.numel(),
                     ScaleAndActivateBackward<A>{scaled_units(layout(), params, net, layer - 1, sums), y,
                                                 dx.data_ptr<float>()});
            norm_backward(net, layer - 1, params, tape, dx, grad);
          } else {
            for_each(queue_, x.numel(), ActivateBackward<A>{A::kFromOutput ? y : sums, dx.data_ptr<float>()});
          }
        });
      dy = dx;
    }
  }

  std::string description() const override {
    return std::string("libtorch ") + TORCH_VERSION + " (" + blas_library().name + ")";
  }

 private:
  void forward_tile(NetId net, const float* params, const Rows& rows, float* out, TorchTape& tape) {
    const NetSpec& spec = layout().net(net);
    DRL_CHECK(rows.count <= kTile, "more rows than a tape holds");
    tape.rows = rows.count;
    for_each(queue_, rows.count,
             GatherRows{{rows, static_cast<uint32_t>(spec.inputs()), tape.inputs[0].data_ptr<float>()}});
    for (int layer = 0; layer < spec.layers(); ++layer) {
      const bool last = layer + 1 == spec.layers();
      const auto at = static_cast<size_t>(layer);
      at::Tensor sums = last ? view(out, {rows.count, spec.outputs()}) : tape.sums[at + 1].narrow(0, 0, rows.count);
      at::addmm_out(sums, view(params, layout().bias(net, layer)), tape.inputs[at].narrow(0, 0, rows.count),
                    view(params, layout().weight(net, layer)).t());
      if (last) return;
      with_activation(spec.activation, [&]<class A>(A) {
        float *x = sums.data_ptr<float>(), *y = tape.inputs[at + 1].data_ptr<float>();
        if (spec.layer_norm) {
          for_each(queue_, rows.count, NormalizeRows{x, tape.inv_std[at + 1].data_ptr<float>(), spec.dims[at + 1]});
          for_each(queue_, sums.numel(), ScaleAndActivate<A>{scaled_units(layout(), params, net, layer, x), y});
        } else {
          for_each(queue_, sums.numel(), Activate<A>{x, y});
        }
      });
    }
  }

  // From the gradient with respect to a layer's scaled units, in `d` [rows, width], to that of its sums.
  void norm_backward(NetId net, int layer, const float* params, const TorchTape& tape, at::Tensor& d, float* grad) {
    const auto at = static_cast<size_t>(layer + 1);
    const ParamSlice &weight = layout().norm_weight(net, layer), &bias = layout().norm_bias(net, layer);
    const at::Tensor z = tape.sums[at].narrow(0, 0, tape.rows), ones = ones_.narrow(0, 0, tape.rows);
    at::Tensor product = product_.narrow(0, 0, d.numel()).view(d.sizes());
    at::mul_out(product, d, z);
    view(grad, weight).addmv_(product.t(), ones);
    view(grad, bias).addmv_(d.t(), ones);
    for_each(queue_, tape.rows,
             NormalizeRowsBackward{z.data_ptr<float>(), tape.inv_std[at].data_ptr<float>(), params + weight.offset,
                                   d.data_ptr<float>(), static_cast<int>(weight.count())});
  }

  Queue& queue_;
  at::Tensor ones_, product_;
  std::vector<std::unique_ptr<TorchTape>> scratch_;  // of passes without a tape
};

}  // namespace

std::unique_ptr<Nets> make_torch_nets(Queue& queue, ParamLayout layout, int threads) {
  require_address_space(threads);
  set_math_threads(threads);
  return std::make_unique<TorchNets>(queue, std::move(layout));
}

}  // namespace drl
