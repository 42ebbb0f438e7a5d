// The formats of drl_export. Each function returns the content of a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "export/exported_policy.hpp"

namespace drl {

// A model of opset 17 (onnx.ai/onnx/operators): input `observation` [batch, observations], output `action`
// [batch, actions], as float, or int64 for discrete actions. Normaliser, networks, bounds and the choice of the most
// probable action are inside. metadata() is stored in the model. A recurrent policy also has the input `state` and the
// output `next_state` [batch, state_size()].
std::string onnx_model(const ExportedPolicy& policy);

// A header of C99, which C++ also compiles, for programs without an allocator: it needs only libm. `real` is the type
// of its numbers, float or double. A recurrent policy has a struct for its state, and a function that resets it.
std::string c_header(const ExportedPolicy& policy, const std::string& real);

// Returns the metadata of an ONNX model as pairs of key and value. Lists are joined by commas.
std::vector<std::pair<std::string, std::string>> metadata(const ExportedPolicy& policy);

// Describes the policy to people who use it: order, names and units of observations and actions, and seconds per step.
std::string policy_json(const ExportedPolicy& policy);

// The source of a TorchScript module: its method forward() for parameters and buffers that have the names of
// for_each_tensor(). Throws UsageError for a recurrent policy.
std::string torch_script(const ExportedPolicy& policy);

// Calls use(name, shape, data) for the arrays of the policy: "mean", "scale", "weight0", "bias0", "norm_weight0",
// "norm_bias0", ..., "low", "range", "high", "gain", "offset", and those of recurrent layers,
// "rnn_input_weight0", "rnn_input_bias0", "rnn_hidden_weight0", "rnn_hidden_bias0", ..., as far as it has them.
template <class Use>
void for_each_tensor(const ExportedPolicy& policy, Use&& use) {
  using Shape = std::vector<int64_t>;
  const auto row = [&](const std::string& name, const std::vector<float>& data) {
    if (!data.empty()) use(name, Shape{static_cast<int64_t>(data.size())}, data);
  };
  row("mean", policy.mean);
  row("scale", policy.scale);
  for (size_t k = 0; k < policy.recurrent.size(); ++k) {
    const ExportedRecurrentLayer& layer = policy.recurrent[k];
    const int64_t gates = policy.rnn_gates() * policy.rnn_width;
    use("rnn_input_weight" + std::to_string(k), Shape{gates, layer.inputs}, layer.input_weight);
    row("rnn_input_bias" + std::to_string(k), layer.input_bias);
    use("rnn_hidden_weight" + std::to_string(k), Shape{gates, policy.rnn_width}, layer.hidden_weight);
    row("rnn_hidden_bias" + std::to_string(k), layer.hidden_bias);
  }
  for (size_t k = 0; k < policy.layers.size(); ++k) {
    const ExportedLayer& layer = policy.layers[k];
    use("weight" + std::to_string(k), Shape{layer.outputs, layer.inputs}, layer.weight);
    row("bias" + std::to_string(k), layer.bias);
    row("norm_weight" + std::to_string(k), layer.norm_weight);
    row("norm_bias" + std::to_string(k), layer.norm_bias);
  }
  row("low", policy.low);
  row("range", policy.range);
  row("high", policy.high);
  row("gain", policy.gain);
  row("offset", policy.offset);
}

}  // namespace drl
