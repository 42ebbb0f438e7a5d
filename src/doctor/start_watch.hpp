// Finds the ranks that keep MPI_Init from returning. Until MPI_Init returns, ranks can communicate only through files:
// ranks that still wait in it after a quarter of the timeout each create a file below the directory of runs.
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

// The ranks of one launch that wait in MPI_Init, as files <folder>/.drl_doctor-<start>/<rank>. The directory is private
// to this user, and is removed with its last file.
class WaitingRanks {
 public:
  // `folder` is an absolute path; if it does not exist, its nearest existing parent is used. `start` identifies the
  // launch; if it is empty, sign_in() fails.
  WaitingRanks(const std::filesystem::path& folder, const std::string& start) : folder_(folder), start_(start) {}

  bool sign_in(int rank) const;  // false if the file cannot be created
  void sign_out(int rank) const;
  std::vector<int> list() const;  // sorted
  void remove() const;

 private:
  std::filesystem::path directory() const;

  std::filesystem::path folder_;
  std::string start_;
};

// Ends the program if MPI has not started after `seconds`: the lowest waiting rank then reports which ranks are
// missing.
class StartWatch {
 public:
  StartWatch(Watchdog& watchdog, Report& report, const LaunchInfo& launch, const std::string& start,
             const std::filesystem::path& runs_folder, double seconds);
  // Call when MPI has started: stops the watchdog and signs this rank out.
  void started();

 private:
  void report_missing(double seconds);

  Watchdog& watchdog_;
  Report& report_;
  LaunchInfo launch_;
  WaitingRanks waiting_;
  // Shared with a thread that may outlive this object.
  struct State {
    std::atomic<bool> signed_in = false, started = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace drl
