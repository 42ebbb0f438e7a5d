// What a run directory tells of its run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/page/metrics_table.hpp"

namespace drl {

// What chose checkpoints/best.h5.
struct BestCheckpoint {
  int64_t iteration = 0;
  double score = 0;
  std::string kind;  // "training mean", "deterministic evaluation of 64 episodes"
};

struct RunRecord {
  std::filesystem::path path;
  std::string name, task;                      // of run.json, else of the folders
  std::string status, updated;                 // of run.json; "" where it does not tell
  int64_t world_size = 0, hosts = 0;           // 0: not known
  int64_t starts = 1;                          // restarts included
  std::string devices;                         // "cpu, AMD EPYC"
  double elapsed_seconds = 0, node_hours = 0;  // over all starts; NaN: not known
  std::map<std::string, std::string> options;  // by full name, "ppo.gamma"
  MetricsTable metrics;
  std::optional<BestCheckpoint> best;
  std::vector<std::filesystem::path> films;  // newest first: mp4, gif, png in the directory and one folder below
  std::vector<std::string> warnings;         // one sentence each

  // "" if the run does not name it.
  std::string option(const std::string& full_name) const;
};

// The run directories that `place` means: itself if it holds metrics.csv or run.json, else all below it, sorted, down
// to the fourth folder, without links (`latest`) and runs that --fresh put aside (`<run>.old`, `<run>.old.2`).
// Throws UsageError if there is no such folder.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& place);

// Whatever cannot be read becomes a warning. Throws UsageError if neither metrics.csv nor run.json can.
RunRecord read_run(const std::filesystem::path& directory);

}  // namespace drl
