#include "doctor/rounds.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "cluster/exchange.hpp"
#include "cluster/launch_info.hpp"
#include "cluster/machine.hpp"
#include "cluster/roll_call.hpp"
#include "doctor/findings.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr int kAllPairs = 64;     // ranks up to which every pair is tried: each opens a connection
constexpr double kGrace = 3;      // s that answers may be under way when a deadline is over
constexpr double kForever = 1e6;  // s; the watchdog ends it

}  // namespace

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
    watchdog_.expect({{2 * late_at, [=, this] {
                         report_.take_over();
                         late("rank 0" + (hosts_.empty() ? "" : " of " + hosts_.front()) + " does not go on");
                       }}});
  } else {
    watchdog_.expect({{2 * late_at + kGrace, [] {}}});
  }
}

void Rounds::roll_call() {
  begin("MPI exchange");
  const LaunchInfo launch = launch_info();
  const std::string me = this_machine().host + "\t" + std::to_string(launch.local_size);
  const std::vector<int> peers = peers_of(rank(), size());
  const std::map<int, std::string> received = exchange(me, peers, peers, timeout_);
  std::vector<int> heard;
  for (const auto& [rank, text] : received) heard.push_back(rank);

  Hearings hearings;
  for (int rank = 0; rank < size(); ++rank) hearings.peers.push_back(peers_of(rank, size()));
  hearings.hosts.resize(static_cast<size_t>(size()));
  hearings.local_sizes.resize(static_cast<size_t>(size()));
  const auto note = [&](int rank, const std::string& text) {  // host, ranks there
    const std::vector<std::string> fields = split(text, '\t');
    hearings.hosts[static_cast<size_t>(rank)] = fields.at(0);
    hearings.local_sizes[static_cast<size_t>(rank)] = std::stoi(fields.at(1));
  };
  note(rank(), me);
  hearings.heard[rank()] = heard;

  if (leads()) {
    for (const auto& [rank, text] : exchange("", {}, others(), timeout_ + kGrace - seconds())) {
      const auto answer = nlohmann::json::parse(text);
      note(rank, answer.at("me"));
      hearings.heard[rank] = answer.at("heard").get<std::vector<int>>();
    }
    const Check check = exchange_finding(hearings, timeout_);
    if (check.status == Status::failed) throw CheckFailed(check);
    hosts_ = split(announce(join(hearings.hosts, "\t")), '\t');
    return end(check);
  }
  if (rank() == 1 && !received.contains(0)) {  // nobody else can say it
    report_.take_over();
    for (const auto& [rank, text] : received) {
      note(rank, text);
      hearings.heard[rank] = hearings.peers[static_cast<size_t>(rank)];
    }
    throw CheckFailed(exchange_finding(hearings, timeout_));
  }
  exchange(text_of(nlohmann::json{{"me", me}, {"heard", heard}}), {0}, {}, kForever);
  hosts_ = split(announce(""), '\t');
  end({});
}

std::vector<std::string> Rounds::collect(const std::string& mine) {
  // The name tells answers from what ranks say that still wait for others, as NCCL's do, or give up.
  const std::string head = name_ + '\n';
  if (!leads()) {
    exchange(head + mine, {0}, {}, kForever);
    return {};
  }
  std::map<int, std::string> answers = exchange("", {}, others(), std::max(limit_ - seconds(), kGrace));
  for (auto& [rank, text] : answers) {
    if (!text.starts_with(head))
      throw CheckFailed({name_, Status::failed,
                         ranks_text({rank}, hosts_) + " did not come to its end: " + std::string(trim(text)),
                         "look at that node, its GPUs (nvidia-smi, dmesg) and its network, or leave it out (srun "
                         "--exclude=NODE)"});
    text.erase(0, head.size());
  }
  answers[0] = mine;
  std::vector<int> silent;
  for (int rank : others())
    if (!answers.contains(rank)) silent.push_back(rank);
  if (!silent.empty()) throw CheckFailed(silence(name_, silent, hosts_, limit_));
  std::vector<std::string> texts;
  for (const auto& [rank, text] : answers) texts.push_back(text);
  return texts;
}

std::string Rounds::announce(const std::string& text) {
  const std::string head = name_ + '\n';
  if (leads()) return exchange(head + text, others(), {}, kGrace), text;
  std::string heard;
  while (!heard.starts_with(head)) heard = exchange("", {}, {0}, kForever).at(0);  // first may come what NCCL's said
  return heard.substr(head.size());
}

std::vector<std::string> Rounds::share(const std::string& mine) {
  const std::vector<std::string> texts = collect(mine);
  return nlohmann::json::parse(announce(text_of(nlohmann::json(texts)))).get<std::vector<std::string>>();
}

void Rounds::give_up(const std::string& reason) {
  if (!leads()) exchange(reason, {0}, {}, 0);
}

void Rounds::end(Check check) {
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (leads()) report_.add(check);
  watchdog_.rest();
}

}  // namespace drl
