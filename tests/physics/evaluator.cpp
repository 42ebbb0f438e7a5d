#include "evaluator.hpp"

#include <stdexcept>

#include "drl/math.hpp"

namespace drl::test {

using robot_compiler::Expr;
using robot_compiler::Graph;
using robot_compiler::Node;
using robot_compiler::Op;
using robot_compiler::Program;
using robot_compiler::Statement;

class Evaluator::Builder {
 public:
  Builder(const Program& program, const robot_compiler::Function& function, const Places& places)
      : graph_(program.graph()), places_(places) {
    read_parameters(function.signature.substr(function.signature.find('(') + 1));
    for (const robot_compiler::Function& other : program.functions())
      if (other.group == function.group)
        for (const Statement& statement : other.statements)
          if (!statement.value.is_known()) count_uses(statement.value.node());
    for (const Statement& statement : function.statements) add(statement);
  }
  Function built() { return std::move(built_); }

 private:
  // A parameter's name is its last word, except for the bounds of arrays of arrays: "const F (*wrench)[6]".
  void read_parameters(const std::string& parameters) {
    for (size_t from = 0; from < parameters.size();) {
      const size_t end = std::min(parameters.find_first_of(",)", from), parameters.size());
      std::string name = parameters.substr(from, end - from);
      names_.push_back(name.substr(name.find_last_of(" *&") + 1));
      from = std::min(parameters.find(',', end), parameters.size() - 1) + 1;
    }
  }
  const Node& node(int k) const { return graph_[k]; }
  void count_uses(int k) {
    if (uses_[k]++ > 0) return;
    for (const int of : node(k).of)
      if (of >= 0) count_uses(of);
  }
  // Returns whether a sum absorbs this product, as in the header (src/physics/emit_function.cpp).
  bool fuses(int k) const { return node(k).op == Op::multiply && uses_.at(k) == 1; }

  void add(const Statement& statement) {
    Store store{address_of(statement.target), -1, 0, statement.adds};
    const Expr& x = statement.value;
    if (x.is_known())
      store.value = x.value();
    else if (statement.adds && fuses(x.node()))
      store.factors[0] = step_of(node(x.node()).of[0]), store.factors[1] = step_of(node(x.node()).of[1]);
    else
      store.step = step_of(x.node());
    built_.stores.push_back(store);
  }
  // Returns the index of the step that computes a node.
  int step_of(int k) {
    if (const auto found = steps_.find(k); found != steps_.end()) return found->second;
    const Node& n = node(k);
    Step step{.op = n.op, .value = n.value};
    const bool adds = n.op == Op::add, is_sum = adds || n.op == Op::subtract;
    const auto fuse = [&](int product, int summand, Step::Fused how) {
      step.fused = how;
      for (int i = 0; i < 2; ++i) step.of[i] = step_of(node(product).of[static_cast<size_t>(i)]);
      step.of[2] = step_of(summand);
    };
    if (n.op == Op::input)
      step.input = address_of(n.text);
    else if (is_sum && fuses(n.of[1]))
      fuse(n.of[1], n.of[0], adds ? Step::product : Step::minus_product);
    else if (is_sum && fuses(n.of[0]))
      fuse(n.of[0], n.of[1], adds ? Step::product : Step::product_minus);
    else
      for (size_t i = 0; i < n.of.size() && n.of[i] >= 0; ++i) step.of[i] = step_of(n.of[i]);
    built_.steps.push_back(step);
    return steps_[k] = static_cast<int>(built_.steps.size()) - 1;
  }

  // Returns the address of a variable like "w.geom_axis[2].half[0]" or "F(point.radius)".
  Address address_of(std::string name) const {
    if (name.starts_with("F(")) name = name.substr(2, name.size() - 3);
    std::string key;
    std::vector<int> indices;
    for (size_t k = 0; k < name.size(); ++k) {
      key += name[k];
      if (name[k] != '[') continue;
      indices.push_back(std::stoi(name.substr(k + 1)));
      k = name.find(']', k), key += ']';
    }
    const auto found = places_.find(key);
    if (found == places_.end()) throw std::runtime_error("no place of " + key);
    const Place& place = found->second;
    Address address{0, place.offset};
    for (size_t k = 0; k < indices.size(); ++k) {
      if (indices[k] < 0 || indices[k] >= place.extents[k]) throw std::runtime_error(name + " is beyond its end");
      const int index = indices[k] + (place.gap > 0 && indices[k] >= place.gap_from ? place.gap : 0);
      address.offset += static_cast<size_t>(index) * place.strides[k];
    }
    const std::string argument = name.substr(0, name.find_first_of(".["));
    while (names_[address.argument] != argument)
      if (++address.argument == names_.size()) throw std::runtime_error("no parameter " + argument);
    return address;
  }

  const Graph& graph_;
  const Places& places_;
  std::vector<std::string> names_;   // of parameters
  std::map<int, int> uses_, steps_;  // by node
  Function built_;
};

Evaluator::Evaluator(const Program& program, const Places& places) {
  if (!program.provisions().empty()) throw std::runtime_error("the program calls loops");
  for (const robot_compiler::Function& function : program.functions()) {
    if (!function.before.empty() || !function.after.empty())
      throw std::runtime_error(function.signature + " calls loops");
    functions_.emplace(function.signature.substr(0, function.signature.find('(')),
                       Builder(program, function, places).built());
  }
}

void Evaluator::call(const std::string& name, std::initializer_list<const void*> arguments) const {
  const auto function = functions_.find(name);
  if (function == functions_.end()) throw std::runtime_error("the program has no " + name);
  const auto at = [&](const Address& address) -> double& {
    char* argument = static_cast<char*>(const_cast<void*>(arguments.begin()[address.argument]));
    return *reinterpret_cast<double*>(argument + address.offset);
  };
  thread_local std::vector<double> values;
  values.clear();
  const auto value = [](int step) { return values[static_cast<size_t>(step)]; };
  const auto compute = [&](const Step& s) -> double {
    const auto x = [&](int k) { return value(s.of[k]); };
    switch (s.fused) {
      case Step::product:
        return math::fma(x(0), x(1), x(2));
      case Step::minus_product:
        return math::fma(-x(0), x(1), x(2));
      case Step::product_minus:
        return math::fma(x(0), x(1), -x(2));
      case Step::none:
        break;
    }
    switch (s.op) {
      case Op::constant:
        return s.value;
      case Op::input:
        return at(s.input);
      case Op::add:
        return x(0) + x(1);
      case Op::subtract:
        return x(0) - x(1);
      case Op::multiply:
        return x(0) * x(1);
      case Op::divide:
        return x(0) / x(1);
      case Op::negate:
        return -x(0);
      case Op::sqrt:
        return math::sqrt(x(0));
      case Op::min:
        return math::min(x(0), x(1));
      case Op::max:
        return math::max(x(0), x(1));
      case Op::select:
        return x(0) < x(1) ? x(2) : x(3);
      case Op::sin:
        return math::sin(x(0));
      case Op::cos:
        return math::cos(x(0));
      case Op::touching:
        break;  // random robots have no wrapping tendons
    }
    throw std::logic_error("an operation that is not evaluated");
  };
  for (const Step& step : function->second.steps) values.push_back(compute(step));
  // No target is read again (check_targets in src/physics/emit_function.cpp), so the order of stores does not matter.
  for (const Store& s : function->second.stores) {
    double& target = at(s.target);
    if (s.factors[0] >= 0)
      target = math::fma(value(s.factors[0]), value(s.factors[1]), target);
    else if (s.adds)
      target += s.step < 0 ? s.value : value(s.step);
    else
      target = s.step < 0 ? s.value : value(s.step);
  }
}

}  // namespace drl::test
