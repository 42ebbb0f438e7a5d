// Formats numbers and tables for people, in addition to base/text.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"

namespace drl {

std::string human_number(double value);   // four significant digits, "-" for NaN
std::string human_time(double seconds);   // "4.2 ms", "1.25 s", "-" for NaN
std::string human_energy(double joules);  // "85 J", "1.20 MJ", "-" for NaN
std::string value_text(const Metric& metric);

// Returns a line for each row, with two spaces before each cell and none at the end. Cells of a column begin at the
// same place or, if the column's character in `alignment` is >, end there.
using TextRows = std::vector<std::vector<std::string>>;
std::string table_text(const TextRows& rows, std::string_view alignment = "");

}  // namespace drl
