// A policy without its task and its run: the operations that turn an observation into an action. A checkpoint stores it
// by name in its group `policy/`, and drl_export writes it in the formats that other programs read.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policy/spec.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// The operations of a policy. Each computes a row of numbers from the row that the one before has computed. `number`
// counts the layers, in the names of their arrays.
namespace op {

// Receives an array of an operation.
using UseTensor =
    std::function<void(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& data)>;
inline void use_row(const UseTensor& use, const std::string& name, const std::vector<float>& data) {
  if (!data.empty()) use(name, {std::ssize(data)}, data);
}

struct Normalise {  // (x - mean) * scale, between -clip and clip
  std::vector<float> mean{}, scale{};
  float clip = std::numeric_limits<float>::infinity();

  void tensors(const UseTensor& use) const { use_row(use, "mean", mean), use_row(use, "scale", scale); }
};

// A recurrent layer. Its gates are those of torch.nn.GRU (r, z, n) or torch.nn.LSTM (i, f, g, o).
struct Recurrent {
  int64_t number = 0;
  std::string type;  // gru or lstm
  int64_t inputs = 0, width = 0;
  std::vector<float> input_weight{}, input_bias{};    // [gates * width, inputs], [gates * width]
  std::vector<float> hidden_weight{}, hidden_bias{};  // [gates * width, width], [gates * width]

  int64_t gates() const { return (type == "lstm" ? 4 : 3) * width; }
  // Returns how many numbers the layer keeps from one action to the next: h, and c of an LSTM.
  int64_t state_size() const { return (type == "lstm" ? 2 : 1) * width; }
  void tensors(const UseTensor& use) const {
    const std::string k = std::to_string(number);
    use("rnn_input_weight" + k, {gates(), inputs}, input_weight);
    use_row(use, "rnn_input_bias" + k, input_bias);
    use("rnn_hidden_weight" + k, {gates(), width}, hidden_weight);
    use_row(use, "rnn_hidden_bias" + k, hidden_bias);
  }
};

struct Affine {  // weight x + bias
  int64_t number = 0, inputs = 0, outputs = 0;
  std::vector<float> weight{}, bias{};  // [outputs, inputs], [outputs]

  void tensors(const UseTensor& use) const {
    use("weight" + std::to_string(number), {outputs, inputs}, weight);
    use_row(use, "bias" + std::to_string(number), bias);
  }
};

struct Norm {  // layer norm, with 1e-5 added to the variance
  int64_t number = 0;
  std::vector<float> weight{}, bias{};

  void tensors(const UseTensor& use) const {
    use_row(use, "norm_weight" + std::to_string(number), weight);
    use_row(use, "norm_bias" + std::to_string(number), bias);
  }
};

struct Activation {
  std::string name;  // elu, tanh, relu, silu or gelu
  void tensors(const UseTensor&) const {}
};

// Continuous actions. Outputs::means are clipped to the bounds. The other kinds determine where between the bounds an
// action is: Outputs::means_before_tanh at (1 + tanh x) / 2 = sigmoid(2 x), and Outputs::alphas_and_betas, first all
// alphas a and then all betas b, at A / (A + B) with A = 1 + softplus(a) and B = 1 + softplus(b).
struct Bound {
  Outputs outputs = Outputs::means;
  std::vector<float> low{}, range{}, high{};  // [actions]; range: high - low, empty for Outputs::means
  std::vector<float> gain{}, offset{};        // [actions] or empty; the action is then offset + gain * bounded action

  void tensors(const UseTensor& use) const {
    use_row(use, "low", low), use_row(use, "range", range), use_row(use, "high", high);
    use_row(use, "gain", gain), use_row(use, "offset", offset);
  }
};

struct ArgMax {                  // discrete actions
  std::vector<int64_t> choices;  // the number of choices of each
  void tensors(const UseTensor&) const {}
};

}  // namespace op

using Op = std::variant<op::Normalise, op::Recurrent, op::Affine, op::Norm, op::Activation, op::Bound, op::ArgMax>;

struct ExportedPolicy {
  std::string task, source;  // source: the checkpoint's file and iteration, for people
  double dt = 0;             // seconds between two actions
  std::vector<std::string> observation_names, observation_units;  // [observations]; an unknown unit is ""
  std::vector<std::string> action_names, action_units;            // [actions]
  std::vector<int32_t> observation_steps_before;  // [observations], of how many steps ago each is (a task's history)
  std::vector<std::string> command_names;         // of the commands that the policy follows
  std::vector<double> unit_scale, unit_offset;    // [actions], an action's value in its unit is offset + scale * action
  std::vector<double> stiffness, damping;         // [actions], of position controllers, whose targets are the actions;
                                                  // empty: no action is a target
  std::vector<Op> ops;

  // Returns all operations of a kind, or the first one (null if there is none).
  template <class Kind>
  std::vector<const Kind*> all() const {
    std::vector<const Kind*> found;
    for (const Op& op : ops)
      if (const Kind* one = std::get_if<Kind>(&op)) found.push_back(one);
    return found;
  }
  template <class Kind>
  const Kind* find() const {
    const auto found = all<Kind>();
    return found.empty() ? nullptr : found.front();
  }
  // Calls use(name, shape, data) for the arrays of all operations.
  void for_each_tensor(const op::UseTensor& use) const {
    for (const Op& op : ops) std::visit([&](const auto& one) { one.tensors(use); }, op);
  }
  bool is_discrete() const { return find<op::ArgMax>() != nullptr; }
  bool is_recurrent() const { return find<op::Recurrent>() != nullptr; }
  int64_t observations() const { return is_recurrent() ? find<op::Recurrent>()->inputs : find<op::Affine>()->inputs; }
  int64_t actions() const {
    return is_discrete() ? std::ssize(find<op::ArgMax>()->choices) : std::ssize(find<op::Bound>()->low);
  }
  // Returns how many numbers the policy keeps from one action to the next. They are 0 at the beginning of an episode.
  int64_t state_size() const {
    int64_t size = 0;
    for (const op::Recurrent* layer : all<op::Recurrent>()) size += layer->state_size();
    return size;
  }
};

// Writes what `policy/` says besides the networks' parameters, which are there already: attributes for names, units,
// activation and distribution, and arrays for the normaliser and the bounds.
void describe_policy(Checkpoint& checkpoint, const PolicySpec& policy);

// Reads the policy from the group `policy/` alone. Throws UsageError if `file` does not have it.
ExportedPolicy exported_policy(const Checkpoint& checkpoint, const std::string& file);

// Applies the bounds, the gain and the offset to continuous actions.
std::vector<double> applied(const op::Bound& bound, std::vector<double> action);

// Returns the most probable action in double precision, as the task's step receives it: the values of continuous
// actions, or the indices of choices. Replaces the state [state_size()].
std::vector<double> act(const ExportedPolicy& policy, std::span<const double> observation,
                        std::span<double> state = {});

}  // namespace drl
