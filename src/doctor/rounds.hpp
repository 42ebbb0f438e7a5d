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
#include "comm/communicator.hpp"
#include "doctor/findings.hpp"
#include "doctor/watchdog.hpp"

namespace drl {

// A check after which nothing can follow: ranks are missing, or a GPU or NCCL failed.
struct CheckFailed : Error {
  explicit CheckFailed(Check failed) : Error(failed.finding), check(std::move(failed)) {}
  Check check;
};

// A rank's host among the hosts, which are counted in the order of their first ranks.
struct Standing {
  int hosts = 1, host = 0;
  bool first_of_host = true;
  std::string first_host;  // rank 0's

  bool operator==(const Standing&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Standing, hosts, host, first_of_host, first_host)
// Of each rank. Pure.
std::vector<Standing> standings(const std::vector<std::string>& hosts);

class Rounds {
 public:
  // Each round may last `timeout` seconds.
  Rounds(Communicator& comm, Report& report, Watchdog& watchdog, double timeout)
      : comm_(comm), report_(report), watchdog_(watchdog), timeout_(timeout) {}
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
  // that all-reduces use). Throws CheckFailed on the rank that speaks if a rank is missing, or two do not hear each
  // other; the others are then waiting for their end.
  void roll_call();

  // A round, which a report calls `name`, begins, or a further stage of it, with as much time again. It may last
  // `extra` seconds longer where it has deadlines of its own.
  void begin(const std::string& name, double extra = 0);
  // What each rank gives, on rank 0; throws CheckFailed if a rank gives nothing in time, or is at something else. Empty
  // elsewhere.
  std::vector<std::string> collect(const std::string& mine);
  template <class T>
  std::vector<T> gather(const T& mine) {
    std::vector<T> all;
    for (const std::string& text : collect(text_of(nlohmann::json(mine))))
      all.push_back(nlohmann::json::parse(text).get<T>());
    return all;
  }
  // What rank 0 gives, on all ranks: a verdict, not what all have said.
  std::string announce(const std::string& text);
  // What rank 0 finds in what each rank gives, on all ranks.
  using Judge = std::function<Check(const std::vector<std::string>& all)>;
  Check decide(const std::string& mine, const Judge& verdict);
  // Returns when all have come to this.
  void meet() {
    decide("", [](const auto&) { return Check{}; });
  }
  // This rank cannot go on: rank 0 says so, if it still waits for this rank. False if MPI does not carry even that.
  bool give_up(const std::string& reason) noexcept;
  // `check` as the report has it: with this round's name, and the time since its beginning.
  Check named(Check check) const;
  // The round is over; rank 0's `check` counts.
  void end(const Check& check);

 private:
  double seconds() const;  // since the stage began
  std::vector<int> others() const;
  std::map<int, std::string> answers(const std::vector<int>& ranks, double seconds);
  std::map<int, Presence> presences(const std::vector<int>& ranks, double seconds);
  void tell(const std::vector<int>& ranks, const std::string& text, double seconds);
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

}  // namespace drl
