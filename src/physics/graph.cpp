#include "physics/graph.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/wraps.hpp"

namespace drl::robot_compiler {
namespace {

// Returns the number of operands.
int arity(Op op) {
  switch (op) {
    case Op::constant:
    case Op::input:
      return 0;
    case Op::negate:
    case Op::sqrt:
    case Op::sin:
    case Op::cos:
      return 1;
    case Op::touching:
      return 3;
    case Op::select:
      return 4;
    default:
      return 2;
  }
}

bool is_op(const Expr& x, Op op) { return !x.is_known() && (*x.graph())[x.node()].op == op; }

// Returns the operand k of x.
Expr operand(const Expr& x, int k) {
  Graph& graph = *x.graph();
  const int of = graph[x.node()].of[k];
  return graph[of].op == Op::constant ? Expr(graph[of].value) : Expr(graph, of);
}

Graph& graph_of(const Expr& a, const Expr& b) { return *(a.is_known() ? b : a).graph(); }

Expr function_of(const Expr& a, Op op, double (*known)(double)) {
  return a.is_known() ? Expr(known(a.value())) : a.graph()->make(op, a);
}

// Makes a commutative operation, which has one node for both orders of its operands.
Expr make_sorted(Op op, const Expr& a, const Expr& b) {
  Graph& graph = graph_of(a, b);
  const bool turn = graph.node_of(a) > graph.node_of(b);
  return turn ? graph.make(op, b, a) : graph.make(op, a, b);
}

}  // namespace

int Graph::add(Node node) {
  node.section = section_;
  nodes_.push_back(std::move(node));
  return size() - 1;
}

Expr Graph::input(const std::string& text, const std::string& name) {
  const auto [place, is_new] = inputs_.emplace(text, size());
  if (is_new) add({.op = Op::input, .text = text, .name = name});
  return {*this, place->second};
}

void Graph::name(const Expr& x, const std::string& name) {
  if (x.is_known()) return;
  Node& node = nodes_[x.node()];
  if (node.name.empty()) node.name = name;
}

int Graph::node_of(const Expr& x) {
  if (!x.is_known()) return x.node();
  const double value = x.value() == 0 ? 0 : x.value();  // -0 and 0 share a node
  const auto [place, is_new] = constants_.emplace(value, size());
  if (is_new) add({.op = Op::constant, .value = value});
  return place->second;
}

Expr Graph::make(Op op, const Expr& a, const Expr& b, const Expr& c, const Expr& d) {
  const int count = arity(op);
  std::array<int, 4> of{-1, -1, -1, -1};
  const Expr* all[] = {&a, &b, &c, &d};
  for (int k = 0; k < count; ++k) of[k] = node_of(*all[k]);
  const auto [place, is_new] = made_.try_emplace({op, of[0], of[1], of[2], of[3]}, size());
  if (is_new) add({.op = op, .of = of});
  return {*this, place->second};
}

Expr operator+(const Expr& a, const Expr& b) {
  if (a.is_known() && b.is_known()) return a.value() + b.value();
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (is_op(b, Op::negate)) return a - operand(b, 0);
  if (is_op(a, Op::negate)) return b - operand(a, 0);
  return make_sorted(Op::add, a, b);
}

Expr operator-(const Expr& a) {
  if (a.is_known()) return -a.value();
  if (is_op(a, Op::negate)) return operand(a, 0);
  if (is_op(a, Op::subtract)) return operand(a, 1) - operand(a, 0);
  return a.graph()->make(Op::negate, a);
}

Expr operator-(const Expr& a, const Expr& b) {
  if (a.is_known() && b.is_known()) return a.value() - b.value();
  if (b.is(0)) return a;
  if (a.is(0)) return -b;
  if (a == b) return 0;
  if (is_op(b, Op::negate)) return a + operand(b, 0);
  return graph_of(a, b).make(Op::subtract, a, b);
}

Expr operator*(const Expr& a, const Expr& b) {
  if (a.is_known() && b.is_known()) return a.value() * b.value();
  if (b.is_known()) return b * a;
  if (a.is(0)) return 0;
  if (a.is(1)) return b;
  if (a.is(-1)) return -b;
  if (a.is_known()) {
    if (is_op(b, Op::multiply) && operand(b, 0).is_known())
      return Expr(a.value() * operand(b, 0).value()) * operand(b, 1);
    if (is_op(b, Op::multiply) && operand(b, 1).is_known())
      return Expr(a.value() * operand(b, 1).value()) * operand(b, 0);
    if (is_op(b, Op::negate)) return Expr(-a.value()) * operand(b, 0);
    return b.graph()->make(Op::multiply, a, b);
  }
  // Moves signs out of the product, so that a sum can turn them into subtractions.
  const bool turns_a = is_op(a, Op::negate), turns_b = is_op(b, Op::negate);
  const Expr product = make_sorted(Op::multiply, turns_a ? operand(a, 0) : a, turns_b ? operand(b, 0) : b);
  return turns_a != turns_b ? -product : product;
}

Expr operator/(const Expr& a, const Expr& b) {
  if (b.is_known()) return Expr(1 / b.value()) * a;
  if (a.is(0)) return 0;
  return graph_of(a, b).make(Op::divide, a, b);
}

Expr sqrt(const Expr& a) { return function_of(a, Op::sqrt, std::sqrt); }
Expr sin(const Expr& a) { return function_of(a, Op::sin, std::sin); }
Expr cos(const Expr& a) { return function_of(a, Op::cos, std::cos); }

Expr min(const Expr& a, const Expr& b) {
  if (a.is_known() && b.is_known()) return std::min(a.value(), b.value());
  return a == b ? a : graph_of(a, b).make(Op::min, a, b);
}
Expr max(const Expr& a, const Expr& b) {
  if (a.is_known() && b.is_known()) return std::max(a.value(), b.value());
  return a == b ? a : graph_of(a, b).make(Op::max, a, b);
}

Expr touching(const Expr& a, const Expr& b, const Expr& angle) {
  if (a.is_known() && b.is_known() && angle.is_known())
    return mujoco::kInsideWrapsAreExact ? physics::touching_angle(a.value(), b.value(), angle.value())
                                        : physics::touching_sine(a.value(), b.value(), angle.value());
  Graph& graph = *(a.is_known() ? b.is_known() ? angle : b : a).graph();
  return graph.make(Op::touching, a, b, angle);
}

Expr select_less(const Expr& a, const Expr& b, const Expr& yes, const Expr& no) {
  if (yes == no) return yes;
  if (a.is_known() && b.is_known()) return a.value() < b.value() ? yes : no;
  return graph_of(a, b).make(Op::select, a, b, yes, no);
}

}  // namespace drl::robot_compiler
