// metrics.csv read back, as far as it can be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

struct MetricsTable {
  std::vector<std::string> columns;         // but `iteration`, in the order of the file
  std::vector<int64_t> iterations;          // rising
  std::vector<std::vector<double>> values;  // [column][row]; NaN where there is no number
  int64_t damaged_rows = 0;                 // left out
  int64_t first_damaged_line = 0;           // of the file, from 1; 0 if there is none

  // Null if there is no such column.
  const std::vector<double>* find(std::string_view column) const;
  // Of the last row; NaN without rows or column.
  double last(std::string_view column) const;
};

// A row that does not fit the header, holds something else than numbers, or does not come after the row before is
// damaged. A last line without its end is still being written, and left out. Throws UsageError, which begins with
// `file`, if the header is no such table's.
MetricsTable parse_metrics(std::string_view text, const std::string& file);

}  // namespace drl
