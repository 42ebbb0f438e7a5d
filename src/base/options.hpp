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

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace drl {

// --- What stands behind an option's help, in any order ---------------------------------------------------------------

// Does the option change the numbers of a run (learning rate, seed), or only targets, cadence and reporting? A resumed
// run must agree in the former. Default: numbers.
enum class Effect { numbers, none };

// May the option stand in a config file (default), or does it belong to one command only (--config, --resume, --help)?
// never_in_files: as that, but files that hold it are read, and it has no effect there. For what is executed: whose
// file it is does not matter then.
enum class Where { anywhere, command_line, never_in_files };

// Values that a number (or each element of a list) may take; NaN and infinity never. Every number needs a Range.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_out = false;   // low itself is not allowed
  bool high_is_out = false;  // high itself is not allowed

  bool contains(double value) const;
  std::string text() const;  // "0 to 1", "at least 1", "above 0, at most 1"; "" for any_number
};
inline Range at_least(double low) { return {.low = low}; }
inline Range at_most(double high) { return {.high = high}; }
inline Range above(double low) { return {.low = low, .low_is_out = true}; }
inline Range below(double high) { return {.high = high, .high_is_out = true}; }
inline Range between(double low, double high) { return {.low = low, .high = high}; }
inline Range any_number() { return {}; }
// Both at once: above(0) && at_most(1). The left one gives the lower end, the right one the upper.
inline Range operator&&(const Range& low, const Range& high) {
  return {low.low, high.high, low.low_is_out, high.high_is_out};
}

// The only values that a string may take.
struct Choices {
  std::vector<std::string> values;
};
inline Choices one_of(std::vector<std::string> values) { return {std::move(values)}; }

// The unit of a number, shown in the help: unit("s").
struct Unit {
  std::string text;
};
inline Unit unit(std::string text) { return {std::move(text)}; }

// Accepted, but not in the help nor in to_ini.
struct Hidden {};
inline constexpr Hidden hidden{};

// A short name on the command line: letter('h') makes -h the same as --help.
struct Letter {
  char value;
};
inline Letter letter(char value) { return {value}; }

// --- The table -------------------------------------------------------------------------------------------------------

using OptionTarget =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<int>*, std::optional<double>*>;

// One option: its description and where its value lives.
struct Option {
  std::string name;     // full name, "ppo.gamma"
  std::string section;  // "ppo"
  std::string heading;  // "PPO"
  std::string help;
  OptionTarget target;
  std::string default_text;  // the value that the struct was registered with
  std::string origin = "default";
  Range range{};
  std::vector<std::string> choices{};
  std::string unit{};
  Effect effect = Effect::numbers;
  Where where = Where::anywhere;
  bool hidden = false;
  char letter = 0;

  // The value as text that the option accepts; equal values have equal texts, different ones different texts.
  std::string value() const;
  // What value() would be after setting it to `text`. Throws UsageError as OptionTable::set does.
  std::string normalised(std::string_view text) const;
  bool is_switch() const { return std::holds_alternative<bool*>(target); }
  std::string limits() const;  // "s, 0 to 1" or "adaptive, fixed, linear" or ""

  void add(const Range& r) { range = r; }
  void add(const Choices& c) { choices = c.values; }
  void add(const Unit& u) { unit = u.text; }
  void add(Effect e) { effect = e; }
  void add(Where w) { where = w; }
  void add(Hidden) { hidden = true; }
  void add(Letter l) { letter = l.value; }
};

class OptionTable;

// What describe() of an options struct is called with. T: bool, int, int64_t, double, std::string, std::vector<int>
// (written 1,2,3 or "1 2 3"; none is the empty list) or std::optional<double> (none is "not set").
class OptionVisitor {
 public:
  // Attributes: Range, Choices, Unit, Effect, Where, hidden, letter, in any order. The default must be valid.
  template <class T, class... Attributes>
  void operator()(std::string_view name, T& value, std::string_view help, const Attributes&... attributes) {
    constexpr bool is_number = !std::is_same_v<T, bool> && !std::is_same_v<T, std::string>;
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

// A value given to an option: name as in Option, value as written.
struct NamedValue {
  std::string name, value;
};

// The last value given to `name`, nullopt when there is none: what is --config on this command line?
std::optional<std::string> find_value(const std::vector<NamedValue>& values, std::string_view name);

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
    OptionVisitor visitor(*this, section, heading);
    options.describe(visitor);
  }

  // Sets one option from text. `origin` says where from ("command line"). Throws UsageError for an unknown name, a
  // value that is not of the type, out of range or not one of the choices; the option then keeps its value.
  void set(std::string_view name, std::string_view value, std::string_view origin);

  // Sets options from the text of a config file; the origin is "<file>:<line>". Lines: [section], key = value, comments
  // after # or ; (at the start of the line or after white space), text in "double quotes" where it needs them (\" \\ \n
  // \t inside). Before the first section, full names are keys. Errors begin with "<file>:<line>: ".
  void apply_ini(std::string_view text, const std::string& file);

  // What such a text says to no effect (Where::never_in_files): "<file>:<line>: <name>" of each that has a value.
  std::vector<std::string> without_effect(std::string_view text, const std::string& file) const;

  // What a command line (without the program's name) says, values not yet looked at: --name value, --name=value, and
  // switches --name, --name=false. Throws UsageError for unknown names, missing values and stray arguments. Changes
  // nothing: --task and --config can be looked up before the rest is applied. When repeated, the last one wins.
  std::vector<NamedValue> parse_command_line(const std::vector<std::string>& arguments) const;

  // Sets them in this order, with `origin`.
  void apply(const std::vector<NamedValue>& values, std::string_view origin = "command line");

  // Both of the above.
  void apply_command_line(const std::vector<std::string>& arguments) { apply(parse_command_line(arguments)); }

  // A text that apply_ini accepts unchanged and that gives back exactly these values (numbers in their shortest exact
  // form), without options that belong to the command line only and hidden ones.
  std::string to_ini() const;

  // All options but hidden ones by heading, with the values they have now, units and ranges, in lines of at most
  // `width` columns (unless a name or word is longer).
  std::string help(size_t width = 100) const;

  // Where the value came from: "default" or the `origin` of the last setting. Throws UsageError for an unknown name.
  const std::string& origin(std::string_view name) const { return find(name).origin; }
  bool is_set(std::string_view name) const { return origin(name) != "default"; }

  // The option of that name. Throws UsageError with the nearest known name.
  const Option& find(std::string_view name) const;

  // In the order in which they were added.
  const std::vector<Option>& items() const { return options_; }

 private:
  friend class OptionVisitor;
  std::vector<Option> options_;
};

// An option in which two runs differ. `value` and `other` as Option::value(), "(none)" where one does not know it.
struct OptionDifference {
  std::string name, value, other;
  Effect effect;
};

// Where the table's values differ from those of a config text (a run's options.ini, as to_ini writes it; errors name
// `file`). An option that the text lacks counts as its default; one that the table does not know counts as a difference
// of effect `numbers`. Options that to_ini does not write are not compared.
std::vector<OptionDifference> differences(const OptionTable& table, std::string_view ini_text, const std::string& file);

}  // namespace drl
