// Collective checks with deadlines. In a round, every rank sends its result to rank 0; rank 0 judges the results and
// may send its verdict to all. Only rank 0 receives the results of all ranks, because the traffic would otherwise grow
// with the square of the number of ranks. Rounds use messages with deadlines instead of MPI's collectives, so that a
// rank that does not respond can be named.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "comm/wire.hpp"
#include "doctor/findings.hpp"
#include "doctor/watchdog.hpp"

namespace drl {

// Thrown by a check after which no other check can run: ranks are missing, or a GPU or NCCL failed.
struct CheckFailed : Error {
  explicit CheckFailed(Check failed) : Error(failed.finding), check(std::move(failed)) {}
  Check check;
};

// A rank's node. Nodes are numbered in the order of their lowest ranks.
struct NodeInfo {
  int count = 1;              // nodes in all
  int index = 0;              // this rank's node
  bool is_first_rank = true;  // this rank is the lowest of its node
  std::string rank_0_host;    // host name of rank 0

  bool operator==(const NodeInfo&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeInfo, count, index, is_first_rank, rank_0_host)
// Returns the node of each rank, from the ranks' host names. Pure.
std::vector<NodeInfo> node_infos(const std::vector<std::string>& hosts);

class MessageRounds {
 public:
  // Each stage of a round may last `timeout` seconds.
  MessageRounds(Communicator& comm, Report& report, Watchdog& watchdog, double timeout)
      : comm_(comm), report_(report), watchdog_(watchdog), timeout_(timeout) {}
  ~MessageRounds() { watchdog_.disarm(); }
  MessageRounds(const MessageRounds&) = delete;
  MessageRounds& operator=(const MessageRounds&) = delete;

  Communicator& comm() { return comm_; }
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  bool is_rank_zero() const { return rank() == 0; }
  double timeout() const { return timeout_; }
  Report& report() { return report_; }
  // After roll_call(): on rank 0 the host names of all ranks, elsewhere empty.
  const std::vector<std::string>& hosts() const { return hosts_; }
  // After roll_call(): this rank's node.
  const NodeInfo& node() const { return node_; }

  // The first round: every rank exchanges messages with every other one or, among more than 64 ranks, with those at the
  // distances 1, 2, 4, ... that all-reduces use. If a rank is missing or two cannot reach each other, throws
  // CheckFailed on the rank that reports it; the other ranks then wait to be aborted.
  void roll_call();

  // Begins the round `name`, or its next stage if that round has begun already. Each has the full timeout, plus `extra`
  // seconds for work that has its own deadlines.
  void begin(const std::string& name, double extra = 0);
  // Collective. Returns every rank's `mine` on rank 0, and nothing elsewhere. Throws CheckFailed on rank 0 if a rank
  // does not answer in time or reports a failure instead.
  std::vector<std::string> gather_texts(const std::string& mine);
  // gather_texts() for a type that converts to JSON.
  template <class T>
  std::vector<T> gather(const T& mine) {
    std::vector<T> all;
    for (const std::string& text : gather_texts(to_wire(mine))) all.push_back(from_wire<T>(text));
    return all;
  }
  // Collective. Returns rank 0's `text` on all ranks.
  std::string broadcast(const std::string& text);
  // Collective. Rank 0 calls `judge` with every rank's `mine`; returns its verdict on all ranks.
  using Judge = std::function<Check(const std::vector<std::string>& all)>;
  Check decide(const std::string& mine, const Judge& judge);
  // Collective. Returns when all ranks have called it.
  void barrier() {
    decide("", [](const auto&) { return Check{}; });
  }
  // Tells rank 0 why this rank cannot continue; rank 0 reports it if it still waits for this rank. Returns false if MPI
  // cannot send the message.
  bool send_failure(const std::string& reason) noexcept;
  // Returns `check` with this round's name and its duration so far.
  Check labelled(Check check) const;
  // Ends the round. Rank 0 adds its `check` to the report; the others' is ignored.
  void end(const Check& check);

 private:
  double seconds() const;  // since the stage began
  std::vector<int> others() const;
  std::map<int, std::string> receive(const std::vector<int>& ranks, double seconds);
  std::map<int, RollCallAnswer> receive_roll_call(const std::vector<int>& ranks, double seconds);
  void send(const std::vector<int>& ranks, const std::string& text, double seconds);
  std::string receive_from_rank_0();

  Communicator& comm_;
  Report& report_;
  Watchdog& watchdog_;
  double timeout_;
  std::vector<std::string> hosts_;
  NodeInfo node_;
  std::string name_;
  double limit_ = 0;  // s
  std::chrono::steady_clock::time_point begin_, begin_of_stage_;
};

// Returns the ranks with which `rank` of `size` exchanges messages in the roll call, sorted. Pure.
std::vector<int> peers_of(int rank, int size);

}  // namespace drl
