// Reads metrics.csv, also if it is damaged or still being written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

struct MetricsTable {
  std::vector<std::string> columns;         // without `iteration`, in the order of the file
  std::vector<int64_t> iterations;          // strictly increasing
  std::vector<std::vector<double>> values;  // [column][row], may be NaN
  int64_t damaged_rows = 0;                 // skipped rows
  int64_t first_damaged_line = 0;           // counted from 1; 0 if no row is damaged

  // Returns the values of a column, nullptr if it does not exist.
  const std::vector<double>* find(std::string_view column) const;
  // Returns the value in the last row, NaN if the column or rows do not exist.
  double last(std::string_view column) const;
};

// Parses the text of metrics.csv. A row is damaged if it does not match the header, contains anything but numbers, or
// has an iteration that is not larger than the previous one. A last line without a newline is still being written and
// is ignored. Throws a UsageError that begins with `file` if the header is not that of metrics.csv.
MetricsTable parse_metrics(std::string_view text, const std::string& file);

}  // namespace drl
