// One option: a description, and where its value lives. Options of a program: options.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "drl/range.hpp"

namespace drl {

// --- What stands behind an option's help, in any order ---------------------------------------------------------------

// Does the option change the numbers of a run (learning rate, seed), or only targets, cadence and reporting? A resumed
// run must agree in the former. Default: numbers.
enum class Effect { numbers, none };

// May the option stand in a config file (default), or does it belong to one command only (--config, --resume, --help)?
// never_in_files: as that, but files that hold it are read, and it has no effect there. For what is executed: whose
// file it is does not matter then.
enum class Where { anywhere, command_line, never_in_files };

// The only values that a string may take.
struct Choices {
  std::vector<std::string> values;
};
inline Choices one_of(std::vector<std::string> values) { return {std::move(values)}; }

// Accepted, but not in the help nor in to_ini.
struct Hidden {};
inline constexpr Hidden hidden{};

// A short name on the command line: letter('h') makes -h the same as --help.
struct Letter {
  char value;
};
inline Letter letter(char value) { return {value}; }

// An option that runs of earlier versions do not name: the value that they had, as text, and the switch in the same
// section without which it changes nothing.
struct Later {
  std::string before, only_with;
};
inline Later later(std::string before, std::string only_with) { return {std::move(before), std::move(only_with)}; }

// --- The option ------------------------------------------------------------------------------------------------------

using OptionTarget = std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<int>*,
                                  std::vector<std::string>*, std::optional<double>*>;

struct Option {
  std::string name;     // full name, "ppo.gamma"
  std::string section;  // "ppo"
  std::string heading;  // "PPO"
  std::string help;
  OptionTarget target;
  std::string default_text;  // the value that the struct was registered with
  Range range{};
  std::vector<std::string> choices{};
  std::string unit{};
  Effect effect = Effect::numbers;
  Where where = Where::anywhere;
  bool hidden = false;
  char letter = 0;
  std::string before{};     // its value in a run that does not name it, "" for the default
  std::string only_with{};  // full name of a switch without which it changes nothing, or ""

  // The value as text that the option accepts; equal values have equal texts, different ones different texts.
  std::string value() const;
  // What value() would be after setting it to `text`. Throws UsageError as assign() does.
  std::string normalised(std::string_view text) const;
  // Sets the value from text. Throws UsageError for what is not of its type, out of range or not one of the choices: it
  // keeps its value then.
  void assign(std::string_view text) const;
  // What it is in a run that does not name it.
  const std::string& unnamed() const { return before.empty() ? default_text : before; }
  bool is_switch() const { return std::holds_alternative<bool*>(target); }
  std::string limits() const;  // "s, 0 to 1" or "adaptive, fixed, linear" or ""

  void add(const Range& r) { range = r; }
  void add(const Choices& c) { choices = c.values; }
  void add(const Unit& u) { unit = u.text; }
  void add(Effect e) { effect = e; }
  void add(Where w) { where = w; }
  void add(Hidden) { hidden = true; }
  void add(Letter l) { letter = l.value; }
  void add(const Later& l) { before = l.before, only_with = l.only_with; }
};

}  // namespace drl
