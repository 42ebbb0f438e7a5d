// The syntax of config files: [section], key = value, comments after # or ;. What the keys mean is for options.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drl {

// A line that says something. A section header is an entry without key.
struct IniEntry {
  int line = 0;  // from 1
  std::string section, key, value;
};

// The entries in order. A comment begins with # or ; at the start of a line or after white space. A value in "double
// quotes" may hold anything, with \" \\ \n \r \t. Throws UsageError, beginning with "<file>:<line>: ", on bad syntax.
std::vector<IniEntry> parse_ini(std::string_view text, const std::string& file);

// `value` as it is written behind "key = ": in quotes where parse_ini would not give it back otherwise.
std::string ini_value(std::string_view value);

}  // namespace drl
