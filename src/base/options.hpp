// Options are plain structs with defaults and a describe() function. One table, built from these descriptions, parses
// the command line, prints the help, reads and writes config files, validates values and records the options of a run.
//
//   struct PpoOptions {
//     double gamma = 0.99;
//     std::string schedule = "adaptive";
//     void describe(OptionVisitor& v) {
//       v("gamma", gamma, "discount of future rewards", between(0, 1));
//       v("schedule", schedule, "how the learning rate changes", one_of({"adaptive", "fixed", "linear"}));
//     }
//   };
//   PpoOptions ppo;
//   OptionTable table;
//   table.section("ppo", "PPO", ppo);            // the option is now called ppo.gamma: --ppo.gamma, or gamma in [ppo]
//   table.apply_ini(text, "my.ini");
//   table.apply_command_line({"--ppo.gamma", "0.98"});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/option.hpp"

namespace drl {

class OptionTable;

// The argument of an options struct's describe(). T is bool, int, int64_t, double, std::string, std::vector<int> or
// std::vector<double> (written 1,2,3 or "1 2 3"; none is the empty list), std::vector<std::string> (written a:b; each
// further occurrence on the command line appends) or std::optional<double> (none means "not set").
class OptionVisitor {
 public:
  // Attributes: Range, ListLength, Choices, Unit, Effect, Where, as_path, hidden, common, letter, per_rank,
  // added_later, shapes_policy, changes_policy, changes_env_state, always, only_with, not_with, below_option,
  // at_most_option, in any order. The default must be valid.
  template <class T, class... Attributes>
  void operator()(std::string_view name, T& value, std::string_view help, const Attributes&... attributes) {
    constexpr bool is_number =
        !std::is_same_v<T, bool> && !std::is_same_v<T, std::string> && !std::is_same_v<T, std::vector<std::string>>;
    constexpr bool has_range = (std::is_same_v<Attributes, Range> || ...);
    static_assert(is_number == has_range, "a number needs a range, such as any_number(); other types must have none");
    Option option{.name = full_name(name),
                  .section = section_,
                  .heading = heading_,
                  .help = std::string(help),
                  .target = &value,
                  .default_text = {}};
    (option.add(attributes), ...);
    add(std::move(option));
  }

 private:
  friend class OptionTable;
  OptionVisitor(OptionTable& table, std::string_view section, std::string_view heading,
                std::vector<Condition> conditions)
      : table_(table), section_(section), heading_(heading), conditions_(std::move(conditions)) {}
  std::string full_name(std::string_view name) const;
  void add(Option option);

  OptionTable& table_;
  std::string section_, heading_;
  std::vector<Condition> conditions_;  // of all options
};

// A value given to an option: the name as in Option, the value as written, or "true" if none was written.
struct NamedValue {
  std::string name, value;
  bool has_value = true;
};

// A fact that decides, like the value of an option, whether options have an effect: {"job", "no", "this is not a Slurm
// job"}.
struct Circumstance {
  std::string name, value, text;
};

// A table of options by name. It refers to the caller's structs, which must outlive the table and must not move.
// All errors in user input are UsageErrors of one line. Later values replace earlier ones, so the order of the calls is
// the precedence: preset, config file, command line. In names, - and _ are equivalent.
class OptionTable {
 public:
  // Adds the options that `options.describe(OptionVisitor&)` declares. `section` is the section of the config file and
  // the first part of each name ("" for neither); `heading` groups the options in the help. Sections may be added in
  // any order, and several headings may share a section. The `conditions` apply to all of these options.
  template <class T>
  void section(std::string_view section, std::string_view heading, T& options, std::vector<Condition> conditions = {}) {
    std::erase(deferred_sections_, section);
    OptionVisitor visitor(*this, section, heading, std::move(conditions));
    options.describe(visitor);
    find_others();
  }

  // Removes the section and its subsections ("env.reward" in "env"), whose structs may then be destroyed. Until
  // section() adds it again, any name in this section is accepted and has no effect.
  void defer_section(std::string_view section);

  // Sets one option from text. Throws UsageError, and keeps the value, if the name is unknown or the text is not of the
  // option's type, out of range or not one of the choices.
  void set(std::string_view name, std::string_view value);

  // Sets options from the text of a config file (ini.hpp). Keys before the first section are full names. Error messages
  // begin with "<file>:<line>: ".
  void apply_ini(std::string_view text, const std::string& file);

  // Does the same with the options that a run recorded (to_ini). Options that were added after the run was made get
  // their old value (AddedLater).
  void apply_run(std::string_view text, const std::string& file);

  // Returns the options in a config text that the table has, with their values.
  std::vector<NamedValue> options_in(std::string_view text, const std::string& file) const;

  // Returns the value that a config text gives to the option `name`, or nullopt.
  std::optional<std::string> value_in(std::string_view text, const std::string& file, std::string_view name) const;

  // Lists the options in a config text that have a value but are ignored (Where::never_in_files), each as
  // "<file>:<line>: <name>".
  std::vector<std::string> ignored_options(std::string_view text, const std::string& file) const;

  // Parses a command line (without the program's name): --name value, --name=value, and switches --name, --name=false.
  // Does not check the values yet. Throws UsageError for unknown names, missing values and stray arguments.
  std::vector<NamedValue> parse_command_line(const std::vector<std::string>& arguments) const;

  // Sets the values in order. If an option is repeated, the last value wins, except that lists of names are appended.
  void apply(const std::vector<NamedValue>& values);

  // Parses and applies a command line.
  void apply_command_line(const std::vector<std::string>& arguments) { apply(parse_command_line(arguments)); }

  // Returns the options of an applied command line, each once and with its value, sorted by name. Their values are
  // equal if and only if the command lines mean the same, in whatever order and spelling; only the values of a deferred
  // section are returned as written. An option that each rank may set (PerRank) has its common part as the value, and
  // is left out if that is empty.
  std::vector<NamedValue> given_options(const std::vector<NamedValue>& command_line) const;

  // Returns one sentence, with the reason and what to do, for each reason why options in `given` have no effect: one of
  // their conditions does not hold for the table's values and these circumstances.
  std::vector<std::string> without_effect(const std::vector<NamedValue>& given,
                                          const std::vector<Circumstance>& circumstances) const;

  // Throws UsageError, with both values, if an option in `given` is beyond the limit that another option sets.
  void require_limits(const std::vector<NamedValue>& given) const;

  // Removes the positional arguments, which must be paths, from a command line and returns them.
  std::vector<std::string> take_arguments(std::vector<std::string>& words) const;

  // Returns a config text from which apply_ini restores exactly these values (numbers in their shortest exact form).
  // It omits hidden options and options for the command line only.
  std::string to_ini() const;

  // Returns the help: all options except hidden ones, by heading, with current values, units and ranges, in lines of at
  // most `width` columns (unless a name or word is longer). 0: the terminal's width, or 80. With `shows`, only the
  // options for which it returns true.
  std::string help(size_t width = 0, const std::function<bool(const Option&)>& shows = {}) const;

  // Returns the option of this name. Throws UsageError, which suggests the most similar name, if there is none.
  const Option& find(std::string_view name) const;

  // Returns the options in the order in which they were added.
  const std::vector<Option>& items() const { return options_; }

 private:
  friend class OptionVisitor;
  bool is_deferred(std::string_view name) const;
  // Gives the conditions on options of the same section their full names.
  void find_others();

  std::vector<Option> options_;
  std::vector<std::string> deferred_sections_;
};

// An option in which two runs differ. `value` and `other` are as Option::value() returns them, or "(none)" if the
// option does not exist on that side.
struct OptionDifference {
  std::string name, value, other;
  Effect effect;
  std::optional<ShapesPolicy> shapes{};
  bool changes_env_state = false;
};

// Returns the differences between the table's values and those of a config text (a run's options.ini, as to_ini writes
// it; error messages begin with `file`). For an option that is missing in the text, its old value (AddedLater) or
// its default is compared. An option that the table does not know is a difference of effect `numbers`. Options that
// to_ini does not write, and options that have no effect on either side, are not compared.
std::vector<OptionDifference> differences(const OptionTable& table, std::string_view ini_text, const std::string& file);

}  // namespace drl
