#include "report/page/metrics_table.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int64_t kLastIteration = int64_t{1} << 52;  // larger iterations count as damage

std::vector<std::string> header_of(std::string_view text, const std::string& file) {
  const size_t end = text.find('\n');
  std::vector<std::string> columns = split(trim(text.substr(0, end)), ',');
  if (end == std::string_view::npos || columns.front() != "iteration")
    throw UsageError(file + " is not a table of metrics (its first line does not begin with \"iteration,\")");
  columns.erase(columns.begin());
  return columns;
}

// Parses a line into `iteration` and `row`. Returns false if the line does not have exactly these numbers.
bool parse_row(std::string_view line, int64_t& iteration, std::vector<double>& row) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  size_t cell = 0;
  for (bool more = true; more; ++cell) {
    const size_t comma = line.find(',');
    const std::string_view text = line.substr(0, comma);
    if (cell == 0) {
      const std::optional<int64_t> number = number_in<int64_t>(text);
      if (!number || *number < 0 || *number > kLastIteration) return false;
      iteration = *number;
    } else {
      const std::optional<double> number = number_in<double>(text);
      if (!number || cell > row.size()) return false;
      row[cell - 1] = *number;
    }
    more = comma != std::string_view::npos;
    if (more) line.remove_prefix(comma + 1);
  }
  return cell == row.size() + 1;
}

}  // namespace

const std::vector<double>* MetricsTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  return found == columns.end() ? nullptr : &values[static_cast<size_t>(found - columns.begin())];
}

double MetricsTable::last(std::string_view column) const {
  const std::vector<double>* all = find(column);
  return all == nullptr || all->empty() ? std::numeric_limits<double>::quiet_NaN() : all->back();
}

MetricsTable parse_metrics(std::string_view text, const std::string& file) {
  MetricsTable table;
  table.columns = header_of(text, file);
  table.values.resize(table.columns.size());
  text.remove_prefix(text.find('\n') + 1);
  std::vector<double> row(table.columns.size());
  int64_t line = 2, iteration = 0;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1), ++line) {
    const bool rises = parse_row(text.substr(0, end), iteration, row) &&
                       (table.iterations.empty() || iteration > table.iterations.back());
    if (!rises) {
      if (table.damaged_rows++ == 0) table.first_damaged_line = line;
      continue;
    }
    table.iterations.push_back(iteration);
    for (size_t k = 0; k < row.size(); ++k) table.values[k].push_back(row[k]);
  }
  return table;
}

}  // namespace drl
