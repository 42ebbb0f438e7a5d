#include "doctor/checks.hpp"

#include <unistd.h>

#include <chrono>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi_library.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/findings.hpp"
#include "launch/child.hpp"
#include "report/format.hpp"
#include "run/deadline.hpp"
#include "run/run_directory.hpp"

namespace drl {
namespace {

using fmt::format;

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kSlurmPatience = 5;  // s

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
      if (line.starts_with(prefix)) return check_of_message(status, line.substr(std::string_view(prefix).size()));
  return {Status::ok, otherwise};
}

// Every rank's first all-reduces, with a deadline: a network that loses large messages shows here.
bool sums_are_right(Rounds& rounds) {
  bool right = true;
  for (int64_t bytes : {kSmall, kGradient, kMedium}) {
    const auto sum = all_reduce_within(summands(rounds.rank(), bytes), rounds.timeout());
    if (!sum) {
      rounds.collect("");  // names a rank that has gone
      const std::string cause =
          bytes == kSmall ? "messages arrive, but MPI's all-reduces do not end: leave out what speeds them up "
                            "(Open MPI: OMPI_MCA_coll=^hcoll,ucc)"
                          : "the network loses large messages (look at the MTU and the firewall)";
      throw CheckFailed({Status::failed,
                         format("one of {} did not end within {} s, though all ranks answer",
                                human_bytes(static_cast<double>(bytes)), human_number(rounds.timeout())),
                         cause + ", or MPI took a wrong network: " + network_variables()});
    }
    right &= is_right(*sum, rounds.size());  // all ranks go on alike
  }
  return right;
}

// Not kLarge, which MPI needs several times: a job that was granted little memory would be ended for it.
AllReduceTimes measure_on_host(Communicator& comm) {
  return measure(comm, kMedium, [&](int64_t bytes, int times) {
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < times; ++k) comm.all_reduce_sum(std::span(data));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  });
}

FolderVisit visit(const fs::path& folder, bool try_lock) {
  std::error_code error;
  const fs::directory_iterator within(folder, error);
  if (error) return {error.message()};
  return {"", try_lock && RunLock::take(folder)};
}

}  // namespace

Placement check_placement(Rounds& rounds, const LaunchInfo& launch, const std::string& device,
                          const std::string& gpu_ids, int threads) {
  rounds.begin("placement");
  Placement placement;
  const std::vector<std::string> said = messages_of([&] {
    placement = place_rank(rounds.comm(), launch, process_environment(), device, gpu_ids,
                           threads ? std::optional(threads) : std::nullopt);
  });
  std::vector<std::string> all;
  for (const std::vector<std::string>& lines : rounds.gather(said)) all.insert(all.end(), lines.begin(), lines.end());
  rounds.end(placement_finding(all, placement.text));
  return placement;
}

std::vector<RankFacts> check_facts(Rounds& rounds, const LaunchInfo& launch, const Placement& placement, double load) {
  rounds.begin("facts");
  RankFacts mine = facts_of_this_rank(launch, placement, load);
  add_gpu_facts(placement, mine);
  const std::vector<RankFacts> ranks = rounds.gather(mine);
  if (!rounds.leads()) return ranks;
  rounds.report().add_ranks(ranks, format("drl_doctor {}: {} on {}{}", kVersion, counted(rounds.size(), "rank"),
                                          counted(rounds.standing().hosts, "node"),
                                          launch.launched() ? ", started by " + launch.launcher : ""));
  for (const auto& [name, finding] : {std::pair{"drl build", &build_finding},
                                      {"hardware", hardware_finding},
                                      {"libraries", library_finding},
                                      {"program load", load_finding}}) {
    rounds.begin(name);
    rounds.end(finding(ranks));
  }
  return ranks;
}

void check_all_reduce(Rounds& rounds) {
  rounds.begin("all-reduce");
  if (rounds.size() == 1) return rounds.end({Status::ok, "1 rank, nothing to add up"});
  const Check sums = agree_on_sums(rounds, sums_are_right(rounds),
                                   "this MPI or network corrupts data: try another transport "
                                   "(Open MPI: OMPI_MCA_pml=ob1), and tell the administrator");
  if (sums.status == Status::failed) return rounds.end(sums);

  const int hosts = rounds.standing().hosts;
  if (rounds.size() > hosts) {
    rounds.begin("all-reduce, node");
    const auto here = make_group_communicator(rounds.standing().host);
    end_with_times(rounds, "all_reduce_in_a_node", here->size() > 1 ? measure_on_host(*here) : AllReduceTimes{},
                   host_limits());
  }
  if (hosts == 1) return;
  rounds.begin("all-reduce, all");
  end_with_times(rounds, "all_reduce_of_all_ranks", measure_on_host(rounds.comm()), host_limits());
}

void check_folder(Rounds& rounds, const fs::path& runs_folder) {
  rounds.begin("run directory");
  // Rank 0's folder among the runs, of a name that nobody else has; it goes away with its lock.
  fs::path folder = fs::absolute(runs_folder) /
                    format(".drl_doctor-{}-{}-{}", host_name(), getpid(), Clock::now().time_since_epoch().count());
  std::unique_ptr<RunLock> lock;
  std::string error;
  if (rounds.leads())
    error = usage_error([&] {
      lock = RunLock::take(folder, /*must_be_new=*/true, 0700);
      const bool written = lock && create_own_file(folder / "written_by_rank_0", folder.string());
      fs::remove(folder / "written_by_rank_0");
      if (!written)
        throw UsageError("the folder " + folder.string() +
                         " cannot be written (it is full, or another process has changed it): make room, or start "
                         "drl_doctor again");
    });
  folder = rounds.announce(lock ? folder.string() : "");
  if (folder.empty()) return rounds.end(check_of_message(Status::failed, error));

  const std::vector<FolderVisit> visits =
      rounds.gather(visit(folder, rounds.standing().first_of_host && rounds.standing().host != 0));
  if (!rounds.leads()) return rounds.end({});
  std::error_code ignored;
  const fs::space_info space = fs::space(folder, ignored);
  rounds.end(folder_finding(folder.parent_path().string(), visits, rounds.hosts(), static_cast<double>(space.available),
                            !lock->no_locks().empty()));
}

void check_job(Rounds& rounds, const std::optional<Allocation>& job) {
  rounds.begin("time left");
  if (!rounds.leads()) return rounds.end({});
  rounds.end(time_finding(job ? job->job : "", job ? Deadline(*job, 0).time_left(kSlurmPatience) : std::nullopt));
  if (!job) return;
  rounds.begin("Slurm");
  BackgroundCommand version({"scontrol", "--version"}), record({"scontrol", "show", "job", job->job});
  const auto said = [](BackgroundCommand& command) {
    return command.wait(kSlurmPatience) == 0 ? std::string(trim(command.output())) : "";
  };
  const std::string first = said(version), second = said(record);
  rounds.end(slurm_finding(job->job, first, second));
}

}  // namespace drl
