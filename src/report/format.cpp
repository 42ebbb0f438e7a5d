#include "report/format.hpp"

#include <cmath>
#include <cstdio>

namespace drl {
namespace {

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return std::isnan(value) ? "-" : text;
}

}  // namespace

std::string human_number(double value) { return printed("%.4g", value); }
std::string human_time(double seconds) {
  return seconds >= 1 ? printed("%.2f s", seconds) : printed("%.1f ms", seconds * 1e3);
}

}  // namespace drl
