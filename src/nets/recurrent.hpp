// Recurrent layers (GRU or LSTM) before a network's fully connected ones. A layer consists of two linear maps,
// of its input and of its state, which are networks of one layer each, and of a cell that combines them
// (recurrent_kernels.hpp). So every backend of Nets computes them.
//
// Batches are sequences [T, B, ...], time step after time step. The state is zero where an episode begins. Gradients go
// back through all steps of a batch, but not to the state at its beginning, which is part of the data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.hpp"
#include "device/array.hpp"
#include "device/for_each.hpp"
#include "nets/nets.hpp"
#include "nets/recurrent_kernels.hpp"

namespace drl {

enum class RnnType { none, gru, lstm };
inline constexpr auto kRnnTypes = by_enum<RnnType, std::string_view>(  // their names
    RnnType::lstm, {{RnnType::none, "none"}, {RnnType::gru, "gru"}, {RnnType::lstm, "lstm"}});

struct RnnSpec {
  struct Layer {
    NetId input, hidden;  // maps to the gates [gates * width], in the order of torch.nn.GRU and torch.nn.LSTM
  };
  RnnType type = RnnType::none;
  int width = 0;  // of each layer's output
  std::vector<Layer> layers;

  bool empty() const { return layers.empty(); }
  // Return how many numbers an environment's state has, in one layer (h, and c of an LSTM) and in all.
  int layer_state() const { return (type == RnnType::lstm ? 2 : 1) * width; }
  int state_size() const { return static_cast<int>(layers.size()) * layer_state(); }
};

// Adds the maps of `count` recurrent layers to the layout, as "NAME/rnn/0/input", "NAME/rnn/0/hidden", ...
RnnSpec add_rnn(ParamLayout& layout, const std::string& name, RnnType type, int inputs, int width, int count);

// Enqueues a kernel of recurrent_kernels.hpp for the rows in [begin, end), whose rows have `width` numbers.
template <class Kernel>
void for_each_row(Queue& queue, int64_t begin, int64_t end, int64_t width, const Kernel& kernel) {
  if (queue.on_gpu()) return for_each(queue, begin * width, end * width, ByNumber<Kernel>{kernel, width});
  for_each(queue, begin, end, kernel);
}

// Takes single time steps.
class RnnStep {
 public:
  // At most `rows` rows a step. `nets` must have the layout to which `spec` was added.
  RnnStep(Queue& queue, Nets& nets, const RnnSpec& spec, int64_t rows);
  // Enqueues a step from the inputs `x`. Replaces the states [x.count, state_size]. Returns the outputs [x.count,
  // width], which are valid until the next step or the next change of the states.
  const float* step(const Weights& weights, const Rows& x, float* states);

 private:
  Queue& queue_;
  Nets& nets_;
  RnnSpec spec_;
  Array<float> of_input_, of_hidden_, kept_;
  Array<float> hidden_, out_;  // only if states have more numbers than outputs
};

// Goes through sequences, and back in time.
class RnnSequences {
 public:
  RnnSequences(Queue& queue, Nets& nets, const RnnSpec& spec, int64_t sequences, int64_t steps);
  // Enqueues the forward pass from the inputs x [steps, sequences]. x.index must not be null: its elements are samples
  // of a rollout [T, N], those of step 0 also the environments. `start` [N, state_size] are the states before step 0,
  // and `terminated` and `truncated` [T, N] say where episodes end. Returns the outputs [steps, sequences, width].
  const float* forward(const Weights& weights, const Rows& x, const float* start, const uint8_t* terminated,
                       const uint8_t* truncated);
  // Enqueues the copy of the states after the last forward pass, with which the sequences would go on, to `states`
  // [sequences, state_size].
  void copy_end_states(float* states);
  // Enqueues the backward pass of the last forward pass from d_out [steps, sequences, width], the gradient with respect
  // to its outputs. Adds the parameters' gradients to `grad`, which has the layout of the parameters.
  void backward(const Weights& weights, const Rows& x, const float* d_out, float* grad);

 private:
  struct Layer {
    Array<float> gates;          // [steps, sequences, gates]: outputs of the input's map, gates, then gradients
    Array<float> kept;           // what else the cell keeps for its backward pass
    Array<float> before, after;  // [steps, sequences, layer_state], states before and after each step
    Array<float> out, d_out;     // [steps, sequences, width]; out only if `after` has more, d_out if a layer is above
    std::unique_ptr<Tape> of_input, of_hidden;
  };
  template <class Cell>
  void forward_layer(size_t k, const Weights& weights, const Rows& x);
  template <class Cell>
  void backward_layer(size_t k, const Weights& weights, const Rows& x, const float* d_out, float* grad);
  // Returns the inputs of layer k: `x`, or the outputs of the layer below.
  Rows inputs(size_t k, const Rows& x) const;
  static const float* outputs(const Layer& layer);  // [steps, sequences, width]
  Ended ended_before(int64_t step) const;
  // Returns the first `width` numbers of the states before a step: the input of the state's map.
  const float* hidden(const Layer& layer, int64_t step);
  void add_gradient(NetId net, Tape& tape, const Weights& weights, const Rows& x, const float* d_out, float* grad,
                    float* d_in);

  Queue& queue_;
  Nets& nets_;
  RnnSpec spec_;
  int64_t sequences_, steps_;
  std::vector<Layer> layers_;
  Array<float> of_hidden_, hidden_, d_state_, d_before_, d_hidden_, d_from_map_;
  const float* start_ = nullptr;  // of the last forward pass, and the following
  const int32_t* index_ = nullptr;
  const uint8_t *terminated_ = nullptr, *truncated_ = nullptr;
};

}  // namespace drl
