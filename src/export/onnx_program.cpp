#include "export/onnx_program.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "export/rows.hpp"
#include "store/protobuf.hpp"

namespace drl {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError("the ONNX model cannot be verified (" + why + "): give a file that drl_export has written");
}

// Calls use(field) for each field of a message.
template <class Use>
void for_each_field(std::string_view bytes, Use&& use) {
  ProtobufReader reader(bytes);
  while (const auto field = reader.next()) use(*field);
  if (reader.is_damaged()) refuse("it is damaged");
}

using Value = Row;

// Combines two rows element by element; a row of one number stands for one of any size.
Value combine(const Value& a, const Value& b, const std::function<double(double, double)>& f) {
  Value result(std::max(a.size(), b.size()));
  if ((a.size() != 1 && a.size() != result.size()) || (b.size() != 1 && b.size() != result.size()))
    refuse("two rows have different sizes");
  for (size_t k = 0; k < result.size(); ++k) result[k] = f(a[a.size() == 1 ? 0 : k], b[b.size() == 1 ? 0 : k]);
  return result;
}

Value each(const Value& a, const std::function<double(double)>& f) {
  Value result(a.size());
  std::ranges::transform(a, result.begin(), f);
  return result;
}

Value slice(const Value& x, double begin, double end) {
  if (!(0 <= begin && begin <= end && end <= static_cast<double>(x.size()))) refuse("a slice is out of range");
  return {x.begin() + static_cast<ptrdiff_t>(begin), x.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace

OnnxProgram::OnnxProgram(std::string_view model) {
  for_each_field(model, [&](const ProtobufReader::Field& field) {
    if (field.number == 7) read_graph(field.bytes);
  });
  if (inputs_.empty() || outputs_.size() != inputs_.size() || inputs_.size() > 2)
    refuse("it has no graph with an input and an output, or with a state in addition");
}

void OnnxProgram::read_graph(std::string_view bytes) {
  const auto name_of = [](std::string_view value_info) {
    std::string name;
    for_each_field(value_info, [&](const auto& field) {
      if (field.number == 1) name = field.bytes;
    });
    return name;
  };
  for_each_field(bytes, [&](const ProtobufReader::Field& field) {
    if (field.number == 11) inputs_.push_back(name_of(field.bytes));
    if (field.number == 12) outputs_.push_back(name_of(field.bytes));
    if (field.number == 1) {
      Node node;
      for_each_field(field.bytes, [&](const ProtobufReader::Field& part) {
        if (part.number == 1) node.inputs.emplace_back(part.bytes);
        if (part.number == 2) node.outputs.emplace_back(part.bytes);
        if (part.number == 4) node.type = part.bytes;
        if (part.number != 5) return;
        double value = 0;
        for_each_field(part.bytes, [&](const ProtobufReader::Field& of_attribute) {
          if (of_attribute.number == 2) value = of_attribute.real;
          if (of_attribute.number == 3) value = static_cast<double>(of_attribute.integer);
        });
        node.attributes[name_of(part.bytes)] = value;
      });
      nodes_.push_back(node);
    }
    if (field.number == 5) {
      std::string name;
      std::string_view data;
      int64_t type = 0;
      for_each_field(field.bytes, [&](const ProtobufReader::Field& part) {
        if (part.number == 2) type = part.integer;
        if (part.number == 8) name = part.bytes;
        if (part.number == 9) data = part.bytes;
      });
      constants_[name] = type == 7 ? numbers<int64_t, double>(bytes_of(data)) : numbers<float, double>(bytes_of(data));
    }
  });
}

std::vector<double> OnnxProgram::run(std::span<const double> observation, std::span<double> state) const {
  std::map<std::string, Value> values = {{inputs_[0], {observation.begin(), observation.end()}}};
  if (inputs_.size() > 1) values[inputs_[1]] = {state.begin(), state.end()};
  const auto value_of = [&](const std::string& name) -> const Value* {
    if (const auto found = values.find(name); found != values.end()) return &found->second;
    if (const auto found = constants_.find(name); found != constants_.end()) return &found->second;
    refuse("it has no value " + printable(name));
  };
  for (const Node& node : nodes_) {
    std::vector<const Value*> in;
    for (const std::string& name : node.inputs) in.push_back(value_of(name));
    if (in.empty() || node.outputs.size() != 1) refuse("an operator has no input, or several outputs");
    Value result = compute(node, in);
    values[node.outputs[0]] = std::move(result);
  }
  if (inputs_.size() > 1) {
    const Value& next = *value_of(outputs_[1]);
    if (next.size() != state.size()) refuse("its state has another size than the policy's");
    std::ranges::copy(next, state.begin());
  }
  return *value_of(outputs_[0]);
}

// The operators are those of onnx.ai/onnx/operators, for a batch of one.
OnnxProgram::Value OnnxProgram::compute(const Node& node, const std::vector<const Value*>& in) {
  const std::string& type = node.type;
  const Value& x = *in[0];
  const auto input = [&](size_t k) -> const Value& {
    if (k >= in.size() || in[k]->empty()) refuse(printable(type) + " has too few inputs");
    return *in[k];
  };
  const auto attribute = [&](const std::string& name) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? 0.0 : found->second;
  };
  if (type == "Add") return combine(x, input(1), std::plus<>());
  if (type == "Sub") return combine(x, input(1), std::minus<>());
  if (type == "Mul") return combine(x, input(1), std::multiplies<>());
  if (type == "Div") return combine(x, input(1), std::divides<>());
  if (type == "Max") return combine(x, input(1), [](double a, double b) { return std::max(a, b); });
  if (type == "Min") return combine(x, input(1), [](double a, double b) { return std::min(a, b); });
  if (type == "Clip") {
    const double low = input(1)[0], high = input(2)[0];
    return each(x, [&](double a) { return std::min(std::max(a, low), high); });
  }
  if (type == "Gemm" && attribute("transB") == 1) {
    if (input(1).size() != x.size() * input(2).size())
      refuse("a weight has another shape than its inputs and its bias");
    return affine(input(1), input(2), x);
  }
  if (type == "LayerNormalization") {
    if (input(1).size() != x.size() || input(2).size() != x.size())
      refuse("a layer norm has another size than its input");
    return layer_norm(x, input(1), input(2), attribute("epsilon"));
  }
  if (type == "Elu") return each(x, elu);
  if (type == "Tanh") return each(x, [](double a) { return std::tanh(a); });
  if (type == "Relu") return each(x, [](double a) { return std::max(a, 0.0); });
  if (type == "Sigmoid") return each(x, sigmoid);
  if (type == "Softplus") return each(x, softplus);
  if (type == "Erf") return each(x, [](double a) { return std::erf(a); });
  if (type == "ArgMax" && !x.empty()) return {static_cast<double>(std::ranges::max_element(x) - x.begin())};
  if (type == "Slice") return slice(x, input(1)[0], input(2)[0]);
  if (type == "Concat") {
    Value all;
    for (const Value* part : in) all.insert(all.end(), part->begin(), part->end());
    return all;
  }
  refuse("it has the operator " + printable(type));
}

}  // namespace drl
