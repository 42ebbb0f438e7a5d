#include "doctor/rounds.hpp"

#include <algorithm>
#include <set>

#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/exchange.hpp"
#include "comm/roll_call.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

using Json = nlohmann::json;

constexpr int kAllPairs = 64;     // ranks up to which every pair is tried: each opens a connection
constexpr double kGrace = 3;      // s that answers may be under way when a deadline is over
constexpr double kForever = 1e6;  // s; the watchdog ends it

}  // namespace

std::vector<Standing> standings(const std::vector<std::string>& hosts) {
  const std::vector<Group> all = groups_of(hosts);
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
    report_.add({Status::failed, finding,
                 "a rank or the network does not go on: look at the nodes (ps, top, dmesg), or try them in smaller "
                 "groups (srun --nodelist)",
                 name});
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
  Presence me{host_name(), launch_info().local_size, {}};
  const std::vector<int> peers = peers_of(rank(), size());
  tell(peers, text_of(Json(me)), 0);
  const std::map<int, Presence> heard = presences(peers, timeout_);
  for (int peer : peers)
    if (!heard.contains(peer)) me.missed.push_back(peer);
  if (rank() == 1 && !heard.contains(0)) {  // nobody else can say it
    report_.take_over();
    throw CheckFailed(silence({0}, {}, timeout_));
  }
  if (!leads()) {
    tell({0}, text_of(Json(me)), kForever);
    standing_ = Json::parse(heard_from_rank_0()).get<Standing>();
    return end({});
  }

  const auto note_hosts = [this](const std::map<int, Presence>& present) {
    hosts_.resize(static_cast<size_t>(size()));
    for (const auto& [rank, one] : present) hosts_[static_cast<size_t>(rank)] = one.host;
  };
  note_hosts(heard);  // for now
  std::map<int, Presence> present = presences(others(), timeout_ + kGrace - seconds());
  present[0] = me;
  const Check check = exchange_finding(size(), present, timeout_);
  if (check.status == Status::failed) throw CheckFailed(check);
  note_hosts(present);
  const std::vector<Standing> all = standings(hosts_);
  standing_ = all[0];
  for (int rank : others()) tell({rank}, text_of(Json(all[static_cast<size_t>(rank)])), 0);
  end(check);
}

// Messages carry the round's name: it tells them from what ranks say that still wait for others, as NCCL's do, or give
// up.
void Rounds::tell(const std::vector<int>& ranks, const std::string& text, double seconds) {
  exchange(name_ + '\n' + text, ranks, {}, seconds);
}

// Of those of `ranks` that have one.
std::map<int, std::string> Rounds::answers(const std::vector<int>& ranks, double seconds) {
  const std::string head = name_ + '\n';
  std::map<int, std::string> texts = exchange("", {}, ranks, seconds);
  for (auto& [rank, text] : texts) {
    if (!text.starts_with(head))
      throw CheckFailed({Status::failed,
                         ranks_text({rank}, hosts_) + " did not come to its end: " + std::string(trim(text)),
                         "look at that node, its GPUs (nvidia-smi, dmesg) and its network, or leave it out (srun "
                         "--exclude=NODE)"});
    text.erase(0, head.size());
  }
  return texts;
}

std::map<int, Presence> Rounds::presences(const std::vector<int>& ranks, double seconds) {
  std::map<int, Presence> present;
  for (const auto& [rank, text] : answers(ranks, seconds)) present[rank] = Json::parse(text).get<Presence>();
  return present;
}

std::vector<std::string> Rounds::collect(const std::string& mine) {
  if (!leads()) return tell({0}, mine, kForever), std::vector<std::string>();
  std::map<int, std::string> all = answers(others(), std::max(limit_ - seconds(), kGrace));
  all[0] = mine;
  std::vector<int> silent;
  for (int rank : others())
    if (!all.contains(rank)) silent.push_back(rank);
  if (!silent.empty()) throw CheckFailed(silence(silent, hosts_, limit_));
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
  tell(others(), text, kGrace);
  return text;
}

Check Rounds::decide(const std::string& mine, const Judge& verdict) {
  const std::vector<std::string> all = collect(mine);
  return Json::parse(announce(leads() ? text_of(Json(verdict(all))) : "")).get<Check>();
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

Check Rounds::named(Check check) const {
  check.name = name_;
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return check;
}

void Rounds::end(const Check& check) {
  if (leads()) report_.add(named(check));
  watchdog_.rest();
}

}  // namespace drl
