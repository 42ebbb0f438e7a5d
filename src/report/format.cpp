#include "report/format.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/enum_table.hpp"
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
  using enum Format;
  constexpr auto kTexts = by_enum<Format, std::string (*)(double)>(
      count, {{number, human_number}, {seconds, human_time}, {duration, human_duration}, {count, human_count}});
  return kTexts[static_cast<size_t>(metric.format)](metric.value);
}

std::string table_text(const TextRows& rows, std::string_view alignment) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) {
      const bool is_right = k < alignment.size() && alignment[k] == '>';
      line += is_right ? fmt::format("  {:>{}}", row[k], widths[k]) : fmt::format("  {:<{}}", row[k], widths[k]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace drl
