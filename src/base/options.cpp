#include "base/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <system_error>

#include "base/check.hpp"
#include "base/format.hpp"
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
std::string text_of(const std::vector<std::string>& values) { return values.empty() ? "none" : join(values, ":"); }
std::string text_of(const std::vector<int>& values) {
  std::vector<std::string> texts;
  for (int value : values) texts.push_back(text_of(value));
  return values.empty() ? "none" : join(texts, ",");
}

// "0 to 1", "at least 1", "above 0, at most 1"; "" for any_number
std::string text_of(const Range& range) {
  const auto& [low, high, low_is_out, high_is_out] = range;
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high && !low_is_out && !high_is_out) return text_of(low) + " to " + text_of(high);
  std::vector<std::string> ends;
  if (has_low) ends.push_back((low_is_out ? "above " : "at least ") + text_of(low));
  if (has_high) ends.push_back((high_is_out ? "below " : "at most ") + text_of(high));
  return join(ends, ", ");
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
    value = contains({"true", "True", "yes", "on", "1"}, trim(text_));
    if (!value && !contains({"false", "False", "no", "off", "0"}, trim(text_)))
      refuse(text_, "is neither true nor false", "a switch", "give true or false");
  }
  template <class Number>
  void read(Number& value) const {
    read_number(text_, value);
  }
  void read(std::string& value) const {
    const std::vector<std::string>& choices = option_.choices;
    value = text_;
    if (choices.empty() || contains(choices, value)) return;
    const std::string near = nearest(value, choices);
    refuse(text_, "is not a choice", join(choices, ", "),
           near.empty() ? "give one of these" : "did you mean " + near + "?");
  }
  void read(std::optional<double>& value) const {
    if (trim(text_) != "none") read(value.emplace());
  }
  void read(std::vector<std::string>& values) const {
    if (trim(text_) == "none") return;
    for (const std::string& name : split(text_, ':'))
      if (!name.empty()) values.push_back(name);
  }
  void read(std::vector<int>& values) const {
    if (trim(text_) == "none") return;
    for (const std::string& element : elements()) read_number(element, values.emplace_back());
  }

 private:
  // "1,2,3", "1, 2, 3" and "1 2 3" are the same; "1,,2" has an empty element.
  std::vector<std::string> elements() const {
    std::vector<std::string> result;
    for (const std::string& part : split(text_, ',')) {
      const bool empty = trim(part).empty();
      for (const std::string& word : split(trim(part), ' '))
        if (empty || !trim(word).empty()) result.emplace_back(trim(word));
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
    const std::string range = text_of(option_.range);
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
  const auto found = std::ranges::find(options, canonical_name, &Option::name);
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

// `given` as the user wrote it; `dashes` is what goes before a name there; `otherwise` is what to do where none is
// near.
[[noreturn]] void fail_unknown(const std::vector<Option>& options, const std::string& given, const std::string& dashes,
                               const std::string& otherwise = "--help lists them") {
  const std::string near = nearest_name(options, canonical(without_dashes(given)));
  throw UsageError(printable(given) + " is not an option (unknown name): " +
                   (near.empty() ? otherwise : "did you mean " + dashes + near + "?"));
}

std::vector<std::string> section_names(const std::vector<Option>& options) {
  std::vector<std::string> names = {""};  // in a config file, what has no section comes first
  for (const Option& option : options)
    if (!contains(names, option.section)) names.push_back(option.section);
  return names;
}

// --- Command line ----------------------------------------------------------------------------------------------------

namespace po = boost::program_options;

std::string name_and_letter(const Option& option) {
  return option.letter ? option.name + "," + option.letter : option.name;
}

// --some-name=a-b to --some_name=a-b
std::string with_canonical_name(const std::string& argument) {
  if (argument.rfind("--", 0) != 0) return argument;
  const size_t end = std::min(argument.find('='), argument.size());
  return "--" + canonical(argument.substr(2, end - 2)) + argument.substr(end);
}

po::parsed_options tokenise(const std::vector<Option>& options, const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  po::options_description description;
  for (const Option& option : options) {
    auto* value = po::value<std::string>();
    if (option.is_switch()) value->implicit_value("true");
    description.add_options()(name_and_letter(option).c_str(), value);
  }
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

std::string help_and_limits(const Option& option) {
  const std::string limits = option.limits();
  return limits.empty() ? option.help : option.help + " [" + limits + "]";
}

std::vector<std::string> visible_headings(const std::vector<Option>& options) {
  std::vector<std::string> headings;
  for (const Option& option : options)
    if (!option.hidden && !contains(headings, option.heading)) headings.push_back(option.heading);
  return headings;
}

// --- Config file -----------------------------------------------------------------------------------------------------

bool is_written(const Option& option) { return !option.hidden && option.where == Where::anywhere; }

std::string full_name(const IniEntry& entry) {
  return canonical(entry.section.empty() ? entry.key : entry.section + "." + entry.key);
}

std::string place(const std::string& file, const IniEntry& entry) { return fmt::format("{}:{}", file, entry.line); }

// Runs `action`; its errors say where `entry` stands.
template <class Action>
void at_line(const std::string& file, const IniEntry& entry, const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    throw UsageError(place(file, entry) + ": " + error.what());
  }
}

void require_section(const std::vector<Option>& options, const std::string& section) {
  const std::vector<std::string> known = section_names(options);
  if (contains(known, canonical(section))) return;
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
  throw UsageError(fmt::format("{} is given twice (first on line {}): keep one of them", option.name, first_line));
}

std::string ini_section(const std::vector<Option>& options, const std::string& section) {
  std::string text, heading;
  for (const Option& option : options) {
    if (option.section != section || !is_written(option)) continue;
    if (heading != option.heading) text += "\n# " + (heading = option.heading) + "\n";
    const std::string key = option.name.substr(section.empty() ? 0 : section.size() + 1);
    text += fmt::format("{:<36}  # {}\n", key + " = " + ini_value(option.value()), help_and_limits(option));
  }
  return text.empty() || section.empty() ? text : "\n[" + section + "]" + text;
}

}  // namespace

// --- Descriptions ----------------------------------------------------------------------------------------------------

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
  if (const std::string text = text_of(range); !text.empty()) parts.push_back(text);
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
  if (!option.only_with.empty()) {
    option.before = option.normalised(option.before);
    option.only_with = full_name(option.only_with);
    const Option* with = find_or_null(table_.options_, option.only_with);
    DRL_CHECK(with && with->is_switch(), "what " + option.name + " needs must be a switch above it");
  }
  DRL_CHECK(option.normalised(option.default_text) == option.default_text, "the default of " + option.name);
  table_.options_.push_back(std::move(option));
}

// --- The table -------------------------------------------------------------------------------------------------------

const Option& OptionTable::find(std::string_view name) const {
  const Option* option = find_or_null(options_, canonical(name));
  if (option == nullptr) fail_unknown(options_, std::string(name), "");
  return *option;
}

void OptionTable::await(std::string_view section) {
  const std::string within = std::string(section) + ".";
  std::erase_if(options_,
                [&](const Option& option) { return option.section == section || option.section.starts_with(within); });
  awaited_.emplace_back(section);
}

// Of a canonical name.
bool OptionTable::is_awaited(std::string_view name) const {
  return contains(awaited_, std::string(name.substr(0, name.find('.')))) && name.find('.') != name.npos;
}

void OptionTable::set(std::string_view name, std::string_view value) {
  const Option& option = find(name);
  std::visit([&](auto* target) { *target = value_from<std::decay_t<decltype(*target)>>(option, value); },
             option.target);
}

void OptionTable::apply(const std::vector<NamedValue>& values) {
  std::map<std::string, std::string> lists;
  for (const NamedValue& value : values) {
    if (is_awaited(value.name)) continue;
    if (!value.has_value && !find(value.name).is_switch()) fail_without_value(find(value.name));
    if (!std::holds_alternative<std::vector<std::string>*>(find(value.name).target)) {
      set(value.name, value.value);
    } else {
      std::string& list = lists[value.name];
      list = value.value == "none" ? "none" : list.empty() || list == "none" ? value.value : list + ":" + value.value;
      set(value.name, list);
    }
  }
}

std::vector<NamedValue> OptionTable::parse_command_line(const std::vector<std::string>& arguments) const {
  std::vector<std::string> canonical_arguments;
  std::vector<NamedValue> values;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string argument = with_canonical_name(arguments[k]);
    const size_t end = std::min(argument.find('='), argument.size());
    if (!argument.starts_with("--") || !is_awaited(argument.substr(2, end - 2))) {
      canonical_arguments.push_back(argument);
      continue;
    }
    // Whether it is a switch is not known yet: what does not look like an option is its value.
    const bool takes_next = end == argument.size() && k + 1 < arguments.size() && !arguments[k + 1].starts_with("--");
    const bool has_value = takes_next || end < argument.size();
    const std::string value = end < argument.size() ? argument.substr(end + 1) : takes_next ? arguments[++k] : "true";
    values.push_back({argument.substr(2, end - 2), value, has_value});
  }
  try {
    for (const po::option& token : tokenise(options_, canonical_arguments).options) {
      values.push_back(named_value(options_, token));
    }
    return values;
  } catch (const po::unknown_option& unknown) {
    std::string otherwise = "--help lists them";
    for (const std::string& section : awaited_) otherwise += "; a task's own begin with --" + section + ".";
    fail_unknown(options_, split(unknown.get_option_name(), '=')[0], "--", otherwise);
  } catch (const po::error_with_option_name& missing_value) {
    fail_without_value(find(without_dashes(missing_value.get_option_name())));
  }
}

void OptionTable::apply_ini(std::string_view text, const std::string& file) {
  std::map<std::string, int> line_of;
  for (const IniEntry& entry : parse_ini(text, file)) {
    at_line(file, entry, [&] {
      if (is_awaited(entry.key.empty() ? entry.section + "." : full_name(entry))) return;
      if (entry.key.empty()) return require_section(options_, entry.section);
      const Option& option = find(full_name(entry));
      require_in_file(option);
      const auto [first, is_new] = line_of.emplace(option.name, entry.line);
      if (!is_new) fail_given_twice(option, first->second);
      if (option.where == Where::anywhere) set(option.name, entry.value);
    });
  }
}

void OptionTable::apply_run(std::string_view text, const std::string& file) {
  if (text.empty()) return;
  for (const Option& option : options_)
    if (!option.before.empty()) set(option.name, option.before);
  apply_ini(text, file);
}

std::vector<std::string> OptionTable::without_effect(std::string_view text, const std::string& file) const {
  std::vector<std::string> found;
  for (const IniEntry& entry : parse_ini(text, file)) {
    const Option* option = entry.key.empty() ? nullptr : find_or_null(options_, full_name(entry));
    if (option && option->where == Where::never_in_files && !entry.value.empty())
      found.push_back(place(file, entry) + ": " + option->name);
  }
  return found;
}

std::string OptionTable::to_ini() const {
  std::string text;
  for (const std::string& section : section_names(options_)) text += ini_section(options_, section);
  return text.empty() ? text : text.substr(1);  // each heading has an empty line above, which the first does not need
}

std::string OptionTable::help(size_t width) const {
  const auto columns = static_cast<unsigned>(width), of_help = columns - 36;
  po::options_description all(columns, of_help);
  for (const std::string& heading : visible_headings(options_)) {
    po::options_description group(heading, columns, of_help);
    for (const Option& option : options_) {
      if (option.heading != heading || option.hidden) continue;
      auto* value = po::value<std::string>()->value_name(shown(option.value()));
      if (option.is_switch() && option.value() == "false") value->zero_tokens();  // its name turns it on
      group.add_options()(name_and_letter(option).c_str(), value, help_and_limits(option).c_str());
    }
    all.add(group);
  }
  std::ostringstream text;
  text << all;
  return text.str().substr(1);  // each heading has an empty line above, which the first does not need
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
  const auto other = [&](const Option& option) {
    const auto found = others.find(option.name);
    return found == others.end() ? option.unnamed() : found->second;
  };
  const auto is_off = [&](const std::string& name) {
    return !name.empty() && table.find(name).value() == "false" && other(table.find(name)) == "false";
  };
  for (const Option& option : table.items()) {
    if (is_written(option) && other(option) != option.value() && !is_off(option.only_with)) {
      result.push_back({option.name, option.value(), other(option), option.effect});
    }
  }
  return result;
}

}  // namespace drl
