#include "base/options.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <map>
#include <optional>
#include <sstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/ini.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"

namespace drl {
namespace {

std::string canonical(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

// --- Names -----------------------------------------------------------------------------------------------------------

const Option* find_or_null(const std::vector<Option>& options, const std::string& canonical_name) {
  const auto found = std::ranges::find(options, canonical_name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

std::string without_section(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Returns the full name that the user probably meant by `name`, whose section may be missing or wrong; "" if no name is
// similar.
std::string nearest_name(const std::vector<Option>& options, const std::string& name) {
  std::vector<std::string> full_names, last_parts;
  for (const Option& option : options) {
    if (option.hidden) continue;
    full_names.push_back(option.name);
    last_parts.push_back(without_section(option.name));
  }
  const auto full_name_of = [&](const std::string& last_part) {
    const auto found = std::find(last_parts.begin(), last_parts.end(), last_part);
    return found == last_parts.end() ? "" : full_names[found - last_parts.begin()];
  };
  if (const std::string full_name = full_name_of(without_section(name)); !full_name.empty()) return full_name;
  if (const std::string near = nearest(name, full_names); !near.empty()) return near;
  return full_name_of(nearest(without_section(name), last_parts));
}

std::string without_dashes(const std::string& token) {
  return token.substr(std::min(token.find_first_not_of('-'), token.size()));
}

// Throws the error for the unknown option `given`, as the user wrote it. `dashes` is the prefix of a suggested name;
// `otherwise` is the advice if no name is similar.
[[noreturn]] void fail_unknown(const std::vector<Option>& options, const std::string& given, const std::string& dashes,
                               const std::string& otherwise = "--help lists all options") {
  const std::string near = nearest_name(options, canonical(without_dashes(given)));
  throw UsageError(printable(given) + " is not an option (no option has this name): " +
                   (near.empty() ? otherwise : "did you mean " + dashes + near + "?"));
}

std::vector<std::string> section_names(const std::vector<Option>& options) {
  std::vector<std::string> names = {""};  // in a config file, options without section come first
  for (const Option& option : options)
    if (!contains(names, option.section)) names.push_back(option.section);
  return names;
}

// --- Command line ----------------------------------------------------------------------------------------------------

namespace po = boost::program_options;

std::string name_and_letter(const Option& option) {
  return option.letter ? option.name + "," + option.letter : option.name;
}

// Turns --some-name=a-b into --some_name=a-b.
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
  throw UsageError("--" + option.name + " has no value (" + option.help + "): write --" + option.name + "=VALUE" +
                   (option.default_text.empty() ? "" : ", such as " + shown(option.default_text)));
}

NamedValue named_value(const std::vector<Option>& options, const po::option& token) {
  if (token.position_key >= 0) {
    throw UsageError(shown(token.value.at(0)) +
                     " is a stray argument (it belongs to no option): write --name value, and lists as 1,2,3");
  }
  const Option& option = *find_or_null(options, token.string_key);
  // In "--seed --resume", Boost takes the next option as the value. A value that begins with -- needs --name=--value.
  const bool took_next = token.original_tokens.size() > 1 && token.value.at(0).rfind("--", 0) == 0;
  if (took_next) fail_without_value(option);
  return {option.name, token.value.empty() ? "true" : token.value[0]};  // only a switch may have no value
}

// --- Help ------------------------------------------------------------------------------------------------------------

// Returns the terminal's width, at least 60 and at most 120; 80 if standard output is no terminal.
size_t help_width() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<size_t>(size.ws_col, 60, 120);
}

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

// Runs `action`; its errors begin with the file and line of `entry`.
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
  throw UsageError("[" + printable(section) + "] is not a section (no section has this name): " +
                   (near.empty() ? "--print_config shows all sections" : "did you mean [" + near + "]?"));
}

void require_in_file(const Option& option) {
  if (option.where != Where::command_line) return;
  throw UsageError(option.name + " is not allowed in a config file (it applies to one command only): give --" +
                   option.name + " on the command line");
}

[[noreturn]] void fail_given_twice(const Option& option, int first_line) {
  throw UsageError(
      fmt::format("{} is set twice (first on line {}): remove one of the two lines", option.name, first_line));
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

// --- Conditions ------------------------------------------------------------------------------------------------------

bool is_limit(const Condition& c) { return c.relation == Relation::below || c.relation == Relation::at_most; }

// Returns the first condition of the option that does not hold, or null. value_of(name) returns a value, or nullopt if
// it is unknown.
template <class ValueOf>
const Condition* unmet_condition(const Option& option, const ValueOf& value_of) {
  const auto unmet = std::ranges::find_if(option.conditions, [&](const Condition& condition) {
    if (is_limit(condition)) return false;
    const std::optional<std::string> value = value_of(condition.other);
    return value && contains(split(condition.value, '|'), *value) != (condition.relation == Relation::equals);
  });
  return unmet == option.conditions.end() ? nullptr : &*unmet;
}

// Returns why options with this unmet condition have no effect, and what to do. `leave` is "leave it out" or similar.
std::string reason_and_advice(const Condition& condition, const Option& other, const std::string& leave) {
  const std::string name = "--" + other.name, value = other.value();
  const std::string reason = "(" + name + (value.empty() ? " is not given" : " is " + shown(value)) + "): ";
  const bool equals = condition.relation == Relation::equals;
  if (equals && condition.value.empty()) return reason + leave + ", or leave out " + name;
  if (equals) return reason + "give " + name + " " + join(split(condition.value, '|'), " or ") + " too, or " + leave;
  return reason + "give " + (value.empty() ? name + " too" : "another " + name) + ", or " + leave;
}

}  // namespace

// --- Descriptions ----------------------------------------------------------------------------------------------------

std::string OptionVisitor::full_name(std::string_view name) const {
  return section_.empty() ? std::string(name) : section_ + "." + std::string(name);
}

void OptionVisitor::add(Option option) {
  DRL_CHECK(option.name == canonical(option.name), "an option's name has - instead of _: " + option.name);
  DRL_CHECK(find_or_null(table_.options_, option.name) == nullptr, "two options have the name " + option.name);
  DRL_CHECK(option.help.find('\n') == std::string::npos, "the help of " + option.name + " has several lines");
  option.default_text = option.value();
  if (!option.old_value.empty()) option.old_value = option.normalised(option.old_value);
  option.conditions.insert(option.conditions.begin(), conditions_.begin(), conditions_.end());
  DRL_CHECK(option.normalised(option.default_text) == option.default_text,
            "the default is not valid for " + option.name);
  table_.options_.push_back(std::move(option));
}

// --- The table -------------------------------------------------------------------------------------------------------

const Option& OptionTable::find(std::string_view name) const {
  const Option* option = find_or_null(options_, canonical(name));
  if (option == nullptr) fail_unknown(options_, std::string(name), "");
  return *option;
}

void OptionTable::defer_section(std::string_view section) {
  const std::string prefix = std::string(section) + ".";
  std::erase_if(options_,
                [&](const Option& option) { return option.section == section || option.section.starts_with(prefix); });
  deferred_sections_.emplace_back(section);
}

void OptionTable::find_others() {
  for (Option& option : options_)
    for (Condition& condition : option.conditions)
      if (const std::string own = option.section + "." + condition.other; find_or_null(options_, own))
        condition.other = own;
}

// `name` must be canonical.
bool OptionTable::is_deferred(std::string_view name) const {
  return contains(deferred_sections_, std::string(name.substr(0, name.find('.')))) && name.find('.') != name.npos;
}

void OptionTable::set(std::string_view name, std::string_view value) { find(name).assign(value); }

void OptionTable::apply(const std::vector<NamedValue>& values) {
  std::map<std::string, std::string> lists;
  for (const NamedValue& value : values) {
    if (is_deferred(value.name)) continue;
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

std::vector<NamedValue> OptionTable::given_options(const std::vector<NamedValue>& command_line) const {
  std::map<std::string, std::string> values;
  for (const NamedValue& given : command_line) {
    const Option* option = find_or_null(options_, given.name);
    values[given.name] = !option ? given.value : option->common ? option->common(option->value()) : option->value();
    if (option && option->common && values[given.name].empty()) values.erase(given.name);
  }
  std::vector<NamedValue> options;
  for (const auto& [name, value] : values) options.push_back({name, value});
  return options;
}

std::vector<NamedValue> OptionTable::parse_command_line(const std::vector<std::string>& arguments) const {
  std::vector<std::string> canonical_arguments;
  std::vector<NamedValue> values;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string argument = with_canonical_name(arguments[k]);
    const size_t end = std::min(argument.find('='), argument.size());
    if (!argument.starts_with("--") || !is_deferred(argument.substr(2, end - 2))) {
      canonical_arguments.push_back(argument);
      continue;
    }
    // The table does not know whether this option is a switch, so it takes a next word without -- as the value.
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
    std::string otherwise = "--help lists all options";
    for (const std::string& section : deferred_sections_)
      otherwise += "; the options of a task begin with --" + section + ".";
    fail_unknown(options_, split(unknown.get_option_name(), '=')[0], "--", otherwise);
  } catch (const po::error_with_option_name& missing_value) {
    fail_without_value(find(without_dashes(missing_value.get_option_name())));
  }
}

std::vector<std::string> OptionTable::take_arguments(std::vector<std::string>& words) const {
  // Handles both "--film-size" and "-o". parse_command_line refuses unknown names later.
  const auto takes_next = [&](size_t k) {
    if (k + 1 == words.size()) return false;
    const std::string name = with_canonical_name(words[k]);
    if (name.starts_with("--") && name.find('=') == std::string::npos && is_deferred(name.substr(2)))
      return !words[k + 1].starts_with("--");  // as parse_command_line
    return std::ranges::any_of(options_, [&](const Option& option) {
      const bool is_named = name == "--" + option.name || (option.letter && name == std::string("-") + option.letter);
      return is_named && !option.is_switch();
    });
  };
  std::vector<std::string> arguments, rest;
  for (size_t k = 0; k < words.size(); ++k) {
    const bool is_option = words[k].starts_with("-");
    (is_option ? rest : arguments).push_back(is_option ? words[k] : typed_path("argument", words[k]));
    if (is_option && takes_next(k)) rest.push_back(words[++k]);
  }
  words = rest;
  return arguments;
}

void OptionTable::apply_ini(std::string_view text, const std::string& file) {
  std::map<std::string, int> line_of;
  for (const IniEntry& entry : parse_ini(text, file)) {
    at_line(file, entry, [&] {
      if (is_deferred(entry.key.empty() ? entry.section + "." : full_name(entry))) return;
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
    if (!option.old_value.empty()) set(option.name, option.old_value);
  apply_ini(text, file);
}

std::vector<NamedValue> OptionTable::options_in(std::string_view text, const std::string& file) const {
  std::vector<NamedValue> found;
  for (const IniEntry& entry : parse_ini(text, file)) {
    const Option* option = entry.key.empty() ? nullptr : find_or_null(options_, full_name(entry));
    if (option) at_line(file, entry, [&] { found.push_back({option->name, option->normalised(entry.value)}); });
  }
  return found;
}

std::optional<std::string> OptionTable::value_in(std::string_view text, const std::string& file,
                                                 std::string_view name) const {
  std::optional<std::string> value;
  for (const IniEntry& entry : parse_ini(text, file))
    if (!entry.key.empty() && full_name(entry) == name)
      at_line(file, entry, [&] { value = find(name).normalised(entry.value); });
  return value;
}

std::vector<std::string> OptionTable::without_effect(const std::vector<NamedValue>& given,
                                                     const std::vector<Circumstance>& circumstances) const {
  const auto circumstance = [&](const std::string& name) {
    const auto found = std::ranges::find(circumstances, name, &Circumstance::name);
    return found == circumstances.end() ? nullptr : &*found;
  };
  const auto value_of = [&](const std::string& name) {
    const Circumstance* fact = circumstance(name);
    return std::optional(fact ? fact->value : find(name).value());
  };
  std::vector<std::pair<Condition, std::vector<std::string>>> found;  // conditions that do not hold, with their options
  for (const Option& option : options_) {
    if (std::ranges::find(given, option.name, &NamedValue::name) == given.end()) continue;
    const Condition* unmet = unmet_condition(option, value_of);
    if (!unmet) continue;
    auto entry = std::ranges::find_if(found, [&](const auto& other) { return other.first == *unmet; });
    if (entry == found.end()) entry = found.insert(entry, {*unmet, {}});
    entry->second.push_back("--" + option.name);
  }
  std::vector<std::string> sentences;
  for (const auto& [condition, names] : found) {
    const bool one = names.size() == 1;
    const std::string leave = one ? "leave it out" : "leave them out";
    const Circumstance* fact = circumstance(condition.other);
    sentences.push_back(
        join(names, ", ") + (one ? " has" : " have") + " no effect " +
        (fact ? "(" + fact->text + "): " + leave : reason_and_advice(condition, find(condition.other), leave)));
  }
  return sentences;
}

void OptionTable::require_limits(const std::vector<NamedValue>& given) const {
  for (const NamedValue& entry : given)
    for (const Condition& condition : find(entry.name).conditions) {
      if (!is_limit(condition)) continue;
      const Option &option = find(entry.name), &other = find(condition.other);
      const double value = std::stod(option.value()), limit = std::stod(other.value());
      const bool is_below = condition.relation == Relation::below;
      if (is_below ? value < limit : value <= limit) continue;
      throw UsageError(fmt::format("--{} {} is not {} --{} {} ({}): give a smaller --{}, or a larger --{}", option.name,
                                   option.value(), is_below ? "below" : "at most", other.name, other.value(),
                                   option.help, option.name, other.name));
    }
}

std::vector<std::string> OptionTable::ignored_options(std::string_view text, const std::string& file) const {
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
  return text.empty() ? text : text.substr(1);  // drops the empty line above the first heading
}

std::string OptionTable::help(size_t width, const std::function<bool(const Option&)>& shows) const {
  const auto columns = static_cast<unsigned>(width > 0 ? width : help_width()), of_help = columns - 36;
  po::options_description all(columns, of_help);
  std::vector<Option> shown_options;
  for (const Option& option : options_)
    if (!option.hidden && (!shows || shows(option))) shown_options.push_back(option);
  for (const std::string& heading : visible_headings(shown_options)) {
    po::options_description group(heading, columns, of_help);
    for (const Option& option : shown_options) {
      if (option.heading != heading) continue;
      auto* value = po::value<std::string>()->value_name(shown(option.value()));
      if (option.is_switch() && option.value() == "false") value->zero_tokens();  // the name alone turns it on
      group.add_options()(name_and_letter(option).c_str(), value, help_and_limits(option).c_str());
    }
    all.add(group);
  }
  std::ostringstream text;
  text << all;
  return text.str().substr(1);  // drops the empty line above the first heading
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
    return found == others.end() ? option.value_if_absent() : found->second;
  };
  const auto here = [&](const std::string& name) {
    const Option* option = find_or_null(table.items(), name);
    return option ? std::optional(option->value()) : std::nullopt;
  };
  const auto there = [&](const std::string& name) {
    const Option* option = find_or_null(table.items(), name);
    return option ? std::optional(other(*option)) : std::nullopt;
  };
  for (const Option& option : table.items()) {
    const bool has_effect = !unmet_condition(option, here) || !unmet_condition(option, there);
    if (is_written(option) && other(option) != option.value() && has_effect)
      result.push_back(
          {option.name, option.value(), other(option), option.effect, option.shapes, option.changes_env_state});
  }
  return result;
}

}  // namespace drl
