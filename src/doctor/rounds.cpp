#include "doctor/rounds.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/exchange.hpp"
#include "comm/roll_call.hpp"
#include "gpu/vendor.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr int kMaxRanksForAllPairs = 64;  // each pair opens a connection
constexpr double kGrace = 3;              // s that answers may take to arrive after a deadline
constexpr double kForever = 1e6;          // s; the watchdog ends the process earlier

}  // namespace

std::vector<NodeInfo> node_infos(const std::vector<std::string>& hosts) {
  const std::vector<Group> all = groups_of(hosts);
  std::vector<NodeInfo> result(hosts.size());
  for (size_t host = 0; host < all.size(); ++host)
    for (int rank : all[host].ranks)
      result[rank] = {static_cast<int>(all.size()), static_cast<int>(host), rank == all[host].ranks.front(),
                      hosts.front()};
  return result;
}

std::vector<int> peers_of(int rank, int size) {
  std::set<int> peers;
  for (int distance = 1; distance < size; distance = size <= kMaxRanksForAllPairs ? distance + 1 : 2 * distance) {
    peers.insert((rank + distance) % size);
    peers.insert((rank + size - distance) % size);
  }
  return {peers.begin(), peers.end()};
}

namespace {

// Returns the finding about a rank that sent `message` instead of its result. The remedy is the message's own, if any.
Check failure_of_rank(const std::string& rank, const std::string& message) {
  Check check = check_of_message(Status::failed, message);
  check.finding = rank + " did not finish: " + check.finding;
  if (check.remedy.empty())
    check.remedy =
        fmt::format("check that node's GPUs ({}, dmesg) and network, or leave the node out (srun --exclude=NODE)",
                    kGpuVendor.show_gpus);
  return check;
}

}  // namespace

double MessageRounds::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_of_stage_).count();
}

std::vector<int> MessageRounds::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != this->rank()) ranks.push_back(rank);
  return ranks;
}

void MessageRounds::begin(const std::string& name, double extra) {
  limit_ = timeout_ + extra;
  begin_of_stage_ = std::chrono::steady_clock::now();
  if (name != name_) begin_ = begin_of_stage_;
  name_ = name;
  const auto late = [this, name](const std::string& finding) {
    report_.add({Status::failed, finding,
                 "a rank or the network hangs: look at the nodes with ps, top and dmesg, or try smaller groups of "
                 "nodes (srun --nodelist=NODES)",
                 name});
    report_.finish();
  };
  // Rank 0 knows most and reports first. Rank 1 reports if rank 0 does not respond.
  const double late_at = limit_ + 2 * kGrace;
  if (is_rank_zero()) {
    watchdog_.arm({{late_at, [=, limit = limit_] { late("did not finish within " + human_number(limit) + " s"); }}});
  } else if (rank() == 1) {
    watchdog_.arm({{2 * late_at, [=, this, host = node_.rank_0_host] {
                      report_.activate();
                      late("rank 0" + (host.empty() ? "" : " on " + host) + " does not respond");
                    }}});
  } else {
    watchdog_.arm({{2 * late_at + kGrace, [] {}}});
  }
}

void MessageRounds::roll_call() {
  begin("MPI exchange");
  RollCallAnswer me{host_name(), launch_info().local_size, {}};
  const std::vector<int> peers = peers_of(rank(), size());
  send(peers, to_wire(me), 0);
  const std::map<int, RollCallAnswer> heard = receive_roll_call(peers, timeout_);
  for (int peer : peers)
    if (!heard.contains(peer)) me.missing_peers.push_back(peer);
  if (rank() == 1 && !heard.contains(0)) {  // rank 0 cannot report this itself
    report_.activate();
    throw CheckFailed(no_answer_finding({0}, {}, timeout_));
  }
  if (!is_rank_zero()) {
    send({0}, to_wire(me), kForever);
    node_ = from_wire<NodeInfo>(receive_from_rank_0());
    return end({});
  }

  const auto note_hosts = [this](const std::map<int, RollCallAnswer>& present) {
    hosts_.resize(static_cast<size_t>(size()));
    for (const auto& [rank, one] : present) hosts_[rank] = one.host;
  };
  note_hosts(heard);  // used by receive() if a rank reports a failure
  std::map<int, RollCallAnswer> present = receive_roll_call(others(), timeout_ + kGrace - seconds());
  present[0] = me;
  const Check check = exchange_finding(size(), present, timeout_);
  if (check.status == Status::failed) throw CheckFailed(check);
  note_hosts(present);
  const std::vector<NodeInfo> all = node_infos(hosts_);
  node_ = all[0];
  for (int rank : others()) send({rank}, to_wire(all[rank]), 0);
  end(check);
}

// Sends `text` with the round's name in front. The name distinguishes it from failures that ranks report
// (send_failure()) and from messages of NCCL's start.
void MessageRounds::send(const std::vector<int>& ranks, const std::string& text, double seconds) {
  exchange(name_ + '\n' + text, ranks, {}, seconds);
}

// Returns the messages that arrive from `ranks` within `seconds`. Throws CheckFailed for a message of another kind.
std::map<int, std::string> MessageRounds::receive(const std::vector<int>& ranks, double seconds) {
  const std::string head = name_ + '\n';
  std::map<int, std::string> texts = exchange("", {}, ranks, seconds);
  for (auto& [rank, text] : texts) {
    if (!text.starts_with(head))
      throw CheckFailed(failure_of_rank(ranks_text({rank}, hosts_), std::string(trim(text))));
    text.erase(0, head.size());
  }
  return texts;
}

std::map<int, RollCallAnswer> MessageRounds::receive_roll_call(const std::vector<int>& ranks, double seconds) {
  std::map<int, RollCallAnswer> present;
  for (const auto& [rank, text] : receive(ranks, seconds)) present[rank] = from_wire<RollCallAnswer>(text);
  return present;
}

std::vector<std::string> MessageRounds::gather_texts(const std::string& mine) {
  if (!is_rank_zero()) return send({0}, mine, kForever), std::vector<std::string>();
  std::map<int, std::string> all = receive(others(), std::max(limit_ - seconds(), kGrace));
  all[0] = mine;
  std::vector<int> unanswered;
  for (int rank : others())
    if (!all.contains(rank)) unanswered.push_back(rank);
  if (!unanswered.empty()) throw CheckFailed(no_answer_finding(unanswered, hosts_, limit_));
  std::vector<std::string> texts;
  for (auto& [rank, text] : all) texts.push_back(std::move(text));
  return texts;
}

std::string MessageRounds::receive_from_rank_0() {
  const std::string head = name_ + '\n';
  std::string heard;
  while (!heard.starts_with(head)) heard = exchange("", {}, {0}, kForever).at(0);  // skip messages of NCCL's start
  return heard.substr(head.size());
}

std::string MessageRounds::broadcast(const std::string& text) {
  if (!is_rank_zero()) return receive_from_rank_0();
  send(others(), text, kGrace);
  return text;
}

Check MessageRounds::decide(const std::string& mine, const Judge& judge) {
  const std::vector<std::string> all = gather_texts(mine);
  return from_wire<Check>(broadcast(is_rank_zero() ? to_wire(judge(all)) : ""));
}

bool MessageRounds::send_failure(const std::string& reason) noexcept {
  try {
    exchange(reason, {0}, {}, 0);
    flush_messages(kGrace);
    return true;
  } catch (...) {  // also std::bad_alloc: this rank may have failed for lack of memory
    return false;
  }
}

Check MessageRounds::labelled(Check check) const {
  check.name = name_;
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return check;
}

void MessageRounds::end(const Check& check) {
  if (is_rank_zero()) report_.add(labelled(check));
  watchdog_.disarm();
}

}  // namespace drl
