#include "report/format.hpp"

#include <cctype>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

std::string or_dash(double value, std::string text) { return std::isnan(value) ? "-" : text; }

}  // namespace

std::string human_number(double value) { return or_dash(value, fmt::format("{:.4g}", value)); }
std::string human_time(double seconds) {
  return or_dash(seconds, seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} ms", seconds * 1e3));
}
std::string human_energy(double joules) {
  const std::string text = human_count(joules);
  return or_dash(joules, text + (std::isalpha(static_cast<unsigned char>(text.back())) ? "J" : " J"));
}
std::string value_text(const Metric& metric) {
  switch (metric.format) {
    case Format::seconds:
      return human_time(metric.value);
    case Format::duration:
      return human_duration(metric.value);
    case Format::count:
      return human_count(metric.value);
    default:
      return human_number(metric.value);
  }
}

}  // namespace drl
