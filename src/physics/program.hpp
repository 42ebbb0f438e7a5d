// What a robot's header consists of: functions of sections of statements, and the numbers that pass between them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "physics/graph.hpp"
#include "physics/robot_model.hpp"
#include "physics/spatial.hpp"

namespace drl::robot_compiler {

struct Statement {
  std::string target;
  Expr value;
  bool adds;    // to what is there, else it is set
  int section;  // number among all sections of the program
};

struct Function {
  std::string comment;    // may have several lines
  std::string signature;  // "newton(const Work& w, F* qacc)"
  bool is_inlined;        // into a loop; else it is too large for that
  bool is_wide;           // computes in double (drl/math.hpp)
  int first_section;
  std::vector<std::string> sections;  // what each computes; may be empty
  std::vector<Statement> statements;
};

class Program {
 public:
  // Statements from now on are of this function, in a section without a comment until section() is called.
  void begin(const std::string& comment, const std::string& signature, bool is_inlined = false, bool is_wide = false);
  void section(const std::string& comment);
  void set(const std::string& target, const Expr& value);
  void add(const std::string& target, const Expr& value);  // nothing for 0

  Expr input(const std::string& text, const std::string& name) { return graph_.input(text, name); }
  // x, named if it has no name.
  Expr named(const Expr& x, const std::string& name);
  Vec3 named(const Vec3& x, const std::string& name);
  Mat3 named(const Mat3& x, const std::string& name);
  Spatial named(const Spatial& x, const std::string& name);

  // Keeps x for later functions in the next place of the work's array, and returns what they read. What is known needs
  // no place.
  Expr keep(const std::string& array, const Expr& x, const std::string& name);
  Spatial keep(const std::string& array, const Spatial& x, const std::string& name);
  Mat3 keep(const std::string& array, const Mat3& x, const std::string& name);
  // How many places an array has.
  int places(const std::string& array) const {
    const auto found = arrays_.find(array);
    return found == arrays_.end() ? 0 : found->second;
  }

  // Says that a struct which loops over contacts read has this number.
  void add_field(const std::string& type, const std::string& name) { fields_[type].push_back(name); }
  const std::vector<std::string>& fields(const std::string& type) const { return fields_.at(type); }

  int edges = 4;  // of a friction pyramid that differ
  // Of the six components of a body's motion, and of what contacts add to its equations: the places of those that are
  // kept; -1: it is always 0.
  std::vector<int> motion_places, coupling_places;
  std::vector<int> wrench_places{0, 1, 2, 3, 4, 5};  // and of the torque and force of contacts

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const std::vector<Function>& functions() const { return functions_; }

 private:
  Graph graph_;
  std::vector<Function> functions_;
  std::map<std::string, int> arrays_;
  std::map<std::string, std::vector<std::string>> fields_{{"Touch", {}}, {"ContactRow", {}}};
  std::map<int, Expr> kept_;  // by node
  int sections_ = 0;
};

// "back_thigh" of "back thigh", and so on: what C++ takes as a name.
std::string identifier(const std::string& name);
// "array[k]", "array[k][l]".
inline std::string at(const std::string& array, int k) { return array + "[" + std::to_string(k) + "]"; }
inline std::string at(const std::string& array, int k, int l) { return at(at(array, k), l); }

}  // namespace drl::robot_compiler
