// How the doctor's ranks work together: each check is a round, in which all do something and tell rank 0, which tells
// all what follows. Nobody but rank 0 hears what every rank says: that would grow as the square of the ranks. Only
// messages with deadlines are used, so that a rank that does not come back is named.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "cluster/communicator.hpp"
#include "doctor/check.hpp"
#include "doctor/findings.hpp"
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

// A rank's host among the hosts, which are counted in the order of their first ranks.
struct Standing {
  int hosts = 1, host = 0;
  bool first_of_host = true;
  std::string first_host;  // rank 0's

  bool operator==(const Standing&) const = default;
};
// Of each rank. Pure.
std::vector<Standing> standings(const std::vector<std::string>& hosts);

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
  // Once roll_call() is over: the hosts of all ranks on rank 0, where else none are known, and this rank's own among
  // them.
  const std::vector<std::string>& hosts() const { return hosts_; }
  const Standing& standing() const { return standing_; }

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
  // What rank 0 gives, on all ranks: a verdict, not what all have said.
  std::string announce(const std::string& text);
  // The verdict of rank 0 on what each rank gives, on all ranks.
  using Decide = std::function<std::string(const std::vector<std::string>& all)>;
  std::string decide(const std::string& mine, const Decide& verdict);
  // Returns when all have come to this.
  void meet() {
    decide("", [](const auto&) { return ""; });
  }
  // This rank cannot go on: rank 0 says so, if it still waits for this rank. False if MPI does not carry even that.
  bool give_up(const std::string& reason) noexcept;
  // The round is over; rank 0's `check` counts.
  void end(Check check);

 private:
  double seconds() const;  // since the stage began
  std::vector<int> others() const;
  std::map<int, std::string> answers(const std::vector<int>& ranks, double seconds);
  std::string heard_from_rank_0();

  Communicator& comm_;
  Report& report_;
  Watchdog& watchdog_;
  double timeout_;
  std::vector<std::string> hosts_;
  Standing standing_;
  std::string name_;
  double limit_ = 0;  // s
  std::chrono::steady_clock::time_point begin_, begin_of_stage_;
};

// The ranks that `rank` of `size` exchanges messages with in the roll call, sorted. Pure.
std::vector<int> peers_of(int rank, int size);

// What a rank's word on itself ("host<tab>ranks there") and those of its peers tell it: of the others it knows nothing,
// and so nothing against them. Pure.
Hearings hearings_of(int rank, int size, const std::string& me, const std::map<int, std::string>& peers);

}  // namespace drl
