#include "nets/fused/fused_nets.hpp"

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "device/array.hpp"
#include "nets/fused/kernels.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = 192;  // rows: whole blocks, few enough for the cache, many for the sums over them

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

// A network's rows on their way through its layers: inputs of each layer, and outputs of the last.
struct FusedTape final : Tape {
  FusedTape(Queue& queue, const NetSpec& spec) {
    for (int k = 0; k <= spec.layers(); ++k) {
      // The last block of a row reads beyond it, and so beyond the last row.
      const auto numbers = static_cast<size_t>(kTile * padded(spec.dims[static_cast<size_t>(k)]) + kPadded);
      const bool hidden = k > 0 && k < spec.layers();
      values.emplace_back(queue, numbers);
      gradients.emplace_back(queue, numbers);
      sums.emplace_back(queue, hidden && !from_output(spec.activation) ? numbers : 0);
    }
  }
  std::vector<Array<float>> values;     // [tile, padded(width)]
  std::vector<Array<float>> gradients;  // of the loss with respect to the sums behind them
  std::vector<Array<float>> sums;       // which the way back needs of some activations
  int64_t rows = 0;                     // of the last forward pass
};

// A network's weights as the passes read them.
struct FusedNet {
  FusedNet(Queue& queue, const NetSpec& spec) : tape(queue, spec) {
    for (int k = 0; k < spec.layers(); ++k) {
      const int inputs = spec.dims[static_cast<size_t>(k)], outputs = spec.dims[static_cast<size_t>(k) + 1];
      const auto add = [&](int64_t count) { return arrays.emplace_back(queue, static_cast<size_t>(count)).data(); };
      layers.push_back({inputs, outputs, padded(inputs), padded(outputs), add(padded(outputs) * inputs),
                        add(padded(inputs) * outputs), add(padded(outputs))});
    }
  }
  std::vector<FusedLayer> layers;
  std::vector<Array<float>> arrays;
  FusedTape tape;  // of passes without one
};

// Do inputs side by side fill registers as well as outputs would?
bool is_narrow(const FusedLayer& layer) {
  return padded(layer.outputs) * layer.inputs < padded(layer.inputs) * layer.outputs;
}

class FusedNets final : public Nets {
 public:
  FusedNets(Queue& queue, ParamLayout params) : Nets(std::move(params)), queue_(queue) {
    for (NetId net = 0; net < layout().nets(); ++net) {
      DRL_CHECK(!layout().net(net).layer_norm, "layer norm is not for fused networks");
      nets_.push_back(std::make_unique<FusedNet>(queue, layout().net(net)));
    }
  }

  int64_t tile() const override { return kTile; }
  std::unique_ptr<Tape> make_tape(NetId net) override { return std::make_unique<FusedTape>(queue_, layout().net(net)); }

  void refresh(const float* params) override {
    params_ = params;
    for (NetId net = 0; net < layout().nets(); ++net)
      for (int k = 0; k < layout().net(net).layers(); ++k)
        for_each(
            queue_, 1,
            PackWeights{layer(net, k), params + layout().weight(net, k).offset, params + layout().bias(net, k).offset});
  }

  void forward(NetId net, const float* params, const Rows& rows, float* out, Tape* tape, const HiddenState& hidden,
               const HiddenState& next) override {
    require_feed_forward(hidden, next);
    DRL_CHECK(params == params_, "a pass with weights that were not refreshed");
    if (tape) return forward_tile(net, rows, out, static_cast<FusedTape&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += kTile)
      forward_tile(net, rows.part(first, std::min(kTile, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), nets_[static_cast<size_t>(net)]->tape);
  }

  void backward(NetId net, const float* params, Tape& any_tape, const float* d_out, float* grad, float* d_in) override {
    DRL_CHECK(params == params_, "a pass with weights that were not refreshed");
    const NetSpec& spec = layout().net(net);
    FusedTape& tape = static_cast<FusedTape&>(any_tape);
    const int64_t rows = tape.rows, outputs = spec.outputs();
    for_each(queue_, rows, CopyRows{d_out, tape.gradients.back().data(), outputs, outputs, padded(outputs)});
    for (int k = spec.layers() - 1; k >= 0; --k) {
      const auto at = static_cast<size_t>(k);
      const FusedLayer& l = layer(net, k);
      const float *x = tape.values[at].data(), *dy = tape.gradients[at + 1].data();
      float* d_weight = grad + layout().weight(net, k).offset;
      if (is_narrow(l)) {
        for_each(queue_, blocks(l.inputs, NarrowWeightGradient::kInputs),
                 NarrowWeightGradient{l, x, dy, rows, d_weight});
      } else {
        for_each(queue_, blocks(l.outputs, WeightGradient::kOutputs), WeightGradient{l, x, dy, rows, d_weight});
      }
      for_each(queue_, l.outputs, BiasGradient{dy, l.out_stride, rows, grad + layout().bias(net, k).offset});
      if (k == 0 && !d_in) return;
      float* dx = tape.gradients[at].data();
      const auto pass = [&]<class A>(A) {
        const float* from = A::kFromOutput ? x : tape.sums[at].data();
        for_each(queue_, blocks(rows, kRowBlock), LayerBackward<A>{l, dy, from, dx, rows});
      };
      if (k > 0) {
        with_activation(spec.activation, pass);
      } else {
        pass(Linear{});
        for_each(queue_, rows, CopyRows{dx, d_in, l.inputs, l.in_stride, l.inputs});
      }
    }
  }

  std::string description() const override { return "fused networks"; }

 private:
  const FusedLayer& layer(NetId net, int k) const {
    return nets_[static_cast<size_t>(net)]->layers[static_cast<size_t>(k)];
  }

  void forward_tile(NetId net, const Rows& rows, float* out, FusedTape& tape) {
    const NetSpec& spec = layout().net(net);
    DRL_CHECK(rows.count <= kTile, "more rows than a tape holds");
    tape.rows = rows.count;
    for_each(queue_, rows.count, GatherPadded{rows, spec.inputs(), padded(spec.inputs()), tape.values[0].data()});
    for (int k = 0; k < spec.layers(); ++k) {
      const auto at = static_cast<size_t>(k);
      const auto pass = [&]<class A>(A) {
        for_each(queue_, blocks(rows.count, kRowBlock),
                 LayerForward<A>{layer(net, k), tape.values[at].data(), tape.sums[at + 1].data(),
                                 tape.values[at + 1].data(), rows.count});
      };
      if (k + 1 < spec.layers()) {
        with_activation(spec.activation, pass);
      } else {
        pass(Linear{});
      }
    }
    const int64_t outputs = spec.outputs();
    for_each(queue_, rows.count, CopyRows{tape.values.back().data(), out, outputs, padded(outputs), outputs});
  }

  Queue& queue_;
  const float* params_ = nullptr;  // that the copies are of
  std::vector<std::unique_ptr<FusedNet>> nets_;
};

}  // namespace

std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout) {
  return std::make_unique<FusedNets>(queue, std::move(layout));
}

}  // namespace drl
