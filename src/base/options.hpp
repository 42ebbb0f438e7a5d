// Options: plain structs with defaults, each option with a description beside it. One table, made of these
// descriptions, gives the command line, the help, the config file (read and written), validation and the record of a
// run.
//
//   struct PpoOptions {
//     double gamma = 0.99;
//     std::string schedule = "adaptive";
//     void describe(OptionVisitor& v) {
//       v("gamma", gamma, "discount of future rewards", between(0, 1));
//       v("schedule", schedule, "how the learning rate goes on", one_of({"adaptive", "fixed", "linear"}));
//     }
//   };
//   PpoOptions ppo;
//   OptionTable table;
//   table.section("ppo", "PPO", ppo);            // the option is now called ppo.gamma: --ppo.gamma, or gamma in [ppo]
//   table.apply_ini(text, "my.ini");
//   table.apply_command_line({"--ppo.gamma", "0.98"});
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/option.hpp"

namespace drl {

class OptionTable;

// What describe() of an options struct is called with. T: bool, int, int64_t, double, std::string, std::vector<int>
// (written 1,2,3 or "1 2 3"; none is the empty list), std::vector<std::string> (a:b; each time that the option is given
// adds some) or std::optional<double> (none is "not set").
class OptionVisitor {
 public:
  // Attributes: Range, Choices, Unit, Effect, Where, hidden, letter, later, in any order. The default must be valid.
  template <class T, class... Attributes>
  void operator()(std::string_view name, T& value, std::string_view help, const Attributes&... attributes) {
    constexpr bool is_number =
        !std::is_same_v<T, bool> && !std::is_same_v<T, std::string> && !std::is_same_v<T, std::vector<std::string>>;
    constexpr bool has_range = (std::is_same_v<Attributes, Range> || ...);
    static_assert(is_number == has_range, "numbers need a range (any_number() if need be), and nothing else has one");
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
  OptionVisitor(OptionTable& table, std::string_view section, std::string_view heading)
      : table_(table), section_(section), heading_(heading) {}
  std::string full_name(std::string_view name) const;
  void add(Option option);

  OptionTable& table_;
  std::string section_, heading_;
};

// A value given to an option: name as in Option, value as written; "true" where none was.
struct NamedValue {
  std::string name, value;
  bool has_value = true;
};

// Options by name. Refers to the structs, which stay the caller's and must outlive the table and not move.
// All errors in what the user gave are UsageErrors of one line. Later values win over earlier ones, so the order of the
// calls is the precedence: preset, config file, command line. In names, - and _ are the same.
class OptionTable {
 public:
  // Adds the options of `options.describe(OptionVisitor&)`. `section` is the section of the config file and the first
  // part of the name ("" for neither); `heading` groups them in the help. Sections may be added in any order, and
  // several headings may share a section.
  template <class T>
  void section(std::string_view section, std::string_view heading, T& options) {
    std::erase(awaited_, section);
    OptionVisitor visitor(*this, section, heading);
    options.describe(visitor);
  }

  // From now on, until section() adds it, this section is not known: names in it are taken as they come, and set
  // nothing. Forgets its options and those of sections within it ("env.reward" in "env"), whose structs may go.
  void await(std::string_view section);

  // Sets one option from text. Throws UsageError for an unknown name, a value that is not of the type, out of range or
  // not one of the choices; the option then keeps its value.
  void set(std::string_view name, std::string_view value);

  // Sets options from the text of a config file (ini.hpp). Before the first section, full names are keys. Errors begin
  // with "<file>:<line>: ".
  void apply_ini(std::string_view text, const std::string& file);

  // The same for what a run wrote (to_ini), maybe an earlier version's: options that came later get the value that they
  // had then.
  void apply_run(std::string_view text, const std::string& file);

  // What such a text says to no effect (Where::never_in_files): "<file>:<line>: <name>" of each that has a value.
  std::vector<std::string> without_effect(std::string_view text, const std::string& file) const;

  // What a command line (without the program's name) says, values not yet looked at: --name value, --name=value, and
  // switches --name, --name=false. Throws UsageError for unknown names, missing values and stray arguments.
  std::vector<NamedValue> parse_command_line(const std::vector<std::string>& arguments) const;

  // Sets them in this order: when repeated, the last one wins, but for lists of names, which grow.
  void apply(const std::vector<NamedValue>& values);

  // Both of the above.
  void apply_command_line(const std::vector<std::string>& arguments) { apply(parse_command_line(arguments)); }

  // Takes what is neither an option nor the value of one out of a command line, such as the files that it names.
  std::vector<std::string> take_arguments(std::vector<std::string>& words) const;

  // A text that apply_ini accepts unchanged and that gives back exactly these values (numbers in their shortest exact
  // form), without options that belong to the command line only and hidden ones.
  std::string to_ini() const;

  // All options but hidden ones by heading, with the values they have now, units and ranges, in lines of at most
  // `width` columns (unless a name or word is longer).
  std::string help(size_t width = 100) const;

  // The option of that name. Throws UsageError with the nearest known name.
  const Option& find(std::string_view name) const;

  // In the order in which they were added.
  const std::vector<Option>& items() const { return options_; }

 private:
  friend class OptionVisitor;
  bool is_awaited(std::string_view name) const;

  std::vector<Option> options_;
  std::vector<std::string> awaited_;  // sections
};

// An option in which two runs differ. `value` and `other` as Option::value(), "(none)" where one does not know it.
struct OptionDifference {
  std::string name, value, other;
  Effect effect;
};

// Where the table's values differ from those of a config text (a run's options.ini, as to_ini writes it; errors name
// `file`). An option that the text lacks counts as what it was before it came, or its default; one that the table does
// not know counts as a difference of effect `numbers`. Not compared are options that to_ini does not write, and those
// whose switch is off in both.
std::vector<OptionDifference> differences(const OptionTable& table, std::string_view ini_text, const std::string& file);

}  // namespace drl
