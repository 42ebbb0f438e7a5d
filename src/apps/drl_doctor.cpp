// drl_doctor: finds what is wrong with a cluster before a job is wasted on it. Read examine() from its steps.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "apps/program.hpp"
#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "comm/session.hpp"
#include "doctor/checks.hpp"
#include "doctor/start_watch.hpp"
#include "envs/task_libraries.hpp"
#include "launch/allocation.hpp"
#include "placement/device.hpp"
#include "placement/mpirun.hpp"
#include "placement/relaunch.hpp"
#include "run/run_directory.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_doctor: finds what is wrong with nodes, network and files before a job is wasted on them.\n"
    "Start it as you start drl_train; it takes seconds, and leaves nothing behind.\n\n"
    "  drl_doctor                                      this machine, one rank\n"
    "  drl_doctor --ranks 4                            four ranks on this machine\n"
    "  mpirun -n 4 drl_doctor                          the same, by hand\n"
    "  srun -N2 --gpus-per-node=4 drl_doctor           on a Slurm cluster: one rank per GPU, or per core\n"
    "  srun -N2 drl_doctor --runs_dir /scratch/me/runs --json doctor.json\n"
    "                                                  where the runs will lie; and all of it as JSON\n"
    "  srun -N16 drl_doctor --timeout 300              nodes that take minutes to start\n\n"
    "It prints a table of the ranks, then a line for each check: ok, skipped, warning or failed, what was\n"
    "found, and below a warning or a failure what to do (->). A rank that does not answer is named.\n"
    "Exit codes: 0 fine (warnings too), 1 something failed, 2 wrong usage.\n\n";

struct DoctorOptions {
  int ranks = 0;
  int threads = 0;
  std::string device = "auto", gpu_ids;
  std::string runs_dir, json;
  std::vector<std::string> task_library;
  double timeout = 60;
  bool help = false, version = false;
  std::string wrong;  // what is wrong with them, or ""

  void describe(OptionVisitor& v) {
    v("ranks", ranks, "start this many ranks in all: on this machine, or on a Slurm job's nodes; 1 = one a task",
      at_least(0));
    v("threads", threads, "threads of each rank, 0 = as the allocation says (-c), else 1", at_least(0));
    v("device", device, "auto, cpu or cuda:N, as drl_train's");
    v("gpu_ids", gpu_ids, "of the visible GPUs use these: all, a list such as 0,2, or None for the CPU");
    v("runs_dir", runs_dir, "folder of all runs, default $DRL_RUNS_DIR or runs");
    v("task_library", task_library, "load it on all ranks, as drl_train does; give it again for another");
    v("json", json, "write all that was found into this file");
    v("timeout", timeout, "for each check, and for all ranks to start", unit("s"), at_least(1));
    v("help", help, "this text", letter('h'));
    v("version", version, "version and git hash");
  }
};

constexpr std::chrono::seconds kHearing{10};

// A signal ends this process, and with it the ranks that it started.
const StopRelay kNoStops = {[] { return 0; }, [](int code) { return code; }};

int examine(const DoctorOptions& options, const LaunchInfo& launch, double load, Rounds& rounds,
            const std::vector<std::string>& arguments) {
  // 1. Are all ranks here? One per device: if the launch line gave fewer, srun starts us again, and we wait.
  rounds.roll_call();
  require_no_error(rounds.comm(), options.wrong);
  const RankRequest request{options.ranks, options.device == "cpu", options.gpu_ids};
  if (const auto outcome = start_one_rank_per_device(rounds.comm(), launch, request, arguments, kNoStops))
    return *outcome;
  on_rank_zero(rounds.comm(), [&] { return rounds.report().require_json_file(), std::string(); });

  // 2. Who they are.
  const Placement placement = check_placement(rounds, launch, options.device, options.gpu_ids, options.threads);
  const std::vector<RankFacts> ranks = check_facts(rounds, launch, placement, load);

  // 3. What they can do together.
  check_all_reduce(rounds);
  check_folder(rounds, runs_folder(options.runs_dir));
  check_job(rounds, allocation(process_environment()));
  check_gpus(rounds, placement, ranks, options.device == "cpu" || no_gpus(options.gpu_ids));

  rounds.begin("report");
  return std::stoi(rounds.announce(rounds.leads() ? std::to_string(rounds.report().finish()) : ""));
}

// The end of all ranks, by the one that speaks; the others wait for it.
int end_all(Communicator& comm, Report& report, const Check& failed) {
  while (!report.speaks()) pause();
  report.add(failed);
  report.finish();
  comm.abort(kFailure);
  return kFailure;
}

// The same, but ranks that are missing or fail end all others here.
int examine_or_end(const DoctorOptions& options, const LaunchInfo& launch, double load, Communicator& comm,
                   Report& report, Watchdog& watchdog, const std::vector<std::string>& arguments) {
  Rounds rounds(comm, report, watchdog, options.timeout);
  try {
    return examine(options, launch, load, rounds, arguments);
  } catch (const CheckFailed& failed) {
    return end_all(comm, report, rounds.named(failed.check));
  } catch (const UsageError&) {
    throw;
  } catch (const ReportedError&) {
    throw;
  } catch (const std::exception& error) {
    if (!report.speaks()) {
      log::error("{}", error.what());
      // Rank 0 ends all if it hears that; in a collective it cannot.
      if (rounds.give_up(error.what())) std::this_thread::sleep_for(kHearing);
      comm.abort(kFailure);
    }
    Check check = check_of_message(Status::failed, error.what());
    check.name = "drl_doctor";
    return end_all(comm, report, check);
  }
}

// A job hangs at its end where MPI does not end.
void expect_end(Watchdog& watchdog, Report& report, double seconds) {
  watchdog.expect({{seconds,
                    [&report] {
                      report.add({Status::failed, "no return from MPI_Finalize",
                                  "runs would save, and then hang their jobs: use another MPI, or a newer version",
                                  "MPI end"});
                      if (report.speaks()) report.finish();
                    }},
                   {report.speaks() ? seconds : seconds + 3, [] {}}});  // the others let rank 0 speak
}

int run(const std::vector<std::string>& arguments) {
  const double load = seconds_since_start();
  LaunchInfo launch;
  try {
    launch = launch_info();
    log::init(launch.rank, launch.world_size, host_name(), false);
    DoctorOptions options;
    OptionTable table;
    table.section("", "Examination", options);
    options.wrong = usage_error([&] {
      table.apply_command_line({arguments.begin() + 1, arguments.end()});
      load_task_libraries(options.task_library);
      load_installed_task_libraries();
      keep_to_outer_step();
    });
    if (options.wrong.empty()) {
      if (options.version || options.help) {
        if (launch.rank != 0) return kDone;
        if (options.version) return std::printf("drl %s (%s), %s\n", kVersion, kGitHash, mpi_version().c_str()), kDone;
        options.help = false;  // it shall not be shown as switched on
        return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
      }
      if (!launch.launched() && options.ranks > 1)
        return can_run_under_srun() ? run_under_srun(options.ranks, arguments, kNoStops)
                                    : run_under_mpirun(options.ranks, arguments);
      if (const std::string hint = launch.launched() ? "" : idle_devices(process_environment(), arguments);
          !hint.empty())
        log::info("{}", hint);
    }

    Report report(launch.rank == 0, options.json);
    Watchdog watchdog;
    std::optional<StartWatch> start;
    if (options.wrong.empty())
      start.emplace(watchdog, report, launch, start_id(process_environment()),
                    std::filesystem::absolute(runs_folder(options.runs_dir)), options.timeout);
    return end_of_rank(launch.rank, run_session(launch, [&](Communicator& comm) {
                         if (start) start->started();
                         const int code = examine_or_end(options, launch, load, comm, report, watchdog, arguments);
                         expect_end(watchdog, report, options.timeout);
                         return code;
                       }));
  } catch (const Error& error) {  // before there were ranks: all see the same
    if (launch.rank == 0) log::write(log::Level::common_error, error.what());
    return end_of_rank(launch.rank, error.exit_code());
  }
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
