#include "report/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// std::to_chars would write "-nan" for some NaNs.
std::string cell(double number) { return std::isnan(number) ? "nan" : number_text(number); }

constexpr const char *kFirstColumns = "iteration,env_steps", *kNoNumber = ",nan";

// Leaves out max_iterations: changing that option must not change the file.
std::string header_of(const IterationMetrics& row) {
  std::string header = kFirstColumns;
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

// `line` ends with a newline.
std::vector<std::string> cells_of(std::string_view line) { return split(line.substr(0, line.size() - 1), ','); }

// Moves the cells of rows from the columns of one header to those of another.
class Columns {
 public:
  Columns(const fs::path& path, std::string_view from, const std::string& to) : path_(path), same_(from == to) {
    const std::vector<std::string> old = cells_of(from);
    width_ = old.size();
    for (const std::string& name : cells_of(to))
      sources_.push_back(static_cast<size_t>(std::ranges::find(old, name) - old.begin()));
  }
  std::string moved(std::string_view row) const {
    if (same_) return std::string(row);
    std::vector<std::string> cells = cells_of(row);
    if (cells.size() != width_) refuse(path_, "a row has " + counted(cells.size(), "cell"));
    cells.push_back(kNoNumber + 1);  // of the columns that the old header lacks
    std::string text;
    for (const size_t source : sources_) text += (text.empty() ? "" : ",") + cells[source];
    return text + "\n";
  }

 private:
  const fs::path& path_;
  const bool same_;
  size_t width_ = 0;
  std::vector<size_t> sources_;  // [columns] of the old row; width_: none
};

// Returns the text that the file must have before rows are appended: a header, which begins with `header`, and the rows
// up to `last_iteration`. Drops an unfinished row at the end.
std::string kept_rows(const fs::path& path, std::string_view text, const std::string& header, int64_t last_iteration) {
  const std::string_view old = text.substr(0, text.find('\n') + 1);
  if (!old.starts_with(kFirstColumns)) refuse(path, "its first line does not begin with " + std::string(kFirstColumns));
  std::string kept = header.substr(0, header.size() - 1);
  const std::vector<std::string> own = cells_of(header);
  for (const std::string& name : cells_of(old))
    if (!contains(own, name)) kept += "," + name;
  kept += "\n";
  const Columns columns(path, old, kept);
  text.remove_prefix(old.size());
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    const std::string_view row = text.substr(0, end + 1);
    if (iteration_of(path, row) <= last_iteration) kept += columns.moved(row);
  }
  return kept;
}

// Writes the file as it must be before rows are appended. Sets the cells of its columns that are not in `header`.
fs::path started(const fs::path& path, const std::string& header, std::optional<int64_t> resume_iteration,
                 std::string& no_numbers) {
  const bool continues = resume_iteration && fs::exists(path);
  const std::string text = continues ? kept_rows(path, read_text(path), header, *resume_iteration) : header;
  for (auto k = std::ranges::count(header, ','); k < std::ranges::count(text.substr(0, text.find('\n')), ','); ++k)
    no_numbers += kNoNumber;
  write_file_atomically(path, bytes_of(text));
  return path;
}

}  // namespace

CsvWriter::CsvWriter(fs::path path, const IterationMetrics& like, std::optional<int64_t> resume_iteration)
    : header_(header_of(like)),
      file_(started(path, header_, resume_iteration, no_numbers_), AppendFile::Start::append) {}

void CsvWriter::append(const IterationMetrics& metrics) {
  DRL_CHECK(header_of(metrics) == header_, "the columns changed");
  std::string row = number_text(metrics.iteration) + "," + number_text(metrics.env_steps);
  for (const Metric& metric : metrics.metrics) row += "," + cell(metric.value);
  file_.append(row + no_numbers_ + "\n");  // a whole row or, without memory, none
}

}  // namespace drl
