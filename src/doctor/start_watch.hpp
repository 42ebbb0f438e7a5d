// Names the ranks for which MPI_Init waits in vain. Before it returns ranks know of each other only by files: those
// that still wait after a while sign in under the folder of runs.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "doctor/report.hpp"
#include "doctor/watchdog.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// Ranks of one start that wait. Files <folder>/.drl_doctor-<start>/<rank>, in a folder that is this user's
// alone; nothing is left of them in the end.
class WaitingRanks {
 public:
  // `folder` is absolute; where it is missing, the nearest one above it serves. Nobody can sign in if `start` is empty.
  WaitingRanks(const std::filesystem::path& folder, const std::string& start) : folder_(folder), start_(start) {}

  bool sign_in(int rank) const;  // false if that cannot be written
  void sign_out(int rank) const;
  std::vector<int> list() const;  // sorted
  void remove() const;

 private:
  std::filesystem::path place() const;

  std::filesystem::path folder_;
  std::string start_;
};

// While it lives, the watchdog waits for MPI to start: after `seconds` the lowest of the waiting ranks reports who is
// missing, and all end.
class StartWatch {
 public:
  StartWatch(Watchdog& watchdog, Report& report, const LaunchInfo& launch, const std::string& start,
             const std::filesystem::path& runs_folder, double seconds);
  // MPI has started.
  void started();

 private:
  void report_missing(double seconds);

  Watchdog& watchdog_;
  Report& report_;
  LaunchInfo launch_;
  WaitingRanks waiting_;
  // Shared with a thread that may be left behind.
  struct State {
    std::atomic<bool> signed_in = false, started = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace drl
