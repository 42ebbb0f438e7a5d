// The expressions that tracing a robot's physics creates. Known values are folded immediately, and equal expressions
// share one node.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace drl::robot_compiler {

enum class Op : uint8_t {
  constant,
  input,
  add,
  subtract,
  multiply,
  divide,
  negate,
  sqrt,
  min,
  max,
  select,
  sin,
  cos,
  touching  // of three operands (drl/physics/wraps.hpp)
};

struct Node {
  Op op;
  // Operands (node indices), -1 after the last; select: of[0] < of[1] ? of[2] : of[3].
  std::array<int, 4> of{-1, -1, -1, -1};
  double value = 0;       // of a constant
  std::string text = {};  // of an input: the C++ expression that reads it
  std::string name = {};  // may be empty
  int section = 0;        // the section in which it was made
};

class Graph;

// A number: either known, or a node of a graph.
class Expr {
 public:
  Expr(double value = 0) : value_(value) {}
  Expr(Graph& graph, int node) : graph_(&graph), node_(node) {}

  bool is_known() const { return !graph_; }
  bool is(double value) const { return is_known() && value_ == value; }
  double value() const { return value_; }  // if it is known
  int node() const { return node_; }       // if it is not
  Graph* graph() const { return graph_; }
  bool operator==(const Expr&) const = default;

 private:
  double value_ = 0;
  Graph* graph_ = nullptr;
  int node_ = -1;
};

class Graph {
 public:
  // Returns the node that reads `text`; equal texts share one node.
  Expr input(const std::string& text, const std::string& name);
  // Names a node that has no name yet.
  void name(const Expr& x, const std::string& name);
  // Returns the node of an operation on these operands; equal operations share one node.
  Expr make(Op op, const Expr& a, const Expr& b = 0, const Expr& c = 0, const Expr& d = 0);
  // Returns the node of x; a known value gets a node of its own.
  int node_of(const Expr& x);

  const Node& operator[](int node) const { return nodes_[node]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  // Assigns the nodes that are made from now on to this section.
  void begin_section(int section) { section_ = section; }

 private:
  int add(Node node);

  std::vector<Node> nodes_;
  std::map<std::tuple<Op, int, int, int, int>, int> made_;
  std::map<double, int> constants_;
  std::map<std::string, int> inputs_;
  int section_ = 0;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
inline Expr& operator+=(Expr& a, const Expr& b) { return a = a + b; }
inline Expr& operator-=(Expr& a, const Expr& b) { return a = a - b; }
Expr sqrt(const Expr& a);
Expr sin(const Expr& a);
Expr cos(const Expr& a);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr select_less(const Expr& a, const Expr& b, const Expr& yes, const Expr& no);  // a < b ? yes : no
// Returns the angle at which a tendon touches a circle from inside, before MuJoCo 3.16 its sine
// (drl/physics/wraps.hpp).
Expr touching(const Expr& a, const Expr& b, const Expr& angle);
inline Expr clamp(const Expr& x, const Expr& low, const Expr& high) { return min(max(x, low), high); }

}  // namespace drl::robot_compiler
