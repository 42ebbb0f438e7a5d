#include "base/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>

#include "base/check.hpp"
#include "base/ini.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

// --- Values as text --------------------------------------------------------------------------------------------------

template <class Number>
std::string number_text(Number value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};  // the shortest that reads back exactly
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return number_text(value); }
std::string text_of(int64_t value) { return number_text(value); }
std::string text_of(double value) { return number_text(value); }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const std::optional<double>& value) { return value ? text_of(*value) : "none"; }
std::string text_of(const std::vector<int>& values) {
  std::vector<std::string> texts;
  for (int value : values) texts.push_back(text_of(value));
  return values.empty() ? "none" : join(texts, ",");
}

std::string shown(std::string_view text) { return text.empty() ? "\"\"" : printable(text); }

std::string canonical(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

// --- Text to values: for one option, the whole of its text or one element of a list ----------------------------------

class Reader {
 public:
  Reader(const Option& option, std::string_view text) : option_(option), text_(text) {}

  void read(bool& value) const {
    const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
      return std::find(words.begin(), words.end(), trim(text_)) != words.end();
    };
    value = is_one_of({"true", "True", "yes", "on", "1"});
    if (!value && !is_one_of({"false", "False", "no", "off", "0"})) {
      refuse(text_, "is neither true nor false", "a switch", "give true or false");
    }
  }
  void read(int& value) const { read_number(text_, value); }
  void read(int64_t& value) const { read_number(text_, value); }
  void read(double& value) const { read_number(text_, value); }
  void read(std::string& value) const {
    const std::vector<std::string>& choices = option_.choices;
    value = text_;
    if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    const std::string near = nearest(value, choices);
    refuse(text_, "is not a choice", join(choices, ", "),
           near.empty() ? "give one of these" : "did you mean " + near + "?");
  }
  void read(std::optional<double>& value) const {
    if (trim(text_) == "none") {
      value.reset();
    } else {
      read(value.emplace());
    }
  }
  void read(std::vector<int>& values) const {
    values.clear();
    if (trim(text_) == "none") return;
    for (const std::string& element : elements()) read_number(element, values.emplace_back());
  }

 private:
  // "1,2,3", "1, 2, 3" and "1 2 3" are the same; "1,,2" has an empty element.
  std::vector<std::string> elements() const {
    std::vector<std::string> result;
    for (const std::string& part : split(text_, ',')) {
      const bool empty = trim(part).empty();
      for (const std::string& word : split(trim(part), ' ')) {
        if (empty || !trim(word).empty()) result.emplace_back(trim(word));
      }
    }
    return result;
  }

  template <class Number>
  void read_number(std::string_view text, Number& value) const {
    constexpr const char* not_a_number = std::is_integral_v<Number> ? "is not a whole number" : "is not a number";
    text = trim(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
      refuse(text, not_a_number, expected(), "give one" + example());
    }
    if (error == std::errc::result_out_of_range) {
      refuse(text, "cannot be held", std::to_string(8 * sizeof(Number)) + "-bit number", "give one" + example());
    }
    const auto real = static_cast<double>(value);
    if (!std::isfinite(real)) refuse(text, "is not a finite number", expected(), "give one" + example());
    if (!option_.range.contains(real))
      refuse(text, "is out of range", expected(), "give a value within it" + example());
  }

  std::string expected() const {
    const std::string range = option_.range.text();
    return range.empty() ? "any is allowed" : range;
  }
  std::string example() const {
    return option_.default_text == "none" ? ", or none" : ", such as " + option_.default_text;
  }

  [[noreturn]] void refuse(std::string_view text, const std::string& problem, const std::string& why,
                           const std::string& what) const {
    const std::string element = trim(text) == trim(text_) ? "" : ": " + shown(text);
    throw UsageError(option_.name + " = " + shown(text_) + element + " " + problem + " (" + why + "): " + what);
  }

  const Option& option_;
  std::string_view text_;
};

template <class T>
T value_from(const Option& option, std::string_view text) {
  T value{};
  Reader(option, text).read(value);
  return value;
}

// --- Names -----------------------------------------------------------------------------------------------------------

const Option* find_or_null(const std::vector<Option>& options, const std::string& canonical_name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == canonical_name; });
  return found == options.end() ? nullptr : &*found;
}

std::string without_section(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The full name that `name` was probably meant to be: the section may be missing or wrong. "" when none is near.
std::string nearest_name(const std::vector<Option>& options, const std::string& name) {
  std::vector<std::string> full_names, last_parts;
  for (const Option& option : options) {
    if (option.hidden) continue;
    full_names.push_back(option.name);
    last_parts.push_back(without_section(option.name));
  }
  const auto full_name_of = [&](const std::string& last_part) {
    const auto found = std::find(last_parts.begin(), last_parts.end(), last_part);
    return found == last_parts.end() ? "" : full_names[static_cast<size_t>(found - last_parts.begin())];
  };
  if (const std::string full_name = full_name_of(without_section(name)); !full_name.empty()) return full_name;
  if (const std::string near = nearest(name, full_names); !near.empty()) return near;
  return full_name_of(nearest(without_section(name), last_parts));
}

std::string without_dashes(const std::string& token) {
  return token.substr(std::min(token.find_first_not_of('-'), token.size()));
}

// `given` as the user wrote it; `dashes` is what goes before a name there.
[[noreturn]] void fail_unknown(const std::vector<Option>& options, const std::string& given,
                               const std::string& dashes) {
  const std::string near = nearest_name(options, canonical(without_dashes(given)));
  throw UsageError(printable(given) + " is not an option (unknown name): " +
                   (near.empty() ? "--help lists them" : "did you mean " + dashes + near + "?"));
}

std::vector<std::string> section_names(const std::vector<Option>& options) {
  std::vector<std::string> names = {""};  // in a config file, what has no section comes first
  for (const Option& option : options) {
    if (std::find(names.begin(), names.end(), option.section) == names.end()) names.push_back(option.section);
  }
  return names;
}

// --- Command line ----------------------------------------------------------------------------------------------------

namespace po = boost::program_options;

po::options_description description_of(const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    const std::string name = option.letter ? option.name + "," + option.letter : option.name;
    auto* value = po::value<std::string>();
    if (option.is_switch()) value->implicit_value("true");
    description.add_options()(name.c_str(), value, "");
  }
  return description;
}

// --some-name=a-b to --some_name=a-b
std::string with_canonical_name(const std::string& argument) {
  if (argument.rfind("--", 0) != 0) return argument;
  const size_t end = std::min(argument.find('='), argument.size());
  return "--" + canonical(argument.substr(2, end - 2)) + argument.substr(end);
}

po::parsed_options tokenise(const std::vector<Option>& options, const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  const po::options_description description = description_of(options);
  return po::command_line_parser(arguments)
      .options(description)
      .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next | style::allow_short |
             style::allow_dash_for_short | style::short_allow_next)
      .run();
}

[[noreturn]] void fail_without_value(const Option& option) {
  throw UsageError("--" + option.name + " has no value (" + option.help + "): write --" + option.name +
                   "=VALUE, such as " + shown(option.default_text));
}

NamedValue named_value(const std::vector<Option>& options, const po::option& token) {
  if (token.position_key >= 0) {
    throw UsageError(shown(token.value.at(0)) +
                     " belongs to no option (a stray argument): write --name value, and lists as 1,2,3");
  }
  const Option& option = *find_or_null(options, token.string_key);
  // "--seed --resume": Boost takes the next option for the value. A value that does begin so is written --name=--value.
  const bool took_next = token.original_tokens.size() > 1 && token.value.at(0).rfind("--", 0) == 0;
  if (took_next) fail_without_value(option);
  return {option.name, token.value.empty() ? "true" : token.value[0]};  // only a switch comes without a value
}

// --- Help ------------------------------------------------------------------------------------------------------------

// `text` in lines of `width` columns at most, all but the first indented by `indent` columns.
std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::string result;
  size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    const bool first = column == indent;
    if (!first && column + 1 + word.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string help_and_limits(const Option& option) {
  const std::string limits = option.limits();
  return limits.empty() ? option.help : option.help + " [" + limits + "]";
}

// "  -h, --help" or "  --ppo.gamma 0.99"
std::string usage_of(const Option& option) {
  const std::string letter = option.letter ? std::string("-") + option.letter + ", " : "";
  const std::string value = option.value();
  return "  " + letter + "--" + option.name + (option.is_switch() && value == "false" ? "" : " " + shown(value));
}

std::string help_line(const Option& option, size_t column, size_t width) {
  std::string usage = usage_of(option);
  usage = usage.size() + 2 > column ? usage + '\n' + std::string(column, ' ') : padded(usage, column);
  return usage + wrapped(help_and_limits(option), column, width) + '\n';
}

std::vector<std::string> visible_headings(const std::vector<Option>& options) {
  std::vector<std::string> headings;
  for (const Option& option : options) {
    const bool known = std::find(headings.begin(), headings.end(), option.heading) != headings.end();
    if (!known && !option.hidden) headings.push_back(option.heading);
  }
  return headings;
}

// --- Config file -----------------------------------------------------------------------------------------------------

bool is_written(const Option& option) { return !option.hidden && option.where == Where::anywhere; }

std::string full_name(const IniEntry& entry) {
  return canonical(entry.section.empty() ? entry.key : entry.section + "." + entry.key);
}

// Runs `action`; its errors say where `entry` stands.
template <class Action>
void at_line(const std::string& file, const IniEntry& entry, const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    throw UsageError(file + ":" + std::to_string(entry.line) + ": " + error.what());
  }
}

void require_section(const std::vector<Option>& options, const std::string& section) {
  const std::vector<std::string> known = section_names(options);
  if (std::find(known.begin(), known.end(), canonical(section)) != known.end()) return;
  const std::string near = nearest(canonical(section), known);
  throw UsageError("[" + printable(section) + "] is not a section (unknown name): " +
                   (near.empty() ? "--print_config shows them" : "did you mean [" + near + "]?"));
}

void require_in_file(const Option& option) {
  if (option.where != Where::command_line) return;
  throw UsageError(option.name + " cannot stand in a config file (it belongs to one command): give --" + option.name +
                   " on the command line");
}

[[noreturn]] void fail_given_twice(const Option& option, int first_line) {
  throw UsageError(option.name + " is given twice (first on line " + std::to_string(first_line) +
                   "): keep one of them");
}

std::string ini_section(const std::vector<Option>& options, const std::string& section) {
  std::string text, heading;
  for (const Option& option : options) {
    if (option.section != section || !is_written(option)) continue;
    if (heading != option.heading) text += "\n# " + (heading = option.heading) + "\n";
    const std::string key = option.name.substr(section.empty() ? 0 : section.size() + 1);
    text += padded(key + " = " + ini_value(option.value()), 36) + "  # " + help_and_limits(option) + "\n";
  }
  return text.empty() || section.empty() ? text : "\n[" + section + "]" + text;
}

}  // namespace

// --- Descriptions ----------------------------------------------------------------------------------------------------

bool Range::contains(double value) const {
  return (low_is_out ? value > low : value >= low) && (high_is_out ? value < high : value <= high);
}

std::string Range::text() const {
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high && !low_is_out && !high_is_out) return text_of(low) + " to " + text_of(high);
  std::vector<std::string> ends;
  if (has_low) ends.push_back((low_is_out ? "above " : "at least ") + text_of(low));
  if (has_high) ends.push_back((high_is_out ? "below " : "at most ") + text_of(high));
  return join(ends, ", ");
}

std::string Option::value() const {
  return std::visit([](const auto* value) { return text_of(*value); }, target);
}

std::string Option::normalised(std::string_view text) const {
  return std::visit([&](auto* value) { return text_of(value_from<std::decay_t<decltype(*value)>>(*this, text)); },
                    target);
}

std::string Option::limits() const {
  std::vector<std::string> parts = choices;
  if (!unit.empty()) parts.push_back(unit);
  if (const std::string text = range.text(); !text.empty()) parts.push_back(text);
  return join(parts, ", ");
}

std::string OptionVisitor::full_name(std::string_view name) const {
  return section_.empty() ? std::string(name) : section_ + "." + std::string(name);
}

void OptionVisitor::add(Option option) {
  DRL_CHECK(option.name == canonical(option.name), "options are declared with _, not -: " + option.name);
  DRL_CHECK(find_or_null(table_.options_, option.name) == nullptr, "two options are called " + option.name);
  DRL_CHECK(option.help.find('\n') == std::string::npos, "the help of " + option.name + " has several lines");
  option.default_text = option.value();
  DRL_CHECK(option.normalised(option.default_text) == option.default_text, "the default of " + option.name);
  table_.options_.push_back(std::move(option));
}

// --- The table -------------------------------------------------------------------------------------------------------

std::optional<std::string> find_value(const std::vector<NamedValue>& values, std::string_view name) {
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (value->name == canonical(name)) return value->value;
  }
  return std::nullopt;
}

const Option& OptionTable::find(std::string_view name) const {
  const Option* option = find_or_null(options_, canonical(name));
  if (option == nullptr) fail_unknown(options_, std::string(name), "");
  return *option;
}

void OptionTable::set(std::string_view name, std::string_view value, std::string_view origin) {
  Option& option = options_[static_cast<size_t>(&find(name) - options_.data())];
  std::visit([&](auto* target) { *target = value_from<std::decay_t<decltype(*target)>>(option, value); },
             option.target);
  option.origin = origin;
}

void OptionTable::apply(const std::vector<NamedValue>& values, std::string_view origin) {
  for (const NamedValue& value : values) set(value.name, value.value, origin);
}

std::vector<NamedValue> OptionTable::parse_command_line(const std::vector<std::string>& arguments) const {
  std::vector<std::string> canonical_arguments;
  for (const std::string& argument : arguments) canonical_arguments.push_back(with_canonical_name(argument));
  try {
    std::vector<NamedValue> values;
    for (const po::option& token : tokenise(options_, canonical_arguments).options) {
      values.push_back(named_value(options_, token));
    }
    return values;
  } catch (const po::unknown_option& unknown) {
    fail_unknown(options_, split(unknown.get_option_name(), '=')[0], "--");
  } catch (const po::error_with_option_name& missing_value) {
    fail_without_value(find(without_dashes(missing_value.get_option_name())));
  }
}

void OptionTable::apply_ini(std::string_view text, const std::string& file) {
  std::map<std::string, int> line_of;
  for (const IniEntry& entry : parse_ini(text, file)) {
    at_line(file, entry, [&] {
      if (entry.key.empty()) return require_section(options_, entry.section);
      const Option& option = find(full_name(entry));
      require_in_file(option);
      const auto [first, is_new] = line_of.emplace(option.name, entry.line);
      if (!is_new) fail_given_twice(option, first->second);
      if (option.where == Where::anywhere) set(option.name, entry.value, file + ":" + std::to_string(entry.line));
    });
  }
}

std::vector<std::string> OptionTable::without_effect(std::string_view text, const std::string& file) const {
  std::vector<std::string> found;
  for (const IniEntry& entry : parse_ini(text, file)) {
    const Option* option = entry.key.empty() ? nullptr : find_or_null(options_, full_name(entry));
    if (option && option->where == Where::never_in_files && !entry.value.empty())
      found.push_back(file + ":" + std::to_string(entry.line) + ": " + option->name);
  }
  return found;
}

std::string OptionTable::to_ini() const {
  std::string text;
  for (const std::string& section : section_names(options_)) text += ini_section(options_, section);
  return text.empty() ? text : text.substr(1);  // each heading has an empty line above, which the first does not need
}

std::string OptionTable::help(size_t width) const {
  size_t column = 0;
  for (const Option& option : options_) {
    if (!option.hidden) column = std::min<size_t>(36, std::max(column, usage_of(option).size() + 2));
  }
  std::string text;
  for (const std::string& heading : visible_headings(options_)) {
    text += (text.empty() ? "" : "\n") + heading + ":\n";
    for (const Option& option : options_) {
      if (option.heading == heading && !option.hidden) text += help_line(option, column, width);
    }
  }
  return text;
}

std::vector<OptionDifference> differences(const OptionTable& table, std::string_view ini_text,
                                          const std::string& file) {
  const std::vector<IniEntry> entries = parse_ini(ini_text, file);
  std::map<std::string, std::string> others;  // normalised values by name
  std::vector<OptionDifference> result;
  for (const IniEntry& entry : entries) {
    if (entry.key.empty()) continue;
    const Option* option = find_or_null(table.items(), full_name(entry));
    if (option == nullptr) {
      result.push_back({full_name(entry), "(none)", entry.value, Effect::numbers});
    } else {
      at_line(file, entry, [&] { others[option->name] = option->normalised(entry.value); });
    }
  }
  for (const Option& option : table.items()) {
    const auto found = others.find(option.name);
    const std::string other = found == others.end() ? option.default_text : found->second;
    if (is_written(option) && other != option.value()) {
      result.push_back({option.name, option.value(), other, option.effect});
    }
  }
  return result;
}

}  // namespace drl
