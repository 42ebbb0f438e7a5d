#include "report/csv.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/check.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// std::to_chars would write "-nan" for some NaNs.
std::string cell(double number) { return std::isnan(number) ? "nan" : number_text(number); }

// Leaves out max_iterations: changing that option must not change the file.
std::string header_of(const IterationMetrics& row) {
  std::string header = "iteration,env_steps";
  for (const Metric& metric : row.metrics) {
    DRL_CHECK(metric.name.find_first_of(",\"\r\n") == std::string::npos,
              "the metric '" + metric.name + "' contains a character that is not allowed in a column name");
    header += "," + metric.name;
  }
  return header + "\n";
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw UsageError("cannot continue '" + path.string() + "' (" + why + "): move it away or start a new run");
}

int64_t iteration_of(const fs::path& path, std::string_view row) {
  int64_t iteration = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), iteration);
  if (error != std::errc() || *end != ',')
    refuse(path, "'" + std::string(row.substr(0, 40)) + "' is not a row of metrics");
  return iteration;
}

// Returns the header and the rows up to `last_iteration` with their newlines. Drops an unfinished row at the end.
std::string kept_rows(const fs::path& path, std::string_view text, const std::string& header, int64_t last_iteration) {
  if (!text.starts_with(header)) refuse(path, "its columns differ from those of this program, task or algorithm");
  std::string kept = header;
  text.remove_prefix(header.size());
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    const std::string_view row = text.substr(0, end + 1);
    if (iteration_of(path, row) <= last_iteration) kept += row;
  }
  return kept;
}

// Returns the text that the file must have before rows are appended.
std::string starting_text(const fs::path& path, const std::string& header, std::optional<int64_t> resume_iteration) {
  if (!resume_iteration || !fs::exists(path)) return header;
  return kept_rows(path, read_text(path), header, *resume_iteration);
}

fs::path started(const fs::path& path, const std::string& header, std::optional<int64_t> resume_iteration) {
  write_file_atomically(path, bytes_of(starting_text(path, header, resume_iteration)));
  return path;
}

}  // namespace

CsvWriter::CsvWriter(fs::path path, const IterationMetrics& like, std::optional<int64_t> resume_iteration)
    : header_(header_of(like)), file_(started(path, header_, resume_iteration), AppendFile::Start::append) {}

void CsvWriter::append(const IterationMetrics& metrics) {
  DRL_CHECK(header_of(metrics) == header_, "the columns changed");
  std::string row = number_text(metrics.iteration) + "," + number_text(metrics.env_steps);
  for (const Metric& metric : metrics.metrics) row += "," + cell(metric.value);
  file_.append(row + "\n");  // a whole row or, without memory, none
}

}  // namespace drl
