#include "physics/emit.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "physics/order.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

constexpr size_t kColumns = 120;

}  // namespace

std::string number(double x) {
  char text[40];
  for (const int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof(text), "%.*g", digits, x);
    if (std::stod(text) == x) break;
  }
  const std::string shortest = text;
  return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
}

// Breaks at spaces between arguments and operands.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string lines, line = indent;
  for (size_t from = 0; from < text.size();) {
    const size_t space = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, space - from);
    if (line.size() + word.size() > kColumns && line.find_first_not_of(' ') != std::string::npos) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + "\n", line = indent + "    ";
    }
    line += word + (space < text.size() ? " " : ""), from = space + 1;
  }
  return lines + line + "\n";
}

namespace {

// How tightly a text's last operation binds.
enum Binding { kSum, kProduct, kSign, kAtom };
struct Text {
  std::string text;
  Binding binding;
};
std::string in(const Text& text, Binding at_least) {
  return text.binding >= at_least ? text.text : "(" + text.text + ")";
}

class FunctionEmitter {
 public:
  FunctionEmitter(const Graph& graph, const Function& function) : graph_(graph), function_(function) {
    for (const Statement& statement : function.statements) count_uses(statement.value);
    for (const Statement& statement : function.statements) add_line(statement);
  }

  FunctionText emit() {
    std::vector<Line> lines;
    for (const Draft& draft : drafts_) lines.push_back(draft.line);
    // Sections in their order; within one as they are needed.
    std::vector<int> by_section(drafts_.size()), places(drafts_.size());
    for (size_t k = 0; k < by_section.size(); ++k) by_section[k] = static_cast<int>(k);
    std::ranges::stable_sort(by_section, {}, [&](int k) { return lines[static_cast<size_t>(k)].section; });
    for (size_t k = 0; k < by_section.size(); ++k) places[static_cast<size_t>(by_section[k])] = static_cast<int>(k);
    std::vector<Line> sorted;
    for (const int k : by_section) {
      sorted.push_back(lines[static_cast<size_t>(k)]);
      for (int& read : sorted.back().reads) read = places[static_cast<size_t>(read)];
    }
    FunctionText result = counts_;
    int section = -1;
    for (const int k : order_lines(sorted)) {
      const Draft& draft = drafts_[static_cast<size_t>(by_section[static_cast<size_t>(k)])];
      if (draft.line.section != section) {
        section = draft.line.section;
        const std::string& comment = function_.sections[static_cast<size_t>(section)];
        if (!comment.empty()) result.text += "    // " + comment + "\n";
      }
      result.text += wrapped(draft.text, "    ");
    }
    return result;
  }

 private:
  struct Draft {
    Line line;
    std::string text;
  };

  const Node& node(int k) const { return graph_[k]; }
  static bool is_leaf(const Node& node) { return node.op == Op::constant || node.op == Op::input; }

  void count_uses(const Expr& x) {
    if (!x.is_known()) count_uses(x.node());
  }
  void count_uses(int k) {
    if (uses_[k]++ > 0) return;
    for (const int of : node(k).of)
      if (of >= 0) count_uses(of);
  }

  // Whether a node has a line of its own: what is needed again, or has a name, unless a sum takes it up.
  bool has_line(int k) const {
    const Node& n = node(k);
    if (n.op == Op::constant) return false;
    return uses_.at(k) > 1 || (n.op != Op::input && n.op != Op::multiply && !n.name.empty());
  }
  // In the function's sections; what an earlier function made already is made again at the start.
  int section_of(int k) const { return std::max(0, node(k).section - function_.first_section); }

  std::string new_name(const std::string& wanted) {
    std::string name = wanted.empty() ? "t" + std::to_string(++unnamed_) : wanted;
    for (int again = 2; !names_.insert(name).second; ++again) name = wanted + "_" + std::to_string(again);
    return name;
  }

  void add_line(const Statement& statement) {
    Draft draft;
    draft.line = {{}, false, statement.section - function_.first_section};
    const Expr& x = statement.value;
    if (x.is_known()) {
      draft.text = statement.target + (statement.adds ? " += " : " = ") + "F(" + number(x.value()) + ");";
    } else if (statement.adds && node(x.node()).op == Op::multiply && !has_line(x.node())) {
      const auto& of = node(x.node()).of;
      draft.text = statement.target + " = " + fma(of[0], of[1], {statement.target, kAtom}, draft) + ";";
    } else {
      draft.text = statement.target + (statement.adds ? " += " : " = ") + text(x.node(), draft).text + ";";
      counts_.operations += statement.adds ? 1 : 0;
    }
    drafts_.push_back(draft);
  }

  // What reads a node in a line, which depends on the node's own line if it has one.
  Text text(int k, Draft& reader) {
    if (!has_line(k)) return operation(k, reader);
    const auto [place, is_new] = lines_.try_emplace(k, -1);
    if (is_new) {
      Draft draft;
      draft.line = {{}, true, node(k).op == Op::input ? reader.line.section : section_of(k)};
      const std::string value = operation(k, draft).text, name = new_name(node(k).name);
      draft.text = "const F " + name + " = " + value + ";";
      names_of_[k] = name;
      lines_[k] = static_cast<int>(drafts_.size());
      drafts_.push_back(draft);
    }
    // What is read from memory is read where it is needed first.
    int& section = drafts_[static_cast<size_t>(lines_[k])].line.section;
    section = std::min(section, reader.line.section);
    if (std::ranges::find(reader.line.reads, lines_[k]) == reader.line.reads.end())
      reader.line.reads.push_back(lines_[k]);
    return {names_of_[k], kAtom};
  }

  // A product that a sum can take up.
  bool fuses(int k) const { return node(k).op == Op::multiply && !has_line(k); }
  std::string fma(int a, int b, const Text& c, Draft& reader, bool is_negative = false) {
    counts_.operations += 1;
    std::string first =
        is_negative && node(a).op == Op::constant ? "F(" + number(-node(a).value) + ")" : text(a, reader).text;
    if (is_negative && node(a).op != Op::constant) first = "-" + in(text(a, reader), kAtom);
    return "math::fma(" + first + ", " + text(b, reader).text + ", " + c.text + ")";
  }

  Text operation(int k, Draft& reader) {
    const Node& n = node(k);
    const auto& of = n.of;
    const auto call = [&](const char* name, auto... operands) {
      std::string list;
      ((list += (list.empty() ? "" : ", ") + text(operands, reader).text), ...);
      return Text{std::string(name) + "(" + list + ")", kAtom};
    };
    if (n.op == Op::constant) return {"F(" + number(n.value) + ")", kAtom};
    if (n.op == Op::input) return {n.text, kAtom};
    if (n.op == Op::sin || n.op == Op::cos) {
      counts_.trigonometric += 1;
      return call(n.op == Op::sin ? "math::sin" : "math::cos", of[0]);
    }
    if (n.op == Op::add && fuses(of[1]))
      return {fma(node(of[1]).of[0], node(of[1]).of[1], text(of[0], reader), reader), kAtom};
    if (n.op == Op::add && fuses(of[0]))
      return {fma(node(of[0]).of[0], node(of[0]).of[1], text(of[1], reader), reader), kAtom};
    if (n.op == Op::subtract && fuses(of[1]))
      return {fma(node(of[1]).of[0], node(of[1]).of[1], text(of[0], reader), reader, true), kAtom};
    if (n.op == Op::subtract && fuses(of[0])) {
      const Text c = text(of[1], reader);
      return {fma(node(of[0]).of[0], node(of[0]).of[1], {"-" + in(c, kAtom), kSign}, reader), kAtom};
    }
    counts_.operations += 1;
    switch (n.op) {
      case Op::add:
        return {in(text(of[0], reader), kSum) + " + " + in(text(of[1], reader), kProduct), kSum};
      case Op::subtract:
        return {in(text(of[0], reader), kSum) + " - " + in(text(of[1], reader), kProduct), kSum};
      case Op::multiply:
        return {in(text(of[0], reader), kProduct) + " * " + in(text(of[1], reader), kSign), kProduct};
      case Op::divide:
        return {in(text(of[0], reader), kProduct) + " / " + in(text(of[1], reader), kSign), kProduct};
      case Op::negate:
        return {"-" + in(text(of[0], reader), kAtom), kSign};
      case Op::sqrt:
        return call("math::sqrt", of[0]);
      case Op::min:
        return call("math::min", of[0], of[1]);
      case Op::max:
        return call("math::max", of[0], of[1]);
      default:
        return {"math::select(" + text(of[0], reader).text + " < " + text(of[1], reader).text + ", " +
                    text(of[2], reader).text + ", " + text(of[3], reader).text + ")",
                kAtom};
    }
  }

  const Graph& graph_;
  const Function& function_;
  std::map<int, int> uses_, lines_;  // by node
  std::map<int, std::string> names_of_;
  std::set<std::string> names_;
  int unnamed_ = 0;
  std::vector<Draft> drafts_;
  FunctionText counts_;
};

// Lists of a header's tables.
template <class List, class Item>
std::string listed(const List& list, const Item& item) {
  std::string text;
  for (const auto& x : list) text += (text.empty() ? "" : ", ") + item(x);
  return text;
}
template <class List, class Item>
std::string table(const std::string& declaration, const List& list, const std::string& empty, const Item& item) {
  const std::string items = list.empty() ? empty : listed(list, item);
  return declaration + " = {" + items + "};";
}
std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string emit_names(const RobotModel& model) {
  const auto name = [](const auto& part) { return quoted(part.name); };
  const auto list = [&](const std::string& what, const auto& parts) {
    return wrapped(table("inline constexpr const char* " + what + "_names[]", parts, "\"\"", name), "");
  };
  const auto joint = [](const Joint& j) {
    const std::string range = j.limit ? ", " + number(j.limit->low) + ", " + number(j.limit->high) : "";
    return "{" + quoted(j.name) + ", " + std::to_string(j.qpos) + ", " + std::to_string(j.dof) + range + "}";
  };
  return list("body", model.frames) + list("geom", model.geoms) + list("site", model.sites) +
         list("actuator", model.actuators) + emit_sensors(model) +
         wrapped(table("inline constexpr NamedJoint joints[]", model.joints, "", joint), "") +
         wrapped(table("inline constexpr double qpos0[]", model.start, "", number), "");
}

std::string emit_points(const RobotModel& model) {
  const std::vector<int> bodies = touching_bodies(model), frames = touching_frames(model);
  std::string text =
      "  // Body, frame, radius, height of the plane, margin, friction, weight; stiffness, damping, impedance.\n";
  text += "  static constexpr ContactPoint points[kContacts + 1] = {\n";
  for (const FloorContact& c : model.elliptic ? std::vector<FloorContact>{} : model.contacts) {
    text += "      // " + c.name + "\n";
    text += wrapped("{" + std::to_string(bodies[static_cast<size_t>(c.body)]) + ", " +
                        std::to_string(frames[static_cast<size_t>(c.frame)]) + ", " +
                        listed(std::vector<double>{c.radius, c.height, c.margin, c.friction, c.weight}, number) + ", " +
                        softness_of(c.softness) + "},",
                    "      ");
  }
  return text + "      {}};\n";
}

// Which numbers of qvel move a body, as bits.
uint64_t moved_by(const RobotModel& model, int body) {
  uint64_t bits = 0;
  for (; body >= 0; body = model.bodies[static_cast<size_t>(body)].parent)
    for (size_t i = 0; i < model.dofs.size(); ++i)
      if (model.dofs[i].body == body) bits |= uint64_t{1} << i;
  return bits;
}

std::string emit_rounds(const RobotModel& model) {
  const std::vector<int> frames = touching_frames(model);
  std::string text = "  // Frame, tree, the numbers of qvel that move it, radius.\n";
  text += "  static constexpr RoundPart rounds[kRounds + 1] = {\n";
  int boxes = 0;
  for (const Round& r : model.rounds) {
    const int tree = r.body < 0 ? 0 : model.bodies[static_cast<size_t>(r.body)].tree;
    char bits[20];
    std::snprintf(bits, sizeof(bits), "0x%llx", static_cast<unsigned long long>(moved_by(model, r.body)));
    text += "      // " + r.name + "\n      {" + std::to_string(frames[static_cast<size_t>(r.frame)]) + ", " +
            std::to_string(tree) + ", " + bits + ", " + number(r.radius) +
            (r.box ? ", " + std::to_string(boxes++) : "") + "},\n";
  }
  return text + "      {}};\n";
}

double length(const Numbers3& x) { return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// From its centre to the end of its axis, or to a corner.
double size_of(const Round& round) { return length(round.box ? *round.box : round.half); }

// The square of a distance, with a little more for what rounding takes, in float.
std::string bound(double distance) { return number(std::ceil(1e5 * distance * distance * 1.0001) / 1e5) + "f, "; }

std::string emit_pairs(const RobotModel& model) {
  std::string text =
      "  // The two, whether both are capsules, edges, bounds of how near they are; margin, friction, weight;\n";
  text += "  // stiffness, damping, impedance.\n";
  text += "  static constexpr ContactPair pairs[kPairs + 1] = {\n";
  for (const RoundPair& pair : model.pairs) {
    const Round &a = model.rounds[static_cast<size_t>(pair.first)], &b = model.rounds[static_cast<size_t>(pair.second)];
    const double nearest = a.radius + b.radius + pair.margin, reach = nearest + size_of(a) + size_of(b);
    const bool are_capsules = length(a.half) > 0 && length(b.half) > 0;
    text += "      // " + a.name + " and " + b.name + "\n";
    text += wrapped("{" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ", " +
                        (are_capsules ? "true" : "false") + ", " + std::to_string(pair.edges) + ", " + bound(reach) +
                        bound(nearest) + listed(std::vector<double>{pair.margin, pair.friction, pair.weight}, number) +
                        ", " + softness_of(pair.softness) +
                        (pair.cone.dimensions > 1 && model.elliptic ? cone_of(pair.cone) : "") + "},",
                    "      ");
  }
  return text + "      {}};\n";
}

// The most rows of pairs that a state may have: all, of parallel capsules two contacts, or more than there are unless
// most parts lie within each other.
int count_pair_rows(const RobotModel& model) {
  constexpr int kMost = 64;
  int rows = 0;
  for (const RoundPair& pair : model.pairs) rows += 2 * pair.edges;  // no edges: an elliptic cone
  return std::min(rows, kMost);
}

std::string emit_sizes(const RobotModel& model, const Program& program) {
  const auto limits = limited_joints(model);
  const auto most = [](const std::vector<int>& numbers) { return std::ranges::max(numbers) + 1; };
  const auto places = [&](const char* array) {
    const auto found = program.arrays().find(array);
    return found == program.arrays().end() ? 0 : found->second;
  };
  std::string text = "struct Sizes {\n";
  const auto line = [&](const std::string& type, const std::vector<std::pair<std::string, std::string>>& values) {
    text += wrapped("static constexpr " + type + " " +
                        listed(values, [](const auto& v) { return v.first + " = " + v.second; }) + ";",
                    "  ");
  };
  const auto count = [](auto n) { return std::to_string(n); };
  line("int", {{"nq", count(model.nq)},
               {"nv", count(model.nv)},
               {"nu", count(model.actuators.size())},
               {"nbody", count(model.frames.size())},
               {"ngeom", count(model.geoms.size())},
               {"nsite", count(model.sites.size())}});
  line("double", {{"timestep", number(model.timestep)}});
  line("bool", {{"kRungeKutta", model.runge_kutta ? "true" : "false"},
                {"kImplicitDamping", model.implicit_damping ? "true" : "false"}});
  line("int", {{"kContacts", count(model.elliptic ? 0 : model.contacts.size())},
               {"kEdges", count(program.edges)},
               {"kLimits", count(limits.size())},
               {"kTouchingBodies", count(most(touching_bodies(model)))},
               {"kTouchingFrames", count(most(touching_frames(model)))}});
  line("int", {{"kRounds", count(model.rounds.size())},
               {"kPairs", count(model.pairs.size())},
               {"kPairRows", count(count_pair_rows(model))},
               {"kTrees", count(model.trees)},
               {"kFactor", count(places("factor"))}});
  line("int", {{"kAxis", count(places("axis"))},
               {"kMass", count(places("mass"))},
               {"kForce", count(places("force"))},
               {"kFreeTurn", count(places("free_turn"))},
               {"kDamping", count(places("damping"))}});
  const auto dof = [](const Joint* joint) { return std::to_string(joint->dof); };
  text += wrapped(table("static constexpr int limited[kLimits + 1]", limits, "", dof), "  ");
  text += emit_cone_tables(model);
  return text + emit_points(model) + emit_rounds(model) + emit_pairs(model) + "};\n";
}

}  // namespace

namespace {

// A signature without the names of parameters that the body does not read.
std::string without_unread(const std::string& signature, const std::string& body) {
  const size_t open = signature.find('(');
  std::string result = signature.substr(0, open + 1);
  const std::string code = std::regex_replace(body, std::regex("//[^\n]*"), "");
  std::istringstream parameters(signature.substr(open + 1, signature.size() - open - 2));
  for (std::string parameter; std::getline(parameters, parameter, ',');) {
    const size_t end = parameter.find_last_of(')') == std::string::npos ? parameter.size() : parameter.find(')');
    size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(parameter[begin - 1])) || parameter[begin - 1] == '_'))
      begin -= 1;
    const std::string name = parameter.substr(begin, end - begin);
    if (!std::regex_search(code, std::regex("\\b" + name + "\\b"))) {
      const bool has_space = parameter[begin - 1] == ' ';
      parameter.erase(begin - (has_space ? 1 : 0), name.size() + (has_space ? 1 : 0));
    }
    result += (result.back() == '(' ? "" : ",") + parameter;
  }
  return result + ")";
}

std::string quoted_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "\"";
}

std::string specialised(const RobotModel& model) {
  return "template <>\nstruct CompiledRobot<model_key(" + quoted(model.file) + ")> {\n";
}

// By which a task finds the robot.
std::string emit_compiled(const RobotModel& model) {
  const std::string room = "physics::" + identifier(model.name) + "::";
  std::string text = specialised(model) + "  static constexpr bool is_compiled = true;\n";
  text += "  static constexpr char id[] = " + quoted(model.id) + ";\n";
  std::vector<const char*> parts{"body_names", "geom_names", "site_names", "actuator_names", "joints", "qpos0"};
  if (!model.sensors.empty()) parts.push_back("sensors");
  for (const char* names : parts)
    text += std::string("  static constexpr auto& ") + names + " = " + room + names + ";\n";
  return text + "  template <class F>\n  using Physics = " + room + "Physics<F>;\n};\n\n";
}

}  // namespace

std::string numbers(const std::vector<double>& list) { return listed(list, number); }
std::string softness_of(const Softness& s) {
  return numbers({s.stiffness, s.damping, s.least, s.most, s.width, s.midpoint});
}

FunctionText emit_function(const Program& program, const Function& function) {
  FunctionText result = FunctionEmitter(program.graph(), function).emit();
  std::string text;
  if (!function.comment.empty()) text += wrapped("// " + function.comment, "  ");
  text += wrapped(std::string(function.is_inlined ? "DRL_HD " : "DRL_HD_CALLED ") + "static void " +
                      without_unread(function.signature, result.text) + " {",
                  "  ");
  result.text = text + result.text + "  }\n";
  return result;
}

std::string emit_header(const RobotModel& model, const Program& program) {
  std::string text = "// Physics of " + model.file +
                     " in lanes (drl/physics_support.hpp), written by drl_robot: change the model instead.\n";
  text += "#pragma once\n\n#include \"drl/compiled_robot.hpp\"\n#include \"drl/physics_support.hpp\"\n\n";
  text += "namespace drl {\ninline namespace DRL_ISA {\nnamespace physics::" + identifier(model.name) + " {\n\n";
  text += emit_names(model) + "\n" + emit_sizes(model, program) + "\n";
  text += "template <class F>\nstruct Physics : Sizes {\n  using Number = F;\n";
  for (const char* type : {"State", "Stage", "Seen", "Work"})
    text += std::string("  using ") + type + " = physics::" + type + "<F, Sizes>;\n";
  for (const Function& function : program.functions()) text += "\n" + emit_function(program, function).text;
  text += "};\n\n}  // namespace physics::" + identifier(model.name) + "\n}  // namespace DRL_ISA\n\n";
  text += "// For function objects, whose types are the same in units of all instruction sets.\n";
  text += "struct " + identifier(model.name) + "_robot {\n  template <class F>\n";
  text += "  using Physics = physics::" + identifier(model.name) + "::Physics<F>;\n};\n\n";
  return text + emit_compiled(model) + "}  // namespace drl\n";
}

std::string why_not(const RobotModel& model) {
  const size_t others = model.unsupported.size() - 1;
  return "drl_robot cannot compile " + model.unsupported.front() +
         (others > 0 ? ", and " + std::to_string(others) + " more" : "");
}

std::string emit_why_not(const RobotModel& model) {
  return "// " + model.file + " cannot be compiled; written by drl_robot.\n#pragma once\n\n" +
         "#include \"drl/compiled_robot.hpp\"\n\nnamespace drl {\n\n" + specialised(model) +
         "  static constexpr bool is_compiled = false;\n  static constexpr char why_not[] =\n      " +
         quoted_text(why_not(model)) + ";\n};\n\n}  // namespace drl\n";
}

}  // namespace drl::robot_compiler
