// One option: its description and a pointer to its value. The options of a program: options.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "drl/task/range.hpp"

namespace drl {

// --- Attributes, given after an option's help in any order -----------------------------------------------------------

// An option with effect `numbers` (the default) changes the results of a run (learning rate, seed). A resumed run must
// have the same value, unless the user changes it explicitly with --resume or --load_run. An option with effect `none`
// (targets, intervals, reports, device) may have another value whenever the run is resumed.
enum class Effect { numbers, none };

// The places where an option may be given. anywhere (the default): on the command line and in config files.
// command_line: on the command line only (--config, --resume, --help). never_in_files: likewise, but a config file that
// contains it is accepted and its value ignored; this is for commands that drl executes, which must not come from a
// file that another user wrote.
enum class Where { anywhere, command_line, never_in_files };

// The only values that a string may take.
struct Choices {
  std::vector<std::string> values;
};
inline Choices one_of(std::vector<std::string> values) { return {std::move(values)}; }

// A hidden option is accepted, but neither the help nor to_ini shows it.
struct Hidden {};
inline constexpr Hidden hidden{};

// --help shows only common options; --help all shows all.
struct Common {};
inline constexpr Common common{};

// The text is a path, or a list of paths: typed_path() reads it.
struct AsPath {};
inline constexpr AsPath as_path{};

// A short name on the command line: letter('h') makes -h the same as --help.
struct Letter {
  char value;
};
inline Letter letter(char value) { return {value}; }

// Each rank may have its own value of the option, such as the number of its GPU. `common` returns the part of the value
// that must be the same on all ranks, or "".
struct PerRank {
  std::string (*common)(const std::string& value);
};
inline PerRank per_rank(std::string (*common)(const std::string&) = [](const std::string&) { return std::string(); }) {
  return {common};
}

// An option that runs of earlier versions did not record. `old_value` is the value, as text, that they used.
struct AddedLater {
  std::string old_value;
};
inline AddedLater added_later(std::string old_value) { return {std::move(old_value)}; }

// The option decides what networks compute, so a checkpoint of a run that had another value does not fit.
struct ShapesPolicy {
  std::string part{};         // it matters only to checkpoints with state whose names contain this, such as "rnd/"
  bool keeps_arrays = false;  // arrays have the same shapes with other values, but another meaning
  std::vector<std::string> synonyms{};  // values with the same meaning
};
inline ShapesPolicy shapes_policy(std::string part = "") { return {.part = std::move(part)}; }
inline ShapesPolicy changes_policy(std::string part = "", std::vector<std::string> synonyms = {}) {
  return {.part = std::move(part), .keeps_arrays = true, .synonyms = std::move(synonyms)};
}

// Each option declares when it has an effect: always, or only while conditions hold (drl/task/range.hpp).
struct Always {};
inline constexpr Always always{};

// A list has this many numbers (or is none). Those of a range do not decrease; one number is both of its ends.
struct ListLength {
  int numbers = 0;
  bool is_range = false;
};

// A condition on another option under which an option has an effect. ParamCondition is the same for parameters of
// tasks, whose texts are literals.
struct Condition {
  std::string other, value;
  Relation relation = Relation::equals;

  Condition(std::string name, std::string values, Relation r)
      : other(std::move(name)), value(std::move(values)), relation(r) {}
  Condition(const ParamCondition& c) : Condition(c.other, c.value, c.relation) {}
  bool operator==(const Condition&) const = default;
};
inline Condition only_with(std::string other, std::string value) {
  return {std::move(other), std::move(value), Relation::equals};
}
inline Condition not_with(std::string other, std::string value) {
  return {std::move(other), std::move(value), Relation::differs};
}

// --- The option ------------------------------------------------------------------------------------------------------

using OptionTarget = std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<int>*, std::vector<double>*,
                                  std::vector<std::string>*, std::optional<double>*>;

struct Option {
  std::string name;     // full name, "ppo.gamma"
  std::string section;  // "ppo"
  std::string heading;  // "PPO"
  std::string help;
  OptionTarget target;
  std::string default_text;  // the value at registration
  Range range{};
  ListLength length{};  // 0 numbers: any
  std::vector<std::string> choices{};
  std::string unit{};
  Effect effect = Effect::numbers;
  Where where = Where::anywhere;
  bool hidden = false;
  bool is_common = false;
  bool is_path = false;
  char letter = 0;
  std::string (*common)(const std::string& value) = nullptr;  // see PerRank; null if all ranks must have the same value
  std::string old_value{};  // its value in runs made before it was added; "" for the default
  std::optional<ShapesPolicy> shapes{};
  bool changes_env_state = false;
  std::vector<Condition> conditions{};
  bool declares_effect = false;  // has the attribute `always` or a condition, besides those of its section

  // Returns the value as text that the option accepts. Two values are equal if and only if their texts are.
  std::string value() const;
  // Returns what value() would be after assign(text). Throws UsageError as assign() does.
  std::string normalised(std::string_view text) const;
  // Sets the value from text. Throws UsageError, and keeps the value, if the text is not of the option's type, out of
  // range or not one of the choices.
  void assign(std::string_view text) const;
  // Returns the value of the option in a run that did not record it.
  const std::string& value_if_absent() const { return old_value.empty() ? default_text : old_value; }
  bool is_switch() const { return std::holds_alternative<bool*>(target); }
  std::string limits() const;  // "s, 0 to 1" or "adaptive, fixed, linear" or ""

  void add(const Range& r) { range = r; }
  void add(const ListLength& l) { length = l; }
  void add(const Choices& c) { choices = c.values; }
  void add(const Unit& u) { unit = u.text; }
  void add(Effect e) { effect = e; }
  void add(Where w) { where = w; }
  void add(Hidden) { hidden = true; }
  void add(Common) { is_common = true; }
  void add(AsPath) { is_path = true; }
  void add(Letter l) { letter = l.value; }
  void add(PerRank p) { common = p.common; }
  void add(const AddedLater& l) { old_value = l.old_value; }
  void add(const ShapesPolicy& s) { shapes = s; }
  void add(ChangesEnvState c) { changes_env_state = c.value; }
  void add(Always) { declares_effect = true; }
  void add(const Condition& c) { conditions.push_back(c), declares_effect = true; }
  void add(const std::vector<Condition>& all) {
    for (const Condition& c : all) add(c);
  }
};

}  // namespace drl
