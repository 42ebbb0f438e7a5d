// The contents of a robot's header: functions that consist of sections of statements, and the numbers that they
// exchange.
#pragma once

#include <concepts>
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
  bool adds;    // to the target's value; otherwise sets it
  int section;  // index among all sections of the program
};

struct Function {
  std::string comment;    // may have several lines
  std::string signature;  // "newton(const Work& w, F* qacc)"
  bool is_inlined;        // into the loop that calls it; other functions are too large for that
  bool is_wide;           // computes in double (drl/math.hpp)
  int first_section;
  std::vector<std::string> sections = {};  // a comment for each section; may be empty
  std::vector<Statement> statements = {};
  std::vector<std::string> before = {}, after = {};  // lines of C++ around the statements: calls of loops over tables
  int operations_of_loops = 0;
  int group = 0;  // in functions of one group, the same sums absorb the same products
};

class Program {
 public:
  // Begins a function. Statements belong to it from now on, in a section without a comment until section() is called.
  void begin(const std::string& comment, const std::string& signature, bool is_inlined = false, bool is_wide = false);
  void section(const std::string& comment);
  // Puts the function into the group of the one before. A sum absorbs a product only if nothing else in the group uses
  // it, so that what two functions compute has the bits that it would have in one.
  void join_group() { functions_.back().group = functions_[functions_.size() - 2].group; }
  void set(const std::string& target, const Expr& value);
  void add(const std::string& target, const Expr& value);  // makes no statement if value is 0
  // Set the numbers of an array, those of a vector from `first` on.
  void set(const std::string& array, const std::vector<Expr>& values);
  void set(const std::string& array, const Vec3& x, int first = 0);
  void set(const std::string& array, const Spatial& x);

  // Adds a line of C++ before or after the statements of the function. `operations` estimates those of an added call.
  void before(const std::string& line) { functions_.back().before.push_back(line); }
  void after(const std::string& line, int operations = 0) {
    functions_.back().after.push_back(line), functions_.back().operations_of_loops += operations;
  }

  // Adds a line of C++ with which each later function begins that uses `name`: a call of a loop over tables that
  // computes it. The line may use names of lines that were added earlier. `operations` estimates those of the call.
  struct Provision {
    std::string name, line;
    int operations;
  };
  void provide(const std::string& name, const std::string& line, int operations = 0) {
    provisions_.push_back({name, line, operations});
  }
  const std::vector<Provision>& provisions() const { return provisions_; }

  Expr input(const std::string& text, const std::string& name) { return graph_.input(text, name); }
  // Returns x, and names it if it has no name.
  Expr named(const Expr& x, const std::string& name);
  Vec3 named(const Vec3& x, const std::string& name);
  Mat3 named(const Mat3& x, const std::string& name);
  Spatial named(const Spatial& x, const std::string& name);

  // Stores x in the next place of an array of the Work (drl/physics/work.hpp) for later functions, and returns the
  // expression that reads it. Known values need no place.
  Expr keep(const std::string& array, const Expr& x, const std::string& name);
  Spatial keep(const std::string& array, const Spatial& x, const std::string& name);
  Mat3 keep(const std::string& array, const Mat3& x, const std::string& name);
  // Stores all components of x, even known ones, in the next places.
  Spatial keep_all(const std::string& array, const Spatial& x, const std::string& name);
  // Sets the number of places of an array whose places do not come from keep().
  void reserve(const std::string& array, int places) { arrays_[array] = places; }
  // Returns the number of places of an array.
  int places(const std::string& array) const {
    const auto found = arrays_.find(array);
    return found == arrays_.end() ? 0 : found->second;
  }

  // Adds a member to a struct (Touch or ContactRow) that the loops over contacts read.
  void add_field(const std::string& type, const std::string& name) { fields_[type].push_back(name); }
  const std::vector<std::string>& fields(const std::string& type) const { return fields_.at(type); }

  int edges = 4;                   // number of distinct edges of a friction pyramid
  bool is_wide = false;            // lanes compute all functions of a step in double
  bool loops_over_bodies = false;  // bodies' motions and forces are computed in loops (drl/physics/tree_motion.hpp)
  // The place of each of the six components of a body's motion, and of each term that contacts add to its equations of
  // motion; -1 if it is always 0.
  std::vector<int> motion_places, coupling_places;
  std::vector<int> wrench_places{0, 1, 2, 3, 4, 5};  // the same for the torque and force of contacts

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const std::vector<Function>& functions() const { return functions_; }

 private:
  Graph graph_;
  std::vector<Function> functions_;
  std::vector<Provision> provisions_;
  std::map<std::string, int> arrays_;
  std::map<std::string, std::vector<std::string>> fields_{{"Touch", {}}, {"ContactRow", {}}};
  std::map<int, Expr> kept_;  // by node
  int sections_ = 0;
};

// Converts a name to a C++ identifier, for example "back thigh" to "back_thigh".
std::string identifier(const std::string& name);
// Returns "array[k]" or "array[k][l]".
std::string at(const std::string& array, std::integral auto k) { return array + "[" + std::to_string(k) + "]"; }
std::string at(const std::string& array, std::integral auto k, int l) { return at(at(array, k), l); }

}  // namespace drl::robot_compiler
