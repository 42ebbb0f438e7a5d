#include "nets/fused/fused_nets.hpp"

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "base/thread_team.hpp"
#include "device/array.hpp"
#include "nets/fused/kernels.hpp"

namespace drl {
namespace {

// Rows that one thread takes through a network: whole blocks, few enough for its cache, many for the sums over them.
constexpr int64_t kPart = 192;

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

// A network's rows on their way through its layers: inputs of each layer, and outputs of the last.
struct FusedTape final : Tape {
  FusedTape(Queue& queue, const NetSpec& spec, int64_t tile) {
    for (int k = 0; k <= spec.layers(); ++k) {
      // The last block of a row reads beyond it, and so beyond the last row.
      const auto numbers = static_cast<size_t>(tile * padded(spec.dims[static_cast<size_t>(k)]) + kPadded);
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
  FusedNet(Queue& queue, const NetSpec& spec, int64_t tile) : tape(queue, spec, tile) {
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

// Rows of a tile that a thread does.
struct Part {
  int64_t first, rows;
  Part(int64_t number, int64_t of) : first(number * kPart), rows(std::min(kPart, of - first)) {}
};

class FusedNets final : public Nets {
 public:
  FusedNets(Queue& queue, ParamLayout params, int threads)
      : Nets(std::move(params)), queue_(queue), team_(threads), tile_(threads == 1 ? kPart : 4 * threads * kPart) {
    for (NetId net = 0; net < layout().nets(); ++net) {
      DRL_CHECK(!layout().net(net).layer_norm, "layer norm is not for fused networks");
      nets_.push_back(std::make_unique<FusedNet>(queue, layout().net(net), tile_));
    }
  }

  int64_t tile() const override { return tile_; }
  std::unique_ptr<Tape> make_tape(NetId net) override {
    return std::make_unique<FusedTape>(queue_, layout().net(net), tile_);
  }

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
    for (int64_t first = 0; first < rows.count; first += tile_)
      forward_tile(net, rows.part(first, std::min(tile_, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), nets_[static_cast<size_t>(net)]->tape);
  }

  void backward(NetId net, const float* params, Tape& any_tape, const float* d_out, float* grad, float* d_in) override {
    DRL_CHECK(params == params_, "a pass with weights that were not refreshed");
    FusedTape& tape = static_cast<FusedTape&>(any_tape);
    team_.run(blocks(tape.rows, kPart), [&](int64_t k) { backward_part(net, tape, d_out, d_in, {k, tape.rows}); });
    // A weight's gradient is one thread's: part by part, always in the same order.
    const int layers = layout().net(net).layers();
    int64_t all = 0;
    for (int k = 0; k < layers; ++k) all += gradient_blocks(layer(net, k));
    team_.run(all, [&](int64_t block) {
      int k = 0;
      for (; block >= gradient_blocks(layer(net, k)); ++k) block -= gradient_blocks(layer(net, k));
      add_gradient(net, k, block, tape, grad);
    });
  }

  std::string description() const override { return "fused networks"; }

 private:
  const FusedLayer& layer(NetId net, int k) const {
    return nets_[static_cast<size_t>(net)]->layers[static_cast<size_t>(k)];
  }

  void forward_tile(NetId net, const Rows& rows, float* out, FusedTape& tape) {
    DRL_CHECK(rows.count <= tile_, "more rows than a tape holds");
    tape.rows = rows.count;
    team_.run(blocks(rows.count, kPart), [&](int64_t k) { forward_part(net, rows, out, tape, {k, rows.count}); });
  }

  void forward_part(NetId net, const Rows& tile_rows, float* out, FusedTape& tape, const Part& part) {
    const NetSpec& spec = layout().net(net);
    const Rows rows = tile_rows.part(part.first, part.rows, spec.inputs());
    const auto at = [&](std::vector<Array<float>>& arrays, int k) {
      Array<float>& array = arrays[static_cast<size_t>(k)];
      return array.empty() ? nullptr : array.data() + part.first * padded(spec.dims[static_cast<size_t>(k)]);
    };
    for_each(queue_, rows.count, GatherPadded{rows, spec.inputs(), padded(spec.inputs()), at(tape.values, 0)});
    for (int k = 0; k < spec.layers(); ++k) {
      const auto pass = [&]<class A>(A) {
        for_each(queue_, blocks(rows.count, kRowBlock),
                 LayerForward<A>{layer(net, k), at(tape.values, k), at(tape.sums, k + 1), at(tape.values, k + 1),
                                 rows.count});
      };
      if (k + 1 < spec.layers()) {
        with_activation(spec.activation, pass);
      } else {
        pass(Linear{});
      }
    }
    const int64_t outputs = spec.outputs();
    for_each(queue_, rows.count,
             CopyRows{at(tape.values, spec.layers()), out + part.first * outputs, outputs, padded(outputs), outputs});
  }

  // Gradients with respect to what goes into each layer.
  void backward_part(NetId net, FusedTape& tape, const float* d_out, float* d_in, const Part& part) {
    const NetSpec& spec = layout().net(net);
    const int64_t outputs = spec.outputs(), inputs = spec.inputs();
    const auto at = [&](std::vector<Array<float>>& arrays, int k) {
      return arrays[static_cast<size_t>(k)].data() + part.first * padded(spec.dims[static_cast<size_t>(k)]);
    };
    for_each(
        queue_, part.rows,
        CopyRows{d_out + part.first * outputs, at(tape.gradients, spec.layers()), outputs, outputs, padded(outputs)});
    for (int k = spec.layers() - 1; k >= (d_in ? 0 : 1); --k) {
      const auto pass = [&]<class A>(A) {
        for_each(queue_, blocks(part.rows, kRowBlock),
                 LayerBackward<A>{layer(net, k), at(tape.gradients, k + 1),
                                  at(A::kFromOutput ? tape.values : tape.sums, k), at(tape.gradients, k), part.rows});
      };
      if (k > 0) {
        with_activation(spec.activation, pass);
      } else {
        pass(Linear{});
      }
    }
    if (d_in)
      for_each(queue_, part.rows,
               CopyRows{at(tape.gradients, 0), d_in + part.first * inputs, inputs, padded(inputs), inputs});
  }

  // Of a layer's weights, and one more of its biases.
  static int64_t gradient_blocks(const FusedLayer& l) {
    return 1 + (is_narrow(l) ? blocks(l.inputs, NarrowWeightGradient::kInputs)
                             : blocks(l.outputs, WeightGradient::kOutputs));
  }

  void add_gradient(NetId net, int k, int64_t block, const FusedTape& tape, float* grad) {
    const FusedLayer& l = layer(net, k);
    float *d_weight = grad + layout().weight(net, k).offset, *d_bias = grad + layout().bias(net, k).offset;
    for (int64_t number = 0; number < blocks(tape.rows, kPart); ++number) {
      const Part part(number, tape.rows);
      const float* x = tape.values[static_cast<size_t>(k)].data() + part.first * l.in_stride;
      const float* dy = tape.gradients[static_cast<size_t>(k) + 1].data() + part.first * l.out_stride;
      if (block + 1 == gradient_blocks(l)) {
        for_each(queue_, l.outputs, BiasGradient{dy, l.out_stride, part.rows, d_bias});
      } else if (is_narrow(l)) {
        for_each(queue_, block, block + 1, NarrowWeightGradient{l, x, dy, part.rows, d_weight});
      } else {
        for_each(queue_, block, block + 1, WeightGradient{l, x, dy, part.rows, d_weight});
      }
    }
  }

  Queue& queue_;
  ThreadTeam team_;
  int64_t tile_;                   // rows that the tapes hold
  const float* params_ = nullptr;  // that the copies are of
  std::vector<std::unique_ptr<FusedNet>> nets_;
};

}  // namespace

std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads) {
  return std::make_unique<FusedNets>(queue, std::move(layout), threads);
}

}  // namespace drl
