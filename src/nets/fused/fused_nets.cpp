#include "nets/fused/fused_nets.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/check.hpp"
#include "base/thread_team.hpp"
#include "device/array.hpp"
#include "nets/fused/fused_kernels.hpp"
#include "nets/net_kernels.hpp"

namespace drl {
namespace {

// The number of rows that one thread takes through a network at a time: a multiple of kRowBlock, few enough for the
// thread's cache, and enough for efficient sums.
constexpr int64_t kPartRows = 192;

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

// An array [tile, padded(width)] of floats, and the words that products read (products.hpp): the floats themselves, or
// pairs of bfloat16.
template <class Numbers>
struct RowArray {
  RowArray(Queue& queue, int64_t tile, int width) : stride(padded(width)) {
    // The last block of a product may read beyond the end of a row, and so beyond the end of the last row.
    const auto make = [&](int64_t rows) { return Array<float>(queue, static_cast<size_t>(rows * stride + kPadded)); };
    numbers = make(tile);
    if constexpr (Numbers::kPerWord > 1) pairs_by_row = make(tile / 2), pairs_by_column = make(tile / 2);
  }
  float* from(int64_t row) { return numbers.data() + row * stride; }
  float* words_by_row(int64_t row) {
    return Numbers::kPerWord == 1 ? from(row) : pairs_by_row.data() + row / 2 * stride;
  }
  float* words_by_column(int64_t row) {
    return Numbers::kPerWord == 1 ? from(row) : pairs_by_column.data() + row / 2 * stride;
  }
  // Must be called after rows [first, first + rows) have changed. `first` must be even.
  void refresh(Queue& queue, int64_t first, int64_t rows) {
    if constexpr (Numbers::kPerWord > 1)
      for_each(queue, blocks(rows, 2),
               MakePairs{from(first), rows, stride, words_by_row(first), words_by_column(first)});
  }

  int64_t stride;
  Array<float> numbers, pairs_by_row, pairs_by_column;
};

// A network's buffers for a tile: the inputs of each layer and the outputs of the last.
template <class Numbers>
struct FusedTape final : Tape {
  FusedTape(Queue& queue, const NetSpec& spec, int64_t tile) {
    add(queue, tile, {0, spec.inputs()});
    for (const LayerSpec& layer : spec.layers) add(queue, tile, layer);
    for (size_t k = 0; k < values.size(); ++k)
      residuals.emplace_back(queue, spec.feeds_residual(static_cast<int>(k) - 1) ? values[k].numbers.size() : 0);
  }
  // Adds the buffers of a layer's outputs.
  void add(Queue& queue, int64_t tile, const LayerSpec& layer) {
    values.emplace_back(queue, tile, layer.outputs);
    gradients.emplace_back(queue, tile, layer.outputs);
    const size_t size = values.back().numbers.size();
    sums.emplace_back(queue, from_output(layer.activation) ? 0 : size);
    units.emplace_back(queue, layer.norm ? size : 0), scaled_gradients.emplace_back(queue, layer.norm ? size : 0);
    inv_std.emplace_back(queue, static_cast<size_t>(layer.norm ? tile : 0));
  }
  std::vector<RowArray<Numbers>> values;
  std::vector<RowArray<Numbers>> gradients;  // of the loss, with respect to the sums from which `values` were computed
  std::vector<Array<float>> sums;            // inputs of the activation, if its kFromOutput is false
  // With layer norm: z, 1 / standard deviation, and the gradients of the loss with respect to weight z + bias.
  std::vector<Array<float>> units, inv_std, scaled_gradients;
  std::vector<Array<float>> residuals;  // sums that a later layer adds to its own
  int64_t rows = 0;                     // of the last forward pass
};

bool has_pair_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

using FusedLayers = std::vector<FusedLayer>;

// The packed weights of all networks.
template <class Numbers>
class FusedWeights final : public Weights {
 public:
  FusedWeights(Queue& queue, const ParamLayout& layout, const float* params) : Weights(params) {
    for (NetId net = 0; net < layout.nets(); ++net) nets_.push_back(layers_of(queue, layout.net(net)));
  }
  const FusedLayers& layers(NetId net) const { return nets_[static_cast<size_t>(net)]; }

 private:
  FusedLayers layers_of(Queue& queue, const NetSpec& spec) {
    FusedLayers layers;
    for (const LayerSpec& layer : spec.layers) {
      const int inputs = layer.inputs, outputs = layer.outputs;
      const auto add = [&](int64_t count) { return arrays_.emplace_back(queue, static_cast<size_t>(count)).data(); };
      const bool few = &layer == &spec.layers.back() && outputs <= kFewOutputs;
      layers.push_back({inputs, outputs, padded(inputs), padded(outputs),
                        few ? nullptr : add(padded(outputs) * words<Numbers>(inputs)),
                        few ? nullptr : add(padded(inputs) * words<Numbers>(outputs)), add(padded(outputs)),
                        few ? add(outputs * padded(inputs)) : nullptr, layer.norm ? add(padded(outputs)) : nullptr,
                        layer.norm ? add(padded(outputs)) : nullptr, has_pair_instruction()});
    }
    return layers;
  }

  std::vector<Array<float>> arrays_;
  std::vector<FusedLayers> nets_;  // they point into arrays_
};

// Returns whether registers of outputs are better filled than registers of inputs.
bool is_narrow(const FusedLayer& layer) {
  return padded(layer.outputs) * layer.inputs < padded(layer.inputs) * layer.outputs;
}

// The rows of a tile that one thread processes.
struct Part {
  int64_t first, rows;
  Part(int64_t number, int64_t tile_rows) : first(number * kPartRows), rows(std::min(kPartRows, tile_rows - first)) {}
};

template <class Numbers>
class FusedNets final : public Nets {
 public:
  FusedNets(Queue& queue, ParamLayout params, int threads)
      : Nets(std::move(params)),
        queue_(queue),
        team_(threads),
        tile_(threads == 1 ? kPartRows : 4 * threads * kPartRows) {
    for (NetId net = 0; net < layout().nets(); ++net)
      scratch_.push_back(std::make_unique<FusedTape<Numbers>>(queue, layout().net(net), tile_));
  }

  int64_t tile() const override { return tile_; }
  std::unique_ptr<Tape> make_tape(NetId net) override {
    return std::make_unique<FusedTape<Numbers>>(queue_, layout().net(net), tile_);
  }

  std::unique_ptr<Weights> pack(const float* params) override {
    auto weights = std::make_unique<FusedWeights<Numbers>>(queue_, layout(), params);
    repack(*weights);
    return weights;
  }
  void repack(Weights& weights) override {
    const float* params = weights.params();
    for (NetId net = 0; net < layout().nets(); ++net)
      for (int k = 0; const FusedLayer& l : layers_of(weights, net)) {
        const bool norm = l.norm_weight;
        for_each(queue_, 1,
                 PackWeights<Numbers>{l, params + layout().weight(net, k).offset, params + layout().bias(net, k).offset,
                                      norm ? params + layout().norm_weight(net, k).offset : nullptr,
                                      norm ? params + layout().norm_bias(net, k).offset : nullptr});
        ++k;
      }
  }

  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    const FusedLayers& layers = layers_of(weights, net);
    if (tape) return forward_tile(net, layers, rows, out, static_cast<FusedTape<Numbers>&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += tile_)
      forward_tile(net, layers, rows.part(first, std::min(tile_, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), *scratch_[static_cast<size_t>(net)]);
  }

  void backward(NetId net, const Weights& weights, Tape& any_tape, const float* d_out, float* grad,
                float* d_in) override {
    const FusedLayers& layers = layers_of(weights, net);
    FusedTape<Numbers>& tape = static_cast<FusedTape<Numbers>&>(any_tape);
    run(tape.rows, blocks(tape.rows, kPartRows), [&](int64_t k) {
      backward_part(net, layers, tape, d_out, d_in, {k, tape.rows});
    });
    if (!grad) return;
    // Each weight's gradient is computed by one thread, part by part in a fixed order.
    int64_t all = 0;
    for (const FusedLayer& l : layers) all += gradient_blocks(l);
    run(tape.rows, all, [&](int64_t block) {
      int k = 0;
      for (; block >= gradient_blocks(layers[static_cast<size_t>(k)]); ++k)
        block -= gradient_blocks(layers[static_cast<size_t>(k)]);
      add_gradient(net, k, layers[static_cast<size_t>(k)], block, tape, d_out, grad);
    });
  }

  std::string description() const override {
    return Numbers::kPerWord == 1 ? "fused networks" : "fused networks of bfloat16";
  }

 private:
  static const FusedLayers& layers_of(const Weights& weights, NetId net) {
    return static_cast<const FusedWeights<Numbers>&>(weights).layers(net);
  }

  // Returns the layer norm of layer l, whose outputs are tape.values[k], with buffers that begin at row `row`.
  static LayerNorm layer_norm(const FusedLayer& l, FusedTape<Numbers>& tape, int k, int64_t row) {
    const auto at = static_cast<size_t>(k);
    return {l.outputs,
            l.out_stride,
            l.norm_weight,
            l.norm_bias,
            tape.units[at].data() + row * l.out_stride,
            tape.inv_std[at].data() + row};
  }

  // Calls work(k) for k in [0, count). If one thread can process all rows, it does not wake the other threads, which
  // would take longer.
  template <class Work>
  void run(int64_t rows, int64_t count, const Work& work) {
    if (rows > kPartRows) return team_.run(count, work);
    for (int64_t k = 0; k < count; ++k) work(k);
  }

  void forward_tile(NetId net, const FusedLayers& layers, const Rows& rows, float* out, FusedTape<Numbers>& tape) {
    DRL_CHECK(rows.count <= tile_, "more rows than a tape holds");
    tape.rows = rows.count;
    run(rows.count, blocks(rows.count, kPartRows), [&](int64_t k) {
      forward_part(net, layers, rows, out, tape, {k, rows.count});
    });
  }

  void forward_part(NetId net, const FusedLayers& layers, const Rows& tile_rows, float* out, FusedTape<Numbers>& tape,
                    const Part& part) {
    const NetSpec& spec = layout().net(net);
    const Rows rows = tile_rows.part(part.first, part.rows, spec.inputs());
    const int64_t outputs = spec.outputs();
    float* out_of_part = out ? out + part.first * outputs : nullptr;
    auto x = tape.values.begin();
    for_each(queue_, part.rows, GatherRows{rows, spec.inputs(), x->stride, x->from(part.first)});
    for (int k = 0; k < spec.num_layers(); ++k, ++x) {
      x->refresh(queue_, part.first, part.rows);
      const bool last = k + 1 == spec.num_layers();
      if (!out && last) return;
      auto y = std::next(x);
      const FusedLayer& l = layers[static_cast<size_t>(k)];
      const int64_t row_blocks = blocks(part.rows, kRowBlock);
      const auto product = [&]<class A>(A, float* sums, float* to) {
        for_each(queue_, row_blocks, LayerForward<Numbers, A>{l, x->words_by_row(part.first), sums, to, part.rows});
      };
      const auto pass = [&]<class A>(A a) {
        float* sums = A::kFromOutput ? nullptr : tape.sums[static_cast<size_t>(k) + 1].data() + part.first * y->stride;
        if (!l.norm_weight) return product(a, sums, y->from(part.first));
        const LayerNorm of_part = layer_norm(l, tape, k + 1, part.first);
        product(Linear{}, nullptr, of_part.z);
        const bool residual = spec.layers[static_cast<size_t>(k)].residual;
        if (residual || spec.feeds_residual(k)) {
          const auto of_layer = [&](int layer) {
            float* sums = tape.residuals[static_cast<size_t>(layer) + 1].data();
            return sums ? sums + part.first * y->stride : nullptr;
          };
          for_each(queue_, part.rows * y->stride,
                   AddResidual{residual ? of_layer(k - 2) : nullptr, of_part.z, of_layer(k)});
        }
        for_each(queue_, row_blocks, NormForward<A>{of_part, sums, y->from(part.first), part.rows});
      };
      if (l.by_output) {
        for_each(queue_, row_blocks, FewOutputs{l, x->from(part.first), out_of_part, part.rows});
      } else {
        with_activation(spec.layers[static_cast<size_t>(k)].activation, pass);
        if (last) for_each(queue_, part.rows, CopyRows{y->from(part.first), out_of_part, outputs, y->stride, outputs});
      }
    }
  }

  // Computes the gradients with respect to the inputs of each layer.
  void backward_part(NetId net, const FusedLayers& layers, FusedTape<Numbers>& tape, const float* d_out, float* d_in,
                     const Part& part) {
    const NetSpec& spec = layout().net(net);
    const int64_t outputs = spec.outputs(), inputs = spec.inputs();
    const float* d_out_of_part = d_out + part.first * outputs;
    auto dy = std::prev(tape.gradients.end());
    if (!layers.back().by_output) {
      for_each(queue_, part.rows, CopyRows{d_out_of_part, dy->from(part.first), outputs, outputs, dy->stride});
      dy->refresh(queue_, part.first, part.rows);
    }
    for (int k = spec.num_layers() - 1; k >= (d_in ? 0 : 1); --k, --dy) {
      auto dx = std::prev(dy);
      const auto at = static_cast<size_t>(k);
      const LayerSpec below = k > 0 ? spec.layers[at - 1] : LayerSpec{};
      const bool through_norm = below.norm;
      float* to = through_norm ? tape.scaled_gradients[at].data() + part.first * dx->stride : dx->from(part.first);
      const auto pass = [&]<class A>(A) {
        const float* from =
            A::kFromOutput ? tape.values[at].from(part.first) : tape.sums[at].data() + part.first * dx->stride;
        const FusedLayer& l = layers[at];
        const int64_t row_blocks = blocks(part.rows, kRowBlock);
        if (l.by_output) return for_each(queue_, row_blocks, FewBackward<A>{l, d_out_of_part, from, to, part.rows});
        for_each(queue_, row_blocks, LayerBackward<Numbers, A>{l, dy->words_by_row(part.first), from, to, part.rows});
      };
      with_activation(below.activation, pass);
      if (through_norm)
        for_each(queue_, part.rows,
                 NormBackward{layer_norm(layers[at - 1], tape, k, part.first), to, dx->from(part.first)});
      if (spec.feeds_residual(k - 1))
        for_each(queue_, part.rows * dx->stride,
                 AddResidual{tape.gradients[at + 2].from(part.first), dx->from(part.first), nullptr});
      dx->refresh(queue_, part.first, part.rows);
    }
    if (d_in)
      for_each(queue_, part.rows,
               CopyRows{dy->from(part.first), d_in + part.first * inputs, inputs, dy->stride, inputs});
  }

  // Returns the number of blocks of a layer's gradient: those of its weights, and one for its biases and layer norm.
  static int64_t gradient_blocks(const FusedLayer& l) {
    if (l.by_output) return 1 + l.outputs;
    return 1 + (is_narrow(l) ? blocks(l.inputs, NarrowWeightGradient<Numbers>::kInputs)
                             : blocks(l.outputs, WeightGradient<Numbers>::kOutputs));
  }

  // Adds block `block` of the gradient of l, which is layer k.
  void add_gradient(NetId net, int k, const FusedLayer& l, int64_t block, FusedTape<Numbers>& tape, const float* d_out,
                    float* grad) {
    float *d_weight = grad + layout().weight(net, k).offset, *d_bias = grad + layout().bias(net, k).offset;
    RowArray<Numbers>& inputs = tape.values[static_cast<size_t>(k)];
    RowArray<Numbers>& gradients = tape.gradients[static_cast<size_t>(k) + 1];
    for (int64_t number = 0; number < blocks(tape.rows, kPartRows); ++number) {
      const Part part(number, tape.rows);
      const float *x = inputs.words_by_column(part.first), *dy = gradients.words_by_column(part.first);
      if (l.by_output) {
        const float* d = d_out + part.first * l.outputs;
        if (block == l.outputs) {
          for_each(queue_, l.outputs, AddColumns{d, l.outputs, part.rows, d_bias});
        } else {
          for_each(queue_, l.inputs,
                   AddColumnsOfScaled{inputs.from(part.first), d + block, l.in_stride, l.outputs, part.rows,
                                      d_weight + block * l.inputs});
        }
      } else if (block + 1 == gradient_blocks(l)) {
        for_each(queue_, l.outputs, AddColumns{gradients.from(part.first), l.out_stride, part.rows, d_bias});
        if (l.norm_weight) add_norm_gradient(net, k, l, part, tape, grad);
      } else if (is_narrow(l)) {
        for_each(queue_, block, block + 1, NarrowWeightGradient<Numbers>{l, x, dy, part.rows, d_weight});
      } else {
        for_each(queue_, block, block + 1, WeightGradient<Numbers>{l, x, dy, part.rows, d_weight});
      }
    }
  }

  void add_norm_gradient(NetId net, int k, const FusedLayer& l, const Part& part, FusedTape<Numbers>& tape,
                         float* grad) {
    const float* d_scaled = tape.scaled_gradients[static_cast<size_t>(k) + 1].data() + part.first * l.out_stride;
    for_each(queue_, l.outputs,
             AddColumnsOfProducts{d_scaled, layer_norm(l, tape, k + 1, part.first).z, l.out_stride, part.rows,
                                  grad + layout().norm_weight(net, k).offset});
    for_each(queue_, l.outputs,
             AddColumns{d_scaled, l.out_stride, part.rows, grad + layout().norm_bias(net, k).offset});
  }

  Queue& queue_;
  ThreadTeam team_;
  int64_t tile_;                                              // rows per tape
  std::vector<std::unique_ptr<FusedTape<Numbers>>> scratch_;  // for passes without a tape
};

}  // namespace

// The units of x86-64-v4 are those with the instruction (products.hpp).
bool has_fast_bf16(Isa isa) { return has_pair_instruction() && name_of(isa) == "x86-64-v4"; }

std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads, bool bf16) {
  if (bf16) return std::make_unique<FusedNets<Bf16>>(queue, std::move(layout), threads);
  return std::make_unique<FusedNets<Fp32>>(queue, std::move(layout), threads);
}

}  // namespace drl
