#include <cmath>
#include <utility>

#include "base/version.hpp"
#include "export/exporters.hpp"
#include "store/protobuf.hpp"

namespace drl {
namespace {

using Message = ProtobufMessage;

constexpr int64_t kFloat = 1, kInt64 = 7;  // TensorProto.DataType

Message attribute(const std::string& name, int64_t value) {
  return Message().add(1, name).add(3, value).add(20, int64_t{2});  // AttributeProto: name, i, type INT
}
Message attribute(const std::string& name, float value) {
  return Message().add(1, name).add(2, value).add(20, int64_t{1});  // name, f, type FLOAT
}

template <class T>
Message tensor(const std::string& name, const std::vector<int64_t>& shape, const std::vector<T>& data) {
  Message message;  // TensorProto: dims, data_type, name, raw_data
  for (const int64_t extent : shape) message.add(1, extent);
  const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T));
  return message.add(2, sizeof(T) == 4 ? kFloat : kInt64).add(8, name).add(9, bytes);
}

Message value_info(const std::string& name, int64_t type, int64_t columns) {
  const Message batch = Message().add(2, std::string_view("batch")), extent = Message().add(1, columns);
  const Message shape = Message().add(1, batch).add(1, extent);
  return Message().add(1, name).add(2, Message().add(1, Message().add(1, type).add(2, shape)));
}

// Builds the graph as a chain: each operator takes the result of the one before. The operators are those of
// onnx.ai/onnx/operators.
class Graph {
 public:
  explicit Graph(const ExportedPolicy& policy) : policy_(policy) {
    policy.for_each_tensor([&](const std::string& name, const std::vector<int64_t>& shape,
                               const std::vector<float>& data) { graph_.add(5, tensor(name, shape, data)); });
  }

  Message build() {
    for (const Op& op : policy_.ops) std::visit(*this, op);
    if (!states_.empty()) node("Concat", states_, "next_state", {attribute("axis", int64_t{1})});
    graph_.add(2, std::string_view("policy")).add(11, value_info("observation", kFloat, policy_.observations()));
    if (!states_.empty()) graph_.add(11, value_info("state", kFloat, policy_.state_size()));
    graph_.add(12, value_info("action", policy_.is_discrete() ? kInt64 : kFloat, policy_.actions()));
    if (!states_.empty()) graph_.add(12, value_info("next_state", kFloat, policy_.state_size()));
    return graph_;
  }

  void operator()(const op::Normalise& normalise) {
    apply("Sub", {"mean"});
    apply("Mul", {"scale"});
    if (std::isfinite(normalise.clip))
      apply("Clip", {constant("clip_low", -normalise.clip), constant("clip_high", normalise.clip)});
  }
  // A step of a recurrent layer (GruCell and LstmCell in nets/recurrent_kernels.hpp).
  void operator()(const op::Recurrent& layer) {
    const std::string number = std::to_string(layer.number);
    const int64_t width = layer.width, first = std::exchange(state_, state_ + layer.state_size());
    const std::vector<Message> transposed = {attribute("transB", int64_t{1})};
    const std::string h = columns("state", first, first + width);
    const std::string x = result("Gemm", {current_, "rnn_input_weight" + number, "rnn_input_bias" + number},
                                 transposed),
                      y = result("Gemm", {h, "rnn_hidden_weight" + number, "rnn_hidden_bias" + number}, transposed);
    const auto part = [&](const std::string& of, int64_t gate) {
      return columns(of, gate * width, (gate + 1) * width);
    };
    const auto gate = [&](const char* type, int64_t number_of_gate) {
      return result(type, {result("Add", {part(x, number_of_gate), part(y, number_of_gate)})});
    };
    if (layer.type == "gru") {
      const std::string r = gate("Sigmoid", 0), z = gate("Sigmoid", 1);
      const std::string n = result("Tanh", {result("Add", {part(x, 2), result("Mul", {r, part(y, 2)})})});
      current_ = result("Add", {n, result("Mul", {z, result("Sub", {h, n})})});  // (1 - z) n + z h
      states_.push_back(current_);
      return;
    }
    const std::string i = gate("Sigmoid", 0), f = gate("Sigmoid", 1), g = gate("Tanh", 2), o = gate("Sigmoid", 3);
    const std::string before = columns("state", first + width, first + 2 * width);
    const std::string c = result("Add", {result("Mul", {f, before}), result("Mul", {i, g})});
    current_ = result("Mul", {o, result("Tanh", {c})});
    states_.push_back(current_), states_.push_back(c);
  }
  void operator()(const op::Affine& layer) {
    const std::string number = std::to_string(layer.number);
    apply("Gemm", {"weight" + number, "bias" + number}, {attribute("transB", int64_t{1})});
  }
  void operator()(const op::Norm& norm) {
    const std::string number = std::to_string(norm.number);
    apply("LayerNormalization", {"norm_weight" + number, "norm_bias" + number}, {attribute("epsilon", 1e-5f)});
  }
  void operator()(const op::Activation& activation) {
    if (activation.name == "elu") return apply("Elu", {});
    if (activation.name == "tanh") return apply("Tanh", {});
    if (activation.name == "relu") return apply("Relu", {});
    const std::string x = current_;
    if (activation.name == "silu") {
      apply("Sigmoid", {});
    } else {  // gelu: x (1 + erf(x / sqrt 2)) / 2
      if (!has_gelu_constants_) constant("sqrt_half", 0.70710678118654752f), constant("one", 1), constant("half", 0.5f);
      has_gelu_constants_ = true;
      apply("Mul", {"sqrt_half"});
      apply("Erf", {});
      apply("Add", {"one"});
      apply("Mul", {"half"});
    }
    apply("Mul", {x});
  }
  void operator()(const op::Bound& bound) {
    if (are_within_bounds(bound.outputs)) {
      bound.outputs == Outputs::means_before_tanh ? squash() : take_means_of_beta(std::ssize(bound.low));
      apply("Mul", {"range"});
      apply("Add", {"low"});
    }
    apply("Max", {"low"});
    if (bound.gain.empty()) return node("Min", {current_, "high"}, "action");
    apply("Min", {"high"});
    apply("Mul", {"gain"});
    node("Add", {current_, "offset"}, "action");
  }
  void operator()(const op::ArgMax& heads) {
    const std::vector<Message> most_probable = {attribute("axis", int64_t{1})};
    if (heads.choices.size() == 1) return node("ArgMax", {current_}, "action", most_probable);
    std::vector<std::string> parts;
    use_columns();
    int64_t first = 0;
    for (const int64_t choices : heads.choices) {
      const std::string part = std::to_string(parts.size()), begin = "begin" + part, end = "end" + part;
      graph_.add(5, tensor<int64_t>(begin, {1}, {first})).add(5, tensor<int64_t>(end, {1}, {first += choices}));
      node("Slice", {current_, begin, end, "columns"}, "logits" + part);
      node("ArgMax", {"logits" + part}, "choice" + part, most_probable);
      parts.push_back("choice" + part);
    }
    node("Concat", parts, "action", most_probable);
  }

 private:
  void squash() {
    apply("Add", {current_});
    apply("Sigmoid", {});
  }
  void take_means_of_beta(int64_t actions) {
    constant("beta_one", 1);
    const auto shape = [&](int64_t first) {
      const std::string raw = columns(current_, first, first + actions);
      return result("Add", {result("Softplus", {raw}), "beta_one"});
    };
    const std::string alpha = shape(0), beta = shape(actions);
    current_ = result("Div", {alpha, result("Add", {alpha, beta})});
  }

  // Adds a node.
  void node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
            const std::vector<Message>& attributes = {}) {
    Message message;  // NodeProto: input, output, name, op_type, attribute
    for (const std::string& input : inputs) message.add(1, input);
    message.add(2, output).add(3, type + "_" + output).add(4, type);
    for (const Message& each : attributes) message.add(5, each);
    graph_.add(1, message);
  }
  void apply(const std::string& type, const std::vector<std::string>& inputs,
             const std::vector<Message>& attributes = {}) {
    std::vector<std::string> all = {current_};
    all.insert(all.end(), inputs.begin(), inputs.end());
    node(type, all, current_ = fresh(), attributes);
  }
  std::string fresh() { return "x" + std::to_string(++values_); }
  std::string constant(const std::string& name, float value) {
    graph_.add(5, tensor<float>(name, {}, {value}));
    return name;
  }

  // Returns the name of columns [begin, end) of x.
  std::string columns(const std::string& x, int64_t begin, int64_t end) {
    use_columns();
    const std::string name = fresh(), first = name + "_begin", last = name + "_end";
    graph_.add(5, tensor<int64_t>(first, {1}, {begin})).add(5, tensor<int64_t>(last, {1}, {end}));
    node("Slice", {x, first, last, "columns"}, name);
    return name;
  }
  void use_columns() {
    if (!std::exchange(has_columns_, true)) graph_.add(5, tensor<int64_t>("columns", {1}, {1}));
  }
  std::string result(const std::string& type, const std::vector<std::string>& inputs,
                     const std::vector<Message>& attributes = {}) {
    const std::string name = fresh();
    node(type, inputs, name, attributes);
    return name;
  }

  const ExportedPolicy& policy_;
  Message graph_;
  std::string current_ = "observation";
  int values_ = 0;
  int64_t state_ = 0;                // the place of the next recurrent layer's state
  std::vector<std::string> states_;  // the parts of next_state
  bool has_gelu_constants_ = false, has_columns_ = false;
};

}  // namespace

std::string onnx_model(const ExportedPolicy& policy) {
  Message model;  // ModelProto: ir_version, producer_name, producer_version, doc_string, graph, opset_import,
                  // metadata_props
  model.add(1, int64_t{8}).add(2, std::string_view("drl")).add(3, std::string_view(kVersion));
  model.add(6, "the policy of " + policy.task + ", " + policy.source).add(7, Graph(policy).build());
  model.add(8, Message().add(1, std::string_view("")).add(2, int64_t{17}));
  for (const auto& [key, value] : metadata(policy)) model.add(14, Message().add(1, key).add(2, value));
  return model.bytes();
}

}  // namespace drl
