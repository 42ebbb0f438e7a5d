// Evaluates an ONNX file, to verify that it holds what was exported. It knows the operators that onnx_model writes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

class OnnxProgram {
 public:
  // Throws UsageError if `model` is not an ONNX model.
  explicit OnnxProgram(std::string_view model);

  // Computes the model's action for one observation, in double precision. Replaces the state of a recurrent policy,
  // which is empty for others. Throws UsageError if the model needs an operator or a value that is not there.
  std::vector<double> run(std::span<const double> observation, std::span<double> state = {}) const;

 private:
  using Value = std::vector<double>;
  struct Node {
    std::string type;
    std::vector<std::string> inputs, outputs;
    std::map<std::string, double> attributes;
  };
  void read_graph(std::string_view bytes);
  static Value compute(const Node& node, const std::vector<const Value*>& in);

  std::vector<Node> nodes_;
  std::map<std::string, Value> constants_;
  std::vector<std::string> inputs_, outputs_;  // observation and action, then state and next state, if it has them
};

}  // namespace drl
