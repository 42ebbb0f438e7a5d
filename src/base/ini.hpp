// The syntax of config files: [section], key = value, comments after # or ;. options.hpp interprets the keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drl {

// A line that is neither blank nor a comment. A section header is an entry without key.
struct IniEntry {
  int line = 0;  // from 1
  std::string section, key, value;
};

// Returns the entries in order. A comment begins with # or ; at the start of a line or after white space. A value in
// "double quotes" may contain any character, with the escapes \" \\ \n \r \t. Throws UsageError on bad syntax; its
// message begins with "<file>:<line>: ".
std::vector<IniEntry> parse_ini(std::string_view text, const std::string& file);

// Returns the text to write after "key = ": `value`, quoted if parse_ini would not read it back unchanged otherwise.
std::string ini_value(std::string_view value);

}  // namespace drl
