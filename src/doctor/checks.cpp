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

// Runs `work` and returns the log lines that it would have printed. Swallows a ReportedError.
std::vector<std::string> capture_log(const std::function<void()>& work) {
  std::vector<std::string> lines;
  log::set_writer([&](std::string_view line) { lines.emplace_back(trim(line)); });
  try {
    work();
  } catch (const ReportedError&) {  // some rank has logged its message
  } catch (...) {
    log::set_writer({});
    throw;
  }
  log::set_writer({});
  return lines;
}

// Returns the first error among the ranks' log lines, else the first warning, else `otherwise`.
Check placement_finding(const std::vector<std::string>& lines, const std::string& otherwise) {
  for (const auto& [prefix, status] : {std::pair{"error: ", Status::failed}, {"warning: ", Status::warning}})
    for (const std::string& line : lines)
      if (line.starts_with(prefix)) return check_of_message(status, line.substr(std::string_view(prefix).size()));
  return {Status::ok, otherwise};
}

// Runs the first all-reduces, with a deadline that reveals a network which loses large messages. Returns whether the
// sums on this rank are correct.
bool sums_are_correct(MessageRounds& rounds) {
  bool correct = true;
  for (int64_t bytes : {kSmall, kGradient, kMedium}) {
    const auto sum = all_reduce_within(test_data(rounds.rank(), bytes), rounds.timeout());
    if (!sum) {
      rounds.gather_texts("");  // throws CheckFailed naming the ranks that are gone
      const std::string cause = bytes == kSmall ? "messages arrive but MPI's all-reduces hang: disable MPI's "
                                                  "accelerated collectives (Open MPI: export OMPI_MCA_coll=^hcoll,ucc)"
                                                : "the network loses large messages: check its MTU and firewall";
      throw CheckFailed({Status::failed,
                         format("an all-reduce of {} did not finish within {} s, although all ranks answer",
                                human_bytes(static_cast<double>(bytes)), human_number(rounds.timeout())),
                         cause + "; or MPI chose the wrong network: " + network_variables()});
    }
    correct &= is_correct_sum(*sum, rounds.size());  // no early return: all ranks must call every all-reduce
  }
  return correct;
}

// Leaves out kLarge: MPI needs several copies of it, and Slurm would kill a job that requested little memory.
AllReduceTimes measure_on_host(Communicator& comm) {
  return measure(comm, kMedium, [&](int64_t bytes, int times) {
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < times; ++k) comm.all_reduce_sum(std::span(data));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  });
}

DirectoryProbe probe(const fs::path& folder, bool try_lock) {
  std::error_code error;
  const fs::directory_iterator within(folder, error);
  if (error) return {error.message()};
  return {"", try_lock && RunLock::take(folder)};
}

}  // namespace

Placement check_placement(MessageRounds& rounds, const LaunchInfo& launch, const PlaceRequest& request) {
  rounds.begin("placement");
  Placement placement;
  const std::vector<std::string> log_lines =
      capture_log([&] { placement = place_rank(rounds.comm(), launch, process_environment(), request); });
  std::vector<std::string> all;
  for (const std::vector<std::string>& lines : rounds.gather(log_lines))
    all.insert(all.end(), lines.begin(), lines.end());
  rounds.end(placement_finding(all, placement.text));
  return placement;
}

std::vector<RankFacts> check_facts(MessageRounds& rounds, const LaunchInfo& launch, const Placement& placement,
                                   double load, bool wants_cpu) {
  rounds.begin("facts");
  RankFacts mine = facts_of_this_rank(launch, placement, load);
  add_gpu_facts(placement, mine, wants_cpu);
  const std::vector<RankFacts> ranks = rounds.gather(mine);
  if (!rounds.is_rank_zero()) return ranks;
  rounds.report().add_ranks(
      ranks, format("drl_doctor {}: {} on {}{}", kVersion, counted(rounds.size(), "rank"),
                    counted(rounds.node().count, "node"), launch.launched() ? ", started by " + launch.launcher : ""));
  for (const auto& [name, finding] : {std::pair{"drl build", &build_finding},
                                      {"hardware", hardware_finding},
                                      {"libraries", library_finding},
                                      {"program load", load_finding}}) {
    rounds.begin(name);
    rounds.end(finding(ranks));
  }
  return ranks;
}

void check_all_reduce(MessageRounds& rounds) {
  rounds.begin("all-reduce");
  if (rounds.size() == 1) return rounds.end({Status::ok, "only 1 rank, nothing to reduce"});
  const Check sums = judge_sums(rounds, sums_are_correct(rounds),
                                "MPI or the network corrupts data: try another transport (Open MPI: "
                                "export OMPI_MCA_pml=ob1), and tell the administrator");
  if (sums.status == Status::failed) return rounds.end(sums);

  const int hosts = rounds.node().count;
  if (rounds.size() > hosts) {
    rounds.begin("all-reduce, node");
    const auto here = make_group_communicator(rounds.node().index);
    end_with_times(rounds, "all_reduce_in_a_node", here->size() > 1 ? measure_on_host(*here) : AllReduceTimes{},
                   host_limits());
  }
  if (hosts == 1) return;
  rounds.begin("all-reduce, all");
  end_with_times(rounds, "all_reduce_of_all_ranks", measure_on_host(rounds.comm()), host_limits());
}

void check_run_directory(MessageRounds& rounds, const fs::path& runs_folder) {
  rounds.begin("run directory");
  // Rank 0 creates a directory with a unique name among the runs; it is removed with its lock.
  fs::path folder = fs::absolute(runs_folder) /
                    format(".drl_doctor-{}-{}-{}", host_name(), getpid(), Clock::now().time_since_epoch().count());
  std::unique_ptr<RunLock> lock;
  std::string error;
  if (rounds.is_rank_zero())
    error = caught_usage_error([&] {
      lock = RunLock::take(folder, /*must_be_new=*/true, 0700);
      const bool written = lock && create_private_file(folder / "written_by_rank_0", folder.string());
      fs::remove(folder / "written_by_rank_0");
      if (!written)
        throw UsageError("the directory " + folder.string() +
                         " cannot be written (the disk is full, or another process changed the directory): free some "
                         "space, or start drl_doctor again");
    });
  folder = rounds.broadcast(lock ? folder.string() : "");
  if (folder.empty()) return rounds.end(check_of_message(Status::failed, error));

  const std::vector<DirectoryProbe> probes =
      rounds.gather(probe(folder, rounds.node().is_first_rank && rounds.node().index != 0));
  if (!rounds.is_rank_zero()) return rounds.end({});
  std::error_code ignored;
  const fs::space_info space = fs::space(folder, ignored);
  rounds.end(run_directory_finding(folder.parent_path().string(), probes, rounds.hosts(),
                                   static_cast<double>(space.available), !lock->why_no_locks().empty()));
}

void check_job(MessageRounds& rounds, const std::optional<Allocation>& job) {
  rounds.begin("time left");
  if (!rounds.is_rank_zero()) return rounds.end({});
  if (job && is_over(*job) == true)
    return rounds.end(
        {Status::failed, "job " + job->job + " is over, and this shell has kept its variables", kLeaveJob});
  rounds.end(time_finding(job ? job->job : "", job ? Deadline(*job, 0).time_left(kSlurmPatience) : std::nullopt));
  if (!job) return;
  rounds.begin("Slurm");
  BackgroundCommand version({"scontrol", "--version"}), record({"scontrol", "show", "job", job->job});
  const auto output_of = [](BackgroundCommand& command) {
    return command.wait(kSlurmPatience) == 0 ? std::string(trim(command.output())) : "";
  };
  const std::string first = output_of(version), second = output_of(record);
  rounds.end(slurm_finding(job->job, first, second));
}

}  // namespace drl
