#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "drl/physics/mujoco_version.hpp"
#include "physics/emit.hpp"
#include "physics/emit_text.hpp"
#include "physics/order.hpp"

namespace drl::robot_compiler {
namespace {

// The precedence of a text's last operation.
enum Binding { kSum, kProduct, kSign, kAtom };
struct Text {
  std::string text;
  Binding binding;
};
std::string in(const Text& text, Binding at_least) {
  return text.binding >= at_least ? text.text : "(" + text.text + ")";
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the identifiers of a text of C++, without those in comments. (The recursion of std::regex would overflow the
// stack in long comments.)
std::set<std::string> identifiers_in(const std::string& text) {
  std::set<std::string> result;
  for (auto at = text.begin(); at != text.end();) {
    if (*at == '/' && at + 1 != text.end() && at[1] == '/') {
      at = std::find(at, text.end(), '\n');
    } else if (is_of_word(*at)) {
      const auto end = std::find_if_not(at, text.end(), is_of_word);
      result.emplace(at, end);
      at = end;
    } else {
      ++at;
    }
  }
  return result;
}

// A parameter of a function: its text without its name, split around it, and its name; empty if it has none.
struct Argument {
  std::string before, name, after;
};
std::vector<Argument> parameters_of(const std::string& signature) {
  std::vector<Argument> result;
  const size_t open = signature.find('(');
  std::istringstream parameters(signature.substr(open + 1, signature.size() - open - 2));
  for (std::string text; std::getline(parameters, text, ',');) {
    const size_t end = text.find_last_of(')') == std::string::npos ? text.size() : text.find(')');
    size_t begin = end;
    while (begin > 0 && is_of_word(text[begin - 1])) begin -= 1;
    result.push_back(
        {text.substr(text[0] == ' ', begin - (text[0] == ' ')), text.substr(begin, end - begin), text.substr(end)});
  }
  return result;
}

// A function's text, in the parts that GPUs call one after the other.
struct Parts : FunctionText {
  std::vector<std::string> parts{""};
};

constexpr size_t kHeadedLines = 6;  // a section's comment stands before at least this many of its lines

class FunctionEmitter {
 public:
  // A value that would be only part of another line gets its own line if it reads more than `most_reads` values.
  FunctionEmitter(const Program& program, const Function& function, int most_reads)
      : program_(program),
        graph_(program.graph()),
        function_(function),
        most_reads_(most_reads),
        math_(function.is_wide || program.is_wide ? "math::wide::" : "math::") {
    for (const Function& other : program.functions())
      if (other.group == function.group)
        for (const Statement& statement : other.statements) count_uses(statement.value);
    for (const Statement& statement : function.statements) count_reads(statement.value);
    check_targets();
    for (const Statement& statement : function.statements) add_line(statement);
    by_section_.resize(drafts_.size());
    std::iota(by_section_.begin(), by_section_.end(), 0);
    std::ranges::stable_sort(by_section_, {}, [&](int k) { return drafts_[k].section; });
  }

  // Returns the lines sorted by section, because order_lines() prefers the first of equally good lines.
  std::vector<Line> lines() const {
    std::vector<int> places(drafts_.size());
    for (size_t k = 0; k < places.size(); ++k) places[by_section_[k]] = static_cast<int>(k);
    std::vector<Line> lines;
    for (const int k : by_section_) {
      lines.push_back(drafts_[k].line);
      for (int& read : lines.back().reads) read = places[read];
    }
    return lines;
  }
  // Writes these lines in this order, in parts that begin at `cuts`. A part keeps values that later parts read in an
  // array, and later parts read numbers of memory again.
  Parts emit(const std::vector<int>& order, const std::vector<size_t>& cuts) const {
    const std::vector<Line> lines = this->lines();
    const auto draft = [&](int k) -> const Draft& { return drafts_[by_section_[k]]; };
    std::vector<int> part_of(lines.size()), place(lines.size(), -1);
    for (size_t k = 0, part = 0; k < order.size(); ++k) {
      part += part + 1 < cuts.size() && cuts[part + 1] == k ? 1 : 0;
      part_of[order[k]] = static_cast<int>(part);
    }
    int kept = 0;
    for (const int k : order)
      for (const int read : lines[k].reads)
        if (part_of[read] != part_of[k] && !lines[read].reads.empty() && place[read] < 0) place[read] = kept++;
    std::vector<int> known_in = part_of;  // the last part in which each value has a name

    Parts result{counts_};
    result.operations += function_.operations_of_loops;
    const auto write = [&](const std::string& line) { result.parts.back() += wrapped(line, "    "); };
    const auto write_in_parts = [&](const std::string& line) { write("DRL_IN_PARTS(" + line + ")"); };
    if (kept > 0) write_in_parts("F kept[" + std::to_string(kept) + "];");
    for (const Program::Provision* provision : provisions()) {
      result.operations += provision->operations;
      write(provision->line);
    }
    for (const std::string& line : function_.before) write(line);
    int headed = -1;  // the section of the last comment
    for (size_t k = 0; k < order.size(); ++k) {
      const int here = order[k], section = draft(here).section;
      if (part_of[here] + 1 > static_cast<int>(result.parts.size())) result.parts.emplace_back();
      // A few lines between those of other sections get no comment.
      size_t end = k;
      while (end < order.size() && end < k + kHeadedLines && draft(order[end]).section == section) end += 1;
      if (section != headed && (end == k + kHeadedLines || headed < 0)) {
        headed = section;
        const std::string& comment = function_.sections[section];
        if (!comment.empty()) result.parts.back() += "    " + remark(comment) + "\n";
      }
      for (const int read : lines[here].reads)
        if (std::exchange(known_in[read], part_of[here]) != part_of[here])
          write_in_parts(place[read] < 0 ? draft(read).text
                                         : "const F " + draft(read).name + " = " + at("kept", place[read]) + ";");
      write(draft(here).text);
      if (place[here] >= 0) write_in_parts(at("kept", place[here]) + " = " + draft(here).name + ";");
    }
    for (const std::string& line : function_.after) write(line);
    return result;
  }

 private:
  struct Draft {
    Line line;
    int section;
    std::string text;
    std::string name = {};  // of the value that it makes
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
  // Statements may be written in any order, so no target may be read or set again.
  void check_targets() const {
    std::set<std::string> targets;
    for (const Statement& statement : function_.statements)
      if (!targets.insert(statement.target).second)
        throw std::logic_error(function_.signature + " sets " + statement.target + " twice");
    for (const auto& [k, reads] : reads_)
      if (node(k).op == Op::input && targets.contains(node(k).text))
        throw std::logic_error(function_.signature + " reads " + node(k).text + ", which it sets");
  }
  // Counts the values that the line of each node would read if it had one.
  void count_reads(const Expr& x) {
    if (!x.is_known()) count_reads(x.node());
  }
  void count_reads(int k) {
    if (reads_.contains(k)) return;
    int reads = node(k).op == Op::input ? 1 : 0;
    for (const int of : node(k).of)
      if (of >= 0) {
        count_reads(of);
        reads += has_line(of) ? 1 : reads_.at(of);
      }
    reads_[k] = reads;
  }

  // Returns the provisions of names that the function uses, and those that they use, in their order.
  std::vector<const Program::Provision*> provisions() const {
    std::vector<const Program::Provision*> needed;
    if (program_.provisions().empty()) return needed;
    std::set<std::string> names;
    const auto use = [&](const std::string& text) { names.merge(identifiers_in(text)); };
    for (const auto& [k, reads] : reads_)
      if (node(k).op == Op::input) use(node(k).text);
    for (const auto* lines : {&function_.before, &function_.after})
      for (const std::string& line : *lines) use(line);
    for (const Program::Provision& provision : program_.provisions() | std::views::reverse)
      if (names.contains(provision.name)) needed.insert(needed.begin(), &provision), use(provision.line);
    return needed;
  }

  // Returns whether a node gets its own line: if it is used more than once; and a node that is neither an input nor a
  // product also if it has a name, or would read more than most_reads_ values. A product with its own line is not fused
  // into a sum, which would change bits.
  bool has_line(int k) const {
    const Node& n = node(k);
    if (n.op == Op::constant) return false;
    if (uses_.at(k) > 1) return true;
    return n.op != Op::input && n.op != Op::multiply && (!n.name.empty() || reads_.at(k) > most_reads_);
  }
  // Returns the index of the node's section within this function. A value of an earlier function is computed again, in
  // the first section.
  int section_of(int k) const { return std::max(0, node(k).section - function_.first_section); }

  std::string new_name(const std::string& wanted) {
    std::string name = wanted.empty() ? "t" + std::to_string(++unnamed_) : wanted;
    for (int again = 2; !names_.insert(name).second; ++again) name = wanted + "_" + std::to_string(again);
    return name;
  }

  void add_line(const Statement& statement) {
    Draft draft;
    draft.line = {{}, false};
    draft.section = statement.section - function_.first_section;
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

  // Returns the text that reads a node in the line `reader`. If the node has its own line, `reader` depends on that
  // line.
  Text text(int k, Draft& reader) {
    if (!has_line(k)) return operation(k, reader);
    const auto [place, is_new] = lines_.try_emplace(k, -1);
    if (is_new) {
      Draft draft;
      draft.line = {{}, true};
      draft.section = node(k).op == Op::input ? reader.section : section_of(k);
      const std::string value = operation(k, draft).text, name = new_name(node(k).name);
      draft.text = "const F " + name + " = " + value + ";";
      names_of_[k] = draft.name = name;
      lines_[k] = static_cast<int>(drafts_.size());
      drafts_.push_back(draft);
    }
    // A value is read or computed at the latest in the first section that needs it.
    int& section = drafts_[lines_[k]].section;
    section = std::min(section, reader.section);
    if (std::ranges::find(reader.line.reads, lines_[k]) == reader.line.reads.end())
      reader.line.reads.push_back(lines_[k]);
    return {names_of_[k], kAtom};
  }

  // Returns whether a sum can absorb this product.
  bool fuses(int k) const { return node(k).op == Op::multiply && !has_line(k); }
  std::string fma(int a, int b, const Text& c, Draft& reader, bool is_negative = false) {
    counts_.operations += 1;
    std::string first;
    if (is_negative && node(a).op == Op::constant)
      first = "F(" + number(-node(a).value) + ")";
    else
      first = is_negative ? "-" + in(text(a, reader), kAtom) : text(a, reader).text;
    return math_ + "fma(" + first + ", " + text(b, reader).text + ", " + c.text + ")";
  }

  Text operation(int k, Draft& reader) {
    const Node& n = node(k);
    const auto& of = n.of;
    const auto call = [&](const char* name, auto... operands) {
      std::string list;
      ((list += (list.empty() ? "" : ", ") + text(operands, reader).text), ...);
      return Text{math_ + name + "(" + list + ")", kAtom};
    };
    if (n.op == Op::constant) return {"F(" + number(n.value) + ")", kAtom};
    if (n.op == Op::input) return {n.text, kAtom};
    if (n.op == Op::sin || n.op == Op::cos) {
      counts_.trigonometric += 1;
      return call(n.op == Op::sin ? "sin" : "cos", of[0]);
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
      case Op::touching:
        counts_.operations += 20 * 60;
        return {(mujoco::kInsideWrapsAreExact ? "touching_angle(" : "touching_sine(") + text(of[0], reader).text +
                    ", " + text(of[1], reader).text + ", " + text(of[2], reader).text + ")",
                kAtom};
      case Op::sqrt:
        return call("sqrt", of[0]);
      case Op::min:
        return call("min", of[0], of[1]);
      case Op::max:
        return call("max", of[0], of[1]);
      default:
        return {math_ + "select(" + text(of[0], reader).text + " < " + text(of[1], reader).text + ", " +
                    text(of[2], reader).text + ", " + text(of[3], reader).text + ")",
                kAtom};
    }
  }

  const Program& program_;
  const Graph& graph_;
  const Function& function_;
  const int most_reads_;
  const std::string math_;                   // namespace of elementary functions
  std::map<int, int> uses_, reads_, lines_;  // by node
  std::map<int, std::string> names_of_;
  std::set<std::string> names_{"kept"};  // of values, and of the array in emit()
  int unnamed_ = 0;
  std::vector<Draft> drafts_;
  std::vector<int> by_section_;
  FunctionText counts_;
};

// Functions in which more values than this are live are cut into parts for GPUs, whose compiler would store them more
// often than necessary. Below it, the compiler stores fewer values than the parts would.
constexpr int kMostLive = kGpuRegisters * 7 / 4;

// Writes a function in lines that are as long as possible. If more values than a GPU has registers would then be live,
// lines are split, because a long line keeps all values that it reads live until the last of them is known.
Parts emit_lines(const Program& program, const Function& function) {
  Parts best;
  int fewest = std::numeric_limits<int>::max();
  for (const int most_reads : {std::numeric_limits<int>::max(), 5, 2}) {
    const FunctionEmitter emitter(program, function, most_reads);
    const std::vector<Line> lines = emitter.lines();
    const std::vector<int> order = order_lines(lines);
    const int live = max_live_values(lines, order);
    const bool is_cut = live > kMostLive && function.before.empty() && function.after.empty();
    if (live < fewest)
      fewest = live,
      best = emitter.emit(order, is_cut ? cut_order(lines, order, kGpuRegisters) : std::vector<size_t>{0});
    if (live <= kGpuRegisters) break;
  }
  return best;
}

// Returns the signature without the names of parameters that the body does not use.
std::string without_unused_names(const std::string& name, const std::vector<Argument>& parameters,
                                 const std::string& body) {
  const std::set<std::string> used = identifiers_in(body);
  std::string list;
  for (const auto& [before, parameter, after] : parameters) {
    const bool is_used = used.contains(parameter), has_space = before.ends_with(' ');
    list += (list.empty() ? "" : ", ") + (is_used ? before + parameter : before.substr(0, before.size() - has_space)) +
            after;
  }
  return name + "(" + list + ")";
}

}  // namespace

FunctionText emit_function(const Program& program, const Function& function) {
  Parts result = emit_lines(program, function);
  const std::string head = std::string(function.is_inlined ? "DRL_HD " : "DRL_HD_CALLED ") + "static void ";
  const std::string name = function.signature.substr(0, function.signature.find('('));
  std::vector<Argument> parameters = parameters_of(function.signature);
  std::string all;
  for (const std::string& part : result.parts) all += part;
  if (!function.comment.empty()) result.text += "  " + remark(function.comment) + "\n";
  result.text += wrapped(head + without_unused_names(name, parameters, all) + " {", "  ");
  // Later parts get the parameters that any part uses, and the values that earlier ones keep.
  const std::set<std::string> used = identifiers_in(all);
  std::erase_if(parameters, [&](const Argument& parameter) { return !used.contains(parameter.name); });
  parameters.push_back({"F* ", "kept", ""});
  std::string arguments;
  for (const Argument& parameter : parameters) arguments += (arguments.empty() ? "" : ", ") + parameter.name;
  for (size_t k = 0; k < result.parts.size(); ++k) {
    result.text += result.parts[k];
    if (k + 1 == result.parts.size()) break;
    const std::string next = name + "_" + std::to_string(k + 2);
    const bool is_last = k + 2 == result.parts.size();
    result.text +=
        wrapped("DRL_IN_PARTS(" + next + "(" + arguments + "); } " + head +
                    without_unused_names(next, parameters, result.parts[k + 1] + (is_last ? "" : arguments)) + " {)",
                "    ");
  }
  result.text += "  }\n";
  return result;
}

}  // namespace drl::robot_compiler
