#include "doctor/checks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cluster/exchange.hpp"
#include "cluster/machine.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/findings.hpp"
#include "doctor/gpu_checks.hpp"
#include "run/deadline.hpp"
#include "run/run_directory.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kPings = 5;              // to each host; the fastest counts
constexpr int kSpeedTries = 10;        // the fastest counts
constexpr double kSqueuePatience = 5;  // s

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Log lines that this process would print while `work` runs. A ReportedError of `work` ends there.
std::vector<std::string> messages_of(const std::function<void()>& work) {
  std::vector<std::string> lines;
  log::set_writer([&](std::string_view line) { lines.emplace_back(trim(line)); });
  try {
    work();
  } catch (const ReportedError&) {  // its message is among the lines of some rank
  } catch (...) {
    log::set_writer({});
    throw;
  }
  log::set_writer({});
  return lines;
}

// The worst of what the ranks said.
Check placement_finding(const std::vector<std::string>& lines, const std::string& otherwise) {
  for (const auto& [prefix, status] : {std::pair{"error: ", Status::failed}, {"warning: ", Status::warning}})
    for (const std::string& line : lines)
      if (line.starts_with(prefix))
        return check_of_message("placement", status, line.substr(std::string_view(prefix).size()));
  return {"placement", Status::ok, otherwise};
}

// Every rank's first all-reduces, with a deadline: a network that loses large messages shows here.
bool sums_are_right(Rounds& rounds) {
  bool right = true;
  for (int64_t bytes : {kSmall, kGradient, kMedium}) {
    const auto sum = all_reduce_within(summands(rounds.rank(), bytes), rounds.timeout());
    if (!sum) {
      rounds.collect("");  // names a rank that has gone
      throw CheckFailed(
          {"all-reduce", Status::failed,
           "one of " + human_bytes(static_cast<double>(bytes)) + " did not end within " +
               std::to_string(static_cast<int>(rounds.timeout())) + " s, though all ranks answer",
           "the network loses large messages (look at the MTU and the firewall), or MPI took a wrong one: " +
               network_variables()});
    }
    right &= is_right(*sum, rounds.size());  // all ranks go on alike
  }
  return right;
}

AllReduceTimes measure_on_host(Communicator& comm) {
  return measure(comm, [&](int64_t bytes, int times) {
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < times; ++k) comm.all_reduce_sum(std::span(data));
    return seconds_since(begin);
  });
}

// Plain arithmetic in registers, about 2 ms.
double arithmetic(double seed) {
  double x[8];
  for (int k = 0; k < 8; ++k) x[k] = seed + k;
  for (int i = 0; i < 500000; ++i)
    for (double& value : x) value = value * 0.999999 + 1e-7;
  return std::accumulate(std::begin(x), std::end(x), 0.0);
}

double fastest_arithmetic() {
  volatile double sink = 0;
  double best = HUGE_VAL;
  for (int k = 0; k < kSpeedTries; ++k) {
    const Clock::time_point begin = Clock::now();
    sink = arithmetic(k);
    best = std::min(best, seconds_since(begin));
  }
  (void)sink;
  return best;
}

// Rank 0's folder among the runs, with a lock and a file whose text is its own path; it goes away with this object.
class TestFolder {
 public:
  explicit TestFolder(const fs::path& runs_folder)
      : path_(fs::absolute(runs_folder) / (".drl_doctor-" + this_machine().host + "-" + std::to_string(getpid()) + "-" +
                                           std::to_string(Clock::now().time_since_epoch().count()))),
        lock_(RunLock::take(path_, /*must_be_new=*/true, 0700)) {
    if (!lock_ || !create_own_file(file(path_), path_.string()))
      throw UsageError("the folder " + path_.string() +
                       " cannot be used (another process has made or changed it): start drl_doctor again");
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove(file(path_), ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const fs::path& path() const { return path_; }
  bool has_lock_file() const { return !lock_->no_locks().empty(); }
  static fs::path file(const fs::path& folder) { return folder / "written_by_rank_0"; }

 private:
  fs::path path_;
  std::unique_ptr<RunLock> lock_;
};

FolderVisit visit(const fs::path& folder, bool try_lock) {
  FolderVisit result;
  errno = 0;  // an empty file leaves it
  std::ifstream file(TestFolder::file(folder));
  std::string text;
  if (!file || !std::getline(file, text)) {
    const int error = errno;
    result.read = error ? std::strerror(error) : "it is empty";
  } else if (text != folder) {
    result.read = "another file is there";
  } else if (try_lock) {
    result.lock_holds = RunLock::take(folder) == nullptr;
  }
  return result;
}

}  // namespace

Placement check_placement(Rounds& rounds, const LaunchInfo& launch, const PlacementWish& wish) {
  rounds.begin("placement");
  Placement placement;
  const std::vector<std::string> said = messages_of([&] {
    placement = place_rank(rounds.comm(), launch, process_environment(), wish.device, wish.gpu_ids,
                           wish.threads ? std::optional(wish.threads) : std::nullopt);
  });
  std::vector<std::string> all;
  for (const std::string& lines : rounds.collect(join(said, "\n")))
    for (const std::string& line : split(lines, '\n')) all.push_back(line);
  rounds.end(placement_finding(all, placement.text));
  return placement;
}

Ranks meet(Rounds& rounds, const LaunchInfo& launch, const Placement& placement) {
  rounds.begin("facts");
  Ranks ranks{facts_of_this_rank(launch, placement), {}};
  add_gpu_facts(placement, ranks.mine);
  for (const std::string& text : rounds.collect(text_of(nlohmann::json(ranks.mine))))
    ranks.all.push_back(nlohmann::json::parse(text).get<RankFacts>());
  if (rounds.leads())
    rounds.report().add_ranks(ranks.all, "drl_doctor " + std::string(kVersion) + ": " + counted(rounds.size(), "rank") +
                                             " on " + counted(rounds.standing().hosts, "node") +
                                             (launch.launched() ? ", started by " + launch.launcher : ""));
  return ranks;
}

void check_facts(Rounds& rounds, const std::vector<RankFacts>& ranks) {
  if (!rounds.leads()) return;
  std::vector<std::string> builds;
  for (const RankFacts& rank : ranks) builds.push_back(rank.build);
  for (const Check& check : {build_finding(builds, rounds.hosts()), cpu_finding(ranks), library_finding(ranks)}) {
    rounds.begin(check.name);
    rounds.end(check);
  }
}

// The first rank of each host answers rank 0 with its time, which rank 0 compares with the middle between its own times
// of asking and hearing.
void check_clocks(Rounds& rounds) {
  rounds.begin("clocks");
  for (int ping = 0; !rounds.leads() && rounds.standing().first_of_host && ping < kPings; ++ping) {
    exchange("", {}, {0}, rounds.timeout());
    exchange(std::to_string(wall_clock()), {0}, {}, rounds.timeout());
  }
  if (!rounds.leads()) return rounds.end({});
  std::vector<ClockOffset> offsets;
  for (const HostRanks& host : hosts_of(rounds.hosts())) {
    const int other = host.ranks.front();
    ClockOffset offset{host.name, 0};
    double shortest = HUGE_VAL;
    for (int ping = 0; other != 0 && ping < kPings; ++ping) {
      const double asked = wall_clock();
      const auto answer = exchange("", {other}, {other}, rounds.timeout());
      const double heard = wall_clock();
      if (answer.empty()) throw CheckFailed(silence("clocks", {other}, rounds.hosts(), rounds.timeout()));
      if (heard - asked >= shortest) continue;
      shortest = heard - asked;
      offset.seconds = std::stod(answer.at(other)) - (asked + heard) / 2;
    }
    offsets.push_back(offset);
  }
  rounds.end(clock_finding(offsets));
}

void check_all_reduce(Rounds& rounds) {
  rounds.begin("all-reduce");
  if (rounds.size() == 1) return rounds.end({"all-reduce", Status::ok, "1 rank, nothing to add up"});
  if (!rounds.decide(sums_are_right(rounds) ? "" : "wrong", [](const auto& all) { return join(all, "").substr(0, 5); })
           .empty())
    return rounds.end(
        {"all-reduce", Status::failed, "sums are wrong",
         "this MPI or network corrupts data: try another transport (Open MPI: OMPI_MCA_pml=ob1), and tell "
         "the administrator"});

  const int hosts = rounds.standing().hosts;
  if (rounds.size() > hosts) {
    const auto here = make_group_communicator(rounds.standing().host);
    const Json times = here->size() > 1 ? json_of(measure_on_host(*here)) : Json::array();
    const std::vector<std::string> all = rounds.collect(times.dump());
    if (rounds.leads()) {
      const AllReduceTimes worst = slowest(all, rounds.hosts());
      rounds.report().add_figures("all_reduce_in_a_node", json_of(worst));
      rounds.end(all_reduce_finding("all-reduce, node", worst));
    } else {
      rounds.end({});
    }
  }
  if (hosts == 1) return;
  rounds.begin("all-reduce, all");
  const AllReduceTimes times = measure_on_host(rounds.comm());
  rounds.report().add_figures("all_reduce_of_all_ranks", json_of(times));
  rounds.end(all_reduce_finding("all-reduce, all", times));
}

void check_speed(Rounds& rounds) {
  rounds.begin("node speed");
  rounds.meet();  // all begin at the same time, as they compute in a training
  std::vector<double> seconds;
  for (const std::string& text : rounds.collect(std::to_string(1e6 * fastest_arithmetic())))
    seconds.push_back(1e-6 * std::stod(text));
  if (rounds.leads()) rounds.report().add_figures("arithmetic_seconds", seconds);
  rounds.end(rounds.leads() ? speed_finding(seconds, rounds.hosts()) : Check{});
}

void check_folder(Rounds& rounds, const fs::path& runs_folder) {
  rounds.begin("run directory");
  std::unique_ptr<TestFolder> folder;
  std::string error;
  if (rounds.leads()) try {
      folder = std::make_unique<TestFolder>(runs_folder);
    } catch (const Error& cannot) {
      error = cannot.what();
    }
  const fs::path path = rounds.announce(folder ? folder->path().string() : "");
  if (path.empty()) return rounds.end(check_of_message("run directory", Status::failed, error));

  const FolderVisit mine = visit(path, rounds.standing().first_of_host && rounds.standing().host != 0);
  const std::string lock = mine.lock_holds ? (*mine.lock_holds ? "holds" : "does not") : "";
  std::vector<FolderVisit> visits;
  for (const std::string& text : rounds.collect(text_of(Json::array({mine.read, lock})))) {
    const Json answer = Json::parse(text);
    visits.push_back({answer.at(0), answer.at(1) == "" ? std::nullopt : std::optional(answer.at(1) == "holds")});
  }
  if (!rounds.leads()) return rounds.end({});
  std::error_code ignored;
  const fs::space_info space = fs::space(path, ignored);
  rounds.end(folder_finding(path.parent_path().string(), visits, rounds.hosts(), static_cast<double>(space.available),
                            folder->has_lock_file()));
}

void check_time_left(Rounds& rounds, const std::optional<Allocation>& job) {
  rounds.begin("time left");
  if (!rounds.leads()) return rounds.end({});
  rounds.end(time_finding(job ? job->job : "", job ? Deadline(*job, 0).time_left(kSqueuePatience) : std::nullopt));
}

}  // namespace drl
