// Formats numbers for people, in addition to base/text.hpp.
#pragma once

#include <string>

#include "base/metric.hpp"

namespace drl {

std::string human_number(double value);   // four significant digits, "-" for NaN
std::string human_time(double seconds);   // "4.2 ms", "1.25 s", "-" for NaN
std::string human_energy(double joules);  // "85 J", "1.20 MJ", "-" for NaN
std::string value_text(const Metric& metric);

}  // namespace drl
