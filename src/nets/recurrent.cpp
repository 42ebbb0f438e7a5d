#include "nets/recurrent.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "nets/net_kernels.hpp"

namespace drl {
namespace {

int gates_of(RnnType type) { return type == RnnType::lstm ? LstmCell::kGates : GruCell::kGates; }
int kept_of(RnnType type) { return type == RnnType::lstm ? LstmCell::kKept : GruCell::kKept; }

// Calls use(GruCell{}) or use(LstmCell{}).
template <class Use>
void with_cell(const RnnSpec& spec, const Use& use) {
  if (spec.type == RnnType::lstm) return use(LstmCell{spec.width});
  use(GruCell{spec.width});
}

void copy_states(Queue& queue, int64_t rows, const CopyRows& copy) { for_each_row(queue, 0, rows, copy.width, copy); }

}  // namespace

RnnSpec add_rnn(ParamLayout& layout, const std::string& name, RnnType type, int inputs, int width, int count) {
  RnnSpec spec{type, width, {}};
  const auto add = [&](int layer, const char* map, int from) {
    NetSpec net(name + "/rnn/" + std::to_string(layer) + "/" + map, {from, gates_of(type) * width});
    net.single = true;
    return layout.add_net(net);
  };
  for (int k = 0; k < count; ++k) {
    const NetId of_input = add(k, "input", k == 0 ? inputs : width);
    spec.layers.push_back({of_input, add(k, "hidden", width)});
  }
  return spec;
}

RnnStep::RnnStep(Queue& queue, Nets& nets, const RnnSpec& spec, int64_t rows)
    : queue_(queue), nets_(nets), spec_(spec) {
  const auto make = [&](int64_t numbers) { return Array<float>(queue, static_cast<size_t>(rows * numbers)); };
  const int64_t gates = gates_of(spec.type) * int64_t{spec.width};
  of_input_ = make(gates), of_hidden_ = make(gates), kept_ = make(kept_of(spec.type) * int64_t{spec.width});
  if (spec.state_size() > spec.width) hidden_ = make(spec.width), out_ = make(spec.width);
}

const float* RnnStep::step(const Weights& weights, const Rows& x, float* states) {
  const int64_t rows = x.count, width = spec_.width, all = spec_.state_size();
  // Returns the first `width` numbers of each row's state, one row after the other.
  const auto hidden_of = [&](const float* state, Array<float>& copy) -> const float* {
    if (all == width) return state;
    copy_states(queue_, rows, {state, copy.data(), width, all, width});
    return copy.data();
  };
  Rows inputs = x;
  for (size_t k = 0; k < spec_.layers.size(); ++k) {
    float* state = states + static_cast<int64_t>(k) * spec_.layer_state();
    nets_.forward(spec_.layers[k].input, weights, inputs, of_input_.data());
    nets_.forward(spec_.layers[k].hidden, weights, {hidden_of(state, hidden_), nullptr, rows}, of_hidden_.data());
    with_cell(spec_, [&]<class Cell>(Cell cell) {
      for_each_row(queue_, 0, rows, width,
                   CellForward<Cell>{cell, of_input_.data(), of_hidden_.data(), state, all, kept_.data(), state});
    });
    inputs = {hidden_of(state, out_), nullptr, rows};
  }
  return inputs.data;
}

RnnSequences::RnnSequences(Queue& queue, Nets& nets, const RnnSpec& spec, int64_t sequences, int64_t steps)
    : queue_(queue), nets_(nets), spec_(spec), sequences_(sequences), steps_(steps) {
  const auto make = [&](int64_t rows, int64_t numbers) {
    return Array<float>(queue, static_cast<size_t>(rows * numbers));
  };
  const int64_t gates = gates_of(spec.type) * int64_t{spec.width}, all = steps * sequences;
  for (const RnnSpec::Layer& maps : spec.layers) {
    const bool is_last = &maps == &spec.layers.back();
    layers_.push_back({make(all, gates), make(all, kept_of(spec.type) * int64_t{spec.width}),
                       make(all, spec.layer_state()), make(all, spec.layer_state()),
                       make(spec.layer_state() > spec.width ? all : 0, spec.width), make(is_last ? 0 : all, spec.width),
                       nets.make_tape(maps.input), nets.make_tape(maps.hidden)});
  }
  of_hidden_ = make(sequences, gates), hidden_ = make(spec.layer_state() > spec.width ? sequences : 0, spec.width),
  d_hidden_ = make(sequences, gates);
  d_state_ = make(sequences, spec.layer_state()), d_before_ = make(sequences, spec.layer_state());
  d_from_map_ = make(sequences, spec.width);
}

Rows RnnSequences::inputs(size_t k, const Rows& x) const {
  return k == 0 ? x : Rows{outputs(layers_[k - 1]), nullptr, steps_ * sequences_};
}

Ended RnnSequences::ended_before(int64_t step) const {
  if (step == 0) return {};
  return {terminated_, truncated_, index_ + (step - 1) * sequences_};
}

const float* RnnSequences::outputs(const Layer& layer) {
  return layer.out.size() > 0 ? layer.out.data() : layer.after.data();
}

const float* RnnSequences::hidden(const Layer& layer, int64_t step) {
  const int64_t state = spec_.layer_state(), width = spec_.width;
  const float* before = layer.before.data() + step * sequences_ * state;
  if (state == width) return before;
  copy_states(queue_, sequences_, {before, hidden_.data(), width, state, width});
  return hidden_.data();
}

const float* RnnSequences::forward(const Weights& weights, const Rows& x, const float* start, const uint8_t* terminated,
                                   const uint8_t* truncated) {
  DRL_CHECK(x.count == steps_ * sequences_ && x.index, "the rows are not those of the sequences");
  start_ = start, index_ = x.index, terminated_ = terminated, truncated_ = truncated;
  for (size_t k = 0; k < layers_.size(); ++k)
    with_cell(spec_, [&]<class Cell>(Cell) { forward_layer<Cell>(k, weights, inputs(k, x)); });
  return outputs(layers_.back());
}

template <class Cell>
void RnnSequences::forward_layer(size_t k, const Weights& weights, const Rows& x) {
  Layer& layer = layers_[k];
  const int64_t width = spec_.width, state = spec_.layer_state(), rows = sequences_;
  nets_.forward(spec_.layers[k].input, weights, x, layer.gates.data());
  for (int64_t t = 0; t < steps_; ++t) {
    float *before = layer.before.data() + t * rows * state, *after = layer.after.data() + t * rows * state;
    const CarryState carry =
        t == 0 ? CarryState{start_ + static_cast<int64_t>(k) * state, index_, {}, state, spec_.state_size(), before}
               : CarryState{after - rows * state, nullptr, ended_before(t), state, state, before};
    for_each_row(queue_, 0, rows, state, carry);
    nets_.forward(spec_.layers[k].hidden, weights, {hidden(layer, t), nullptr, rows}, of_hidden_.data());
    for_each_row(queue_, 0, rows, width,
                 CellForward<Cell>{{width},
                                   layer.gates.data() + t * rows * Cell::kGates * width,
                                   of_hidden_.data(),
                                   before,
                                   state,
                                   layer.kept.data() + t * rows * Cell::kKept * width,
                                   after});
  }
  if (layer.out.size() > 0)
    copy_states(queue_, steps_ * rows, {layer.after.data(), layer.out.data(), width, state, width});
}

void RnnSequences::copy_end_states(float* states) {
  const int64_t state = spec_.layer_state();
  for (size_t k = 0; k < layers_.size(); ++k) {
    const float* last = layers_[k].after.data() + (steps_ - 1) * sequences_ * state;
    for_each_row(queue_, 0, sequences_, state,
                 CarryState{last, nullptr, ended_before(steps_), state, state, d_before_.data()});
    copy_states(queue_, sequences_,
                {d_before_.data(), states + static_cast<int64_t>(k) * state, state, state, spec_.state_size()});
  }
}

void RnnSequences::backward(const Weights& weights, const Rows& x, const float* d_out, float* grad) {
  for (size_t k = layers_.size(); k-- > 0; d_out = k > 0 ? layers_[k - 1].d_out.data() : nullptr)
    with_cell(spec_, [&]<class Cell>(Cell) { backward_layer<Cell>(k, weights, inputs(k, x), d_out, grad); });
}

template <class Cell>
void RnnSequences::backward_layer(size_t k, const Weights& weights, const Rows& x, const float* d_out, float* grad) {
  Layer& layer = layers_[k];
  const int64_t width = spec_.width, state = spec_.layer_state(), rows = sequences_;
  queue_.clear(d_state_.data(), d_state_.size());
  for (int64_t t = steps_ - 1; t >= 0; --t) {
    const int64_t first = t * rows;
    for_each_row(queue_, 0, rows, width,
                 CellBackward<Cell>{{width},
                                    layer.gates.data() + first * Cell::kGates * width,
                                    layer.kept.data() + first * Cell::kKept * width,
                                    layer.before.data() + first * state,
                                    layer.after.data() + first * state,
                                    d_out + first * width,
                                    d_state_.data(),
                                    d_hidden_.data(),
                                    d_before_.data()});
    add_gradient(spec_.layers[k].hidden, *layer.of_hidden, weights, {hidden(layer, t), nullptr, rows}, d_hidden_.data(),
                 grad, t > 0 ? d_from_map_.data() : nullptr);
    if (t == 0) break;
    for_each_row(queue_, 0, rows, width, AddToRows{d_from_map_.data(), width, state, d_before_.data()});
    for_each_row(queue_, 0, rows, state, CarryGradient{d_before_.data(), ended_before(t), state, d_state_.data()});
  }
  add_gradient(spec_.layers[k].input, *layer.of_input, weights, x, layer.gates.data(), grad,
               k > 0 ? layers_[k - 1].d_out.data() : nullptr);
}

// Tapes hold few rows, so they are filled again for each part of the rows.
void RnnSequences::add_gradient(NetId net, Tape& tape, const Weights& weights, const Rows& x, const float* d_out,
                                float* grad, float* d_in) {
  const NetSpec& spec = nets_.layout().net(net);
  for (int64_t first = 0; first < x.count; first += nets_.tile()) {
    nets_.forward(net, weights, x.part(first, std::min(nets_.tile(), x.count - first), spec.inputs()), nullptr, &tape);
    nets_.backward(net, weights, tape, d_out + first * spec.outputs(), grad,
                   d_in ? d_in + first * spec.inputs() : nullptr);
  }
}

}  // namespace drl
