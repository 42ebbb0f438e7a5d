// Writes metrics.csv, one row per iteration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "report/metrics.hpp"
#include "store/file.hpp"

namespace drl {

// The columns are iteration, env_steps, and every metric by its name. Numbers have the fewest digits that read back as
// the same double; NaN is `nan`.
class CsvWriter {
 public:
  // Opens the file for rows with the columns of `like`. Without `resume_iteration`, replaces the file by a header. With
  // it, keeps the rows up to that iteration and removes later rows and an unfinished last row; a missing file is
  // created. If the file has other columns, it gets those of `like`, and its own that are missing there after them;
  // cells without a number are `nan`. Throws UsageError if the file is not such a table, Error if it cannot be written.
  CsvWriter(std::filesystem::path path, const IterationMetrics& like,
            std::optional<int64_t> resume_iteration = std::nullopt);

  // Keeps the row in memory until flush().
  void append(const IterationMetrics& metrics);
  // Writes the rows kept in memory (AppendFile::flush).
  void flush() { file_.flush(); }
  // Flushes and waits until the file is on the disk. Called before a checkpoint is saved, so that no row up to it can
  // be missing.
  void sync() { file_.sync(); }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  std::string header_, no_numbers_;  // of the run's columns; cells of the file's further columns
  AppendFile file_;
};

}  // namespace drl
