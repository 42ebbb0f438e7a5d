// metrics.csv: one row an iteration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "report/metrics.hpp"
#include "store/file.hpp"

namespace drl {

// Columns: iteration, env_steps, and every metric by its name. Numbers are the shortest that read back as the same
// double; NaN is `nan`.
class CsvWriter {
 public:
  // For rows that have the columns of `like`. Without `resume_iteration` replaces the file by its header. With it,
  // keeps the rows up to that iteration and cuts the later ones and an unfinished last row (a file that does not exist
  // is created). Throws UsageError if the file has other columns or is no such table, Error if it cannot be written.
  CsvWriter(std::filesystem::path path, const IterationMetrics& like,
            std::optional<int64_t> resume_iteration = std::nullopt);

  // Keeps the row in memory until flush().
  void append(const IterationMetrics& metrics);
  // Writes the rows kept in memory. Throws Error (full disk): the file then holds whole rows still, and the rows stay
  // in memory for the next call.
  void flush();
  // flush(), and returns when the file is on the disk: before a checkpoint, so that no iteration up to it can be
  // missing.
  void sync();

 private:
  std::string header_, buffer_;
  AppendFile file_;
};

}  // namespace drl
