// Reads a run directory for the report.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
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

// The metadata of checkpoints/best.h5.
struct BestCheckpoint {
  int64_t iteration = 0;
  double score = 0;
  std::string kind;  // "training mean", "deterministic evaluation of 64 episodes"
};

struct RunRecord {
  std::filesystem::path path;
  std::string name, task;             // from run.json, else from the path
  std::string status, updated;        // from run.json; "" if missing there
  int64_t world_size = 0, hosts = 0;  // 0 if unknown
  int64_t starts = 1;                 // restarts included
  std::string devices;                // "AMD EPYC", "NVIDIA H200"
  bool on_gpus = false;
  double elapsed_seconds = 0, node_hours = 0;               // over all starts; NaN if unknown
  double gpu_joules = NAN, joules_per_million_steps = NAN;  // over all starts; NaN if unknown
  std::map<std::string, std::string> options;               // by full name, "ppo.gamma"
  MetricsTable metrics;
  std::optional<BestCheckpoint> best;
  std::vector<std::filesystem::path> films;  // mp4, gif, png in the directory and one level below, newest first
  std::vector<std::string> warnings;         // one sentence each

  // Returns the value of an option, "" if the run does not have it.
  std::string option(const std::string& full_name) const;
};

// Returns `place` if it contains metrics.csv or run.json, else the sorted run directories up to four levels below it. A
// run's name means the runs of this name of all tasks in the directory of all runs.
// Skips links, latest, and runs that --fresh renamed (`<run>.old`, `<run>.old.2`). Throws UsageError if `place` is
// not a directory.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& place);

// Reads a run. Files that cannot be read become warnings. Throws UsageError if neither metrics.csv nor run.json can be
// read.
RunRecord read_run(const std::filesystem::path& directory);

// Reads metrics.csv, also if it is damaged or still being written.

}  // namespace drl
