// How the doctor's ranks work together: each check is a round, in which all do something and tell rank 0. Only messages
// with deadlines are used, so that a rank that does not come back is named.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "cluster/communicator.hpp"
#include "doctor/check.hpp"
#include "doctor/report.hpp"
#include "doctor/watchdog.hpp"

namespace drl {

// A check after which nothing can follow: ranks are missing. `skipped` are those that were to come.
class CheckFailed : public Error {
 public:
  explicit CheckFailed(Check check, std::vector<Check> skipped = {})
      : Error(check.finding), check_(std::move(check)), skipped_(std::move(skipped)) {}
  const Check& check() const { return check_; }
  const std::vector<Check>& skipped() const { return skipped_; }

 private:
  Check check_;
  std::vector<Check> skipped_;
};

class Rounds {
 public:
  // Each round may last `timeout` seconds.
  Rounds(Communicator& comm, Report& report, Watchdog& watchdog, double timeout);
  ~Rounds() { watchdog_.rest(); }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  Communicator& comm() { return comm_; }
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  bool leads() const { return rank() == 0; }
  double timeout() const { return timeout_; }
  Report& report() { return report_; }
  // Of all ranks, once roll_call() is over, on all ranks.
  const std::vector<std::string>& hosts() const { return hosts_; }

  // First of all: every rank with every other (of many ranks: with those at distances 1, 2, 4, ..., which are those
  // that all-reduces use). Throws CheckFailed on the rank that speaks if a rank is missing, or two do
  // not hear each other; the others are then waiting for their end.
  void roll_call();

  // A round, which a report calls `name`, begins, or a further stage of it, with as much time again. It may last
  // `extra` seconds longer where it has deadlines of its own.
  void begin(const std::string& name, double extra = 0);
  // What each rank gives, on rank 0; throws CheckFailed if a rank gives nothing in time, or is at something else. Empty
  // elsewhere.
  std::vector<std::string> collect(const std::string& mine);
  // What rank 0 gives, on all ranks.
  std::string announce(const std::string& text);
  // The same for what each rank gives.
  std::vector<std::string> share(const std::string& mine);
  // This rank cannot go on: rank 0 says so, if it still waits for this rank.
  void give_up(const std::string& reason);
  // The round is over; rank 0's `check` counts.
  void end(Check check);

 private:
  double seconds() const;  // since the stage began
  std::vector<int> others() const;

  Communicator& comm_;
  Report& report_;
  Watchdog& watchdog_;
  double timeout_;
  std::vector<std::string> hosts_;
  std::string name_;
  double limit_ = 0;  // s
  std::chrono::steady_clock::time_point begin_, begin_of_stage_;
};

// The ranks that `rank` of `size` exchanges messages with in the roll call, sorted. Pure.
std::vector<int> peers_of(int rank, int size);

}  // namespace drl
