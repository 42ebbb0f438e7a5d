#include "doctor/rounds.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "cluster/exchange.hpp"
#include "cluster/launch_info.hpp"
#include "cluster/machine.hpp"
#include "cluster/roll_call.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr int kAllPairs = 64;     // ranks up to which every pair is tried: each opens a connection
constexpr double kGrace = 3;      // s that answers may be under way when a deadline is over
constexpr double kForever = 1e6;  // s; the watchdog ends it

// `text` is "host<tab>ranks there".
void note(Hearings& hearings, int rank, const std::string& text) {
  const std::vector<std::string> fields = split(text, '\t');
  hearings.hosts[static_cast<size_t>(rank)] = fields.at(0);
  hearings.local_sizes[static_cast<size_t>(rank)] = std::stoi(fields.at(1));
}

Hearings nothing_heard(int size) {
  Hearings hearings;
  hearings.hosts.resize(static_cast<size_t>(size));
  hearings.local_sizes.resize(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) hearings.peers.push_back(peers_of(rank, size));
  return hearings;
}

std::vector<int> without(std::vector<int> ranks, const std::vector<int>& missed) {
  std::erase_if(ranks, [&](int rank) { return std::ranges::find(missed, rank) != missed.end(); });
  return ranks;
}

std::string text_of_standing(const Standing& standing) {
  return text_of(nlohmann::json{standing.hosts, standing.host, standing.first_of_host, standing.first_host});
}

Standing standing_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at(0), json.at(1), json.at(2), json.at(3)};
}

}  // namespace

Hearings hearings_of(int rank, int size, const std::string& me, const std::map<int, std::string>& peers) {
  Hearings hearings = nothing_heard(size);
  const std::vector<int> asked = peers_of(rank, size);
  note(hearings, rank, me);
  for (const auto& [peer, text] : peers) note(hearings, peer, text);
  // Which host is incomplete only those can tell who have asked all.
  if (std::ssize(asked) + 1 < size) std::ranges::fill(hearings.local_sizes, 0);
  for (int other = 0; other < size; ++other)
    if (peers.contains(other) || std::ranges::find(asked, other) == asked.end())
      hearings.heard[other] = hearings.peers[static_cast<size_t>(other)];
  return hearings;
}

std::vector<Standing> standings(const std::vector<std::string>& hosts) {
  const std::vector<HostRanks> all = hosts_of(hosts);
  std::vector<Standing> result(hosts.size());
  for (size_t host = 0; host < all.size(); ++host)
    for (int rank : all[host].ranks)
      result[static_cast<size_t>(rank)] = {static_cast<int>(all.size()), static_cast<int>(host),
                                           rank == all[host].ranks.front(), hosts.front()};
  return result;
}

std::vector<int> peers_of(int rank, int size) {
  std::set<int> peers;
  for (int distance = 1; distance < size; distance = size <= kAllPairs ? distance + 1 : 2 * distance) {
    peers.insert((rank + distance) % size);
    peers.insert((rank + size - distance) % size);
  }
  return {peers.begin(), peers.end()};
}

Rounds::Rounds(Communicator& comm, Report& report, Watchdog& watchdog, double timeout)
    : comm_(comm), report_(report), watchdog_(watchdog), timeout_(timeout) {}

double Rounds::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_of_stage_).count();
}

std::vector<int> Rounds::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != this->rank()) ranks.push_back(rank);
  return ranks;
}

void Rounds::begin(const std::string& name, double extra) {
  limit_ = timeout_ + extra;
  begin_of_stage_ = std::chrono::steady_clock::now();
  if (name != name_) begin_ = begin_of_stage_;
  name_ = name;
  const auto late = [this, name](const std::string& finding) {
    report_.add({name, Status::failed, finding,
                 "a rank or the network does not go on: look at the nodes (ps, top, dmesg), or try them in smaller "
                 "groups (srun --nodelist)"});
    report_.finish();
  };
  // Rank 0 knows most, and speaks first; once it is lost, rank 1 does.
  const double late_at = limit_ + 2 * kGrace;
  if (leads()) {
    watchdog_.expect({{late_at, [=, limit = limit_] { late("did not end within " + human_number(limit) + " s"); }}});
  } else if (rank() == 1) {
    watchdog_.expect({{2 * late_at, [=, this, host = standing_.first_host] {
                         report_.take_over();
                         late("rank 0" + (host.empty() ? "" : " of " + host) + " does not go on");
                       }}});
  } else {
    watchdog_.expect({{2 * late_at + kGrace, [] {}}});
  }
}

void Rounds::roll_call() {
  begin("MPI exchange");
  const std::string me = this_machine().host + "\t" + std::to_string(launch_info().local_size);
  const std::vector<int> peers = peers_of(rank(), size());
  exchange(name_ + '\n' + me, peers, {}, 0);
  const std::map<int, std::string> received = answers(peers, timeout_);
  std::vector<int> missed;
  std::ranges::copy_if(peers, std::back_inserter(missed), [&](int peer) { return !received.contains(peer); });

  if (!leads()) {
    if (rank() == 1 && !received.contains(0)) {  // nobody else can say it
      report_.take_over();
      throw CheckFailed(exchange_finding(hearings_of(rank(), size(), me, received), timeout_));
    }
    exchange(name_ + '\n' + text_of(nlohmann::json{{"me", me}, {"missed", missed}}), {0}, {}, kForever);
    standing_ = standing_of(heard_from_rank_0());
    return end({});
  }

  hosts_ = hearings_of(0, size(), me, received).hosts;  // for now
  Hearings hearings = nothing_heard(size());
  note(hearings, 0, me);
  hearings.heard[0] = without(peers, missed);
  for (const auto& [rank, text] : answers(others(), timeout_ + kGrace - seconds())) {
    const auto answer = nlohmann::json::parse(text);
    note(hearings, rank, answer.at("me"));
    hearings.heard[rank] = without(hearings.peers[static_cast<size_t>(rank)], answer.at("missed"));
  }
  const Check check = exchange_finding(hearings, timeout_);
  if (check.status == Status::failed) throw CheckFailed(check);
  hosts_ = hearings.hosts;
  const std::vector<Standing> all = standings(hosts_);
  standing_ = all[0];
  for (int rank : others()) exchange(name_ + '\n' + text_of_standing(all[static_cast<size_t>(rank)]), {rank}, {}, 0);
  end(check);
}

// Of those of `ranks` that have one, without the round's name: it tells answers from what ranks say that still wait for
// others, as NCCL's do, or give up.
std::map<int, std::string> Rounds::answers(const std::vector<int>& ranks, double seconds) {
  const std::string head = name_ + '\n';
  std::map<int, std::string> texts = exchange("", {}, ranks, seconds);
  for (auto& [rank, text] : texts) {
    if (!text.starts_with(head))
      throw CheckFailed({name_, Status::failed,
                         ranks_text({rank}, hosts_) + " did not come to its end: " + std::string(trim(text)),
                         "look at that node, its GPUs (nvidia-smi, dmesg) and its network, or leave it out (srun "
                         "--exclude=NODE)"});
    text.erase(0, head.size());
  }
  return texts;
}

std::vector<std::string> Rounds::collect(const std::string& mine) {
  if (!leads()) {
    exchange(name_ + '\n' + mine, {0}, {}, kForever);
    return {};
  }
  std::map<int, std::string> all = answers(others(), std::max(limit_ - seconds(), kGrace));
  all[0] = mine;
  std::vector<int> silent;
  for (int rank : others())
    if (!all.contains(rank)) silent.push_back(rank);
  if (!silent.empty()) throw CheckFailed(silence(name_, silent, hosts_, limit_));
  std::vector<std::string> texts;
  for (auto& [rank, text] : all) texts.push_back(std::move(text));
  return texts;
}

std::string Rounds::heard_from_rank_0() {
  const std::string head = name_ + '\n';
  std::string heard;
  while (!heard.starts_with(head)) heard = exchange("", {}, {0}, kForever).at(0);  // first may come what NCCL's said
  return heard.substr(head.size());
}

std::string Rounds::announce(const std::string& text) {
  if (!leads()) return heard_from_rank_0();
  exchange(name_ + '\n' + text, others(), {}, kGrace);
  return text;
}

std::string Rounds::decide(const std::string& mine, const Decide& verdict) {
  const std::vector<std::string> all = collect(mine);
  return announce(leads() ? verdict(all) : "");
}

bool Rounds::give_up(const std::string& reason) noexcept {
  try {
    exchange(reason, {0}, {}, 0);
    let_messages_leave(kGrace);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Rounds::end(Check check) {
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (leads()) report_.add(check);
  watchdog_.rest();
}

}  // namespace drl
