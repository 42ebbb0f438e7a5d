// drl_doctor: finds problems of a cluster before they waste a job. Start reading at run_checks().

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "apps/program.hpp"
#include "base/check.hpp"
#include "base/failure.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "doctor/checks.hpp"
#include "doctor/start_watch.hpp"
#include "envs/task_libraries.hpp"
#include "launch/allocation.hpp"
#include "placement/device.hpp"
#include "placement/relaunch.hpp"
#include "run/preflight.hpp"
#include "run/run_directory.hpp"
#include "run/start.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_doctor: finds problems with nodes, network and file systems before they\n"
    "waste a job. Start it exactly as you start drl_train. It takes seconds and\n"
    "leaves nothing behind.\n"
    "\n"
    "  drl_doctor                                      this machine, one rank\n"
    "  drl_doctor --ranks 4                            four ranks on this machine\n"
    "  mpirun -n 4 drl_doctor                          the same with mpirun\n"
    "  srun -N2 --gpus-per-node=4 drl_doctor           on a Slurm cluster: one rank\n"
    "                                                  per GPU, or per core\n"
    "  srun -N2 drl_doctor --runs_dir /scratch/me/runs --json doctor.json\n"
    "                                                  checks that directory, and\n"
    "                                                  saves the report as JSON\n"
    "  srun -N16 drl_doctor --timeout 300              for nodes that take minutes\n"
    "                                                  to start\n"
    "\n"
    "It prints a table of the ranks and then one line per check: ok, skipped,\n"
    "warning or failed, and the finding. A suggested fix (->) follows each warning\n"
    "and failure. Ranks that do not respond are named.\n"
    "Exit codes: 0 no check failed, 1 a check failed, 2 usage error.\n"
    "\n";

struct DoctorOptions {
  int ranks = 0;
  int threads = 0;
  std::string device = "auto", gpu_ids;
  std::string runs_dir, json;
  std::vector<std::string> task_library;
  double timeout = 60;
  bool help = false, version = false;
  std::vector<NamedValue> given;
  std::vector<std::string> without_effect;  // warnings
  std::string usage_error;                  // the message if the options are wrong, else ""

  void describe(OptionVisitor& v) {
    v("ranks", ranks,
      "start this number of ranks on this machine, or on the nodes of a Slurm job; 0 = in a Slurm step one rank per "
      "GPU, or "
      "per core without GPUs, and elsewhere one rank; 1 = start no ranks in addition to the launcher's",
      at_least(0));
    v("threads", threads, "threads per rank; 0 = as many as the job allocates (-c), else 1", at_least(0), per_rank());
    v("device", device, "auto, cpu or cuda:N, as for drl_train", per_rank(kind_of_device));
    v("gpu_ids", gpu_ids, "use only these visible GPUs: all, a list such as 0,2, or None for the CPU",
      per_rank(kind_of_gpu_ids), not_with("device", "cpu"));
    v("runs_dir", runs_dir, "directory of all runs, default $DRL_RUNS_DIR or runs", as_path);
    v("task_library", task_library, "task library to load on all ranks, as drl_train does; repeatable", as_path,
      per_rank());
    v("json", json, "save the whole report in this file; - = standard output (the text is then on standard error)",
      as_path);
    v("timeout", timeout, "time limit for each check and for the start of all ranks", unit("s"), at_least(1));
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

constexpr std::chrono::seconds kReportTime{10};  // for rank 0 to report this rank's failure

// Handles no requests to stop: a signal ends this process and the ranks that it started.
const StopRelay kNoStops = {[] { return 0; }, [](int code) { return code; }};

int run_checks(const DoctorOptions& options, const LaunchInfo& launch, double load, MessageRounds& rounds,
               const std::vector<std::string>& arguments) {
  // 1. Check that all ranks are present. If the step has fewer tasks than devices, srun starts one rank per device, and
  //    this process waits for them.
  rounds.roll_call();
  require_no_error(rounds.comm(), options.usage_error);
  require_same_options(rounds.comm(), options.given);
  const RankRequest request{options.ranks, options.device == "cpu", options.gpu_ids};
  if (const auto outcome = start_one_rank_per_device(rounds.comm(), launch, request, arguments, kNoStops))
    return *outcome;
  for (const std::string& warning : options.without_effect) log::warn("{}", warning);
  on_rank_zero(rounds.comm(), [&] { rounds.report().require_json_file(); });

  // 2. Place the ranks, and print and compare their facts.
  const Placement placement = check_placement(rounds, launch, {options.device, options.gpu_ids, options.threads});
  const bool wants_cpu = options.device == "cpu" || no_gpus(options.gpu_ids);
  const std::vector<RankFacts> ranks = check_facts(rounds, launch, placement, load, wants_cpu);

  // 3. Check what they share: MPI, the directory of runs, the job, and the GPUs with NCCL.
  check_all_reduce(rounds);
  check_run_directory(rounds, runs_folder(options.runs_dir));
  check_job(rounds, allocation(process_environment()));
  check_gpus(rounds, placement, ranks, wants_cpu);

  rounds.begin("report");
  return std::stoi(rounds.broadcast(rounds.is_rank_zero() ? std::to_string(rounds.report().finish()) : ""));
}

// Reports `failed` and aborts all ranks, on the rank whose report is active. The other ranks wait for that.
int abort_all(Communicator& comm, Report& report, const Check& failed) {
  while (!report.is_active()) pause();
  report.add(failed);
  report.finish();
  comm.abort(kFailure);
  return kFailure;
}

// Runs run_checks(). If a rank is missing or fails, aborts all ranks.
int run_checks_or_abort(const DoctorOptions& options, const LaunchInfo& launch, double load, Communicator& comm,
                        Report& report, Watchdog& watchdog, const std::vector<std::string>& arguments) {
  MessageRounds rounds(comm, report, watchdog, options.timeout);
  try {
    return run_checks(options, launch, load, rounds, arguments);
  } catch (const CheckFailed& failed) {
    return abort_all(comm, report, rounds.labelled(failed.check));
  } catch (const UsageError&) {
    throw;
  } catch (const ReportedError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string message = message_of(error);
    if (!report.is_active()) {
      log::error("{}", message);
      // Rank 0 reports it and aborts all ranks, unless it is waiting in an MPI collective.
      if (rounds.send_failure(message)) std::this_thread::sleep_for(kReportTime);
      comm.abort(kFailure);
    }
    Check check = check_of_message(Status::failed, message);
    check.name = "drl_doctor";
    return abort_all(comm, report, check);
  }
}

// Reports an MPI_Finalize that does not return: it would keep every job from ending.
void watch_finalize(Watchdog& watchdog, Report& report, double seconds) {
  watchdog.arm({{seconds,
                 [&report] {
                   report.add({Status::failed, "a rank does not return from MPI_Finalize",
                               "use another MPI or a newer version (runs would save, but their jobs would hang)",
                               "MPI end"});
                   if (report.is_active()) report.finish();
                 }},
                {report.is_active() ? seconds : seconds + 3, [] {}}});  // the others let rank 0 report
}

int run_on(const LaunchInfo& launch, double load, const std::vector<std::string>& arguments) {
  DoctorOptions options;
  OptionTable table;
  table.section("", "Options", options);
  options.usage_error = caught_usage_error([&] {
    const std::vector<NamedValue> command_line =
        table.parse_command_line(with_gpu_ids_joined({arguments.begin() + 1, arguments.end()}));
    table.apply(command_line);
    options.given = table.given_options(command_line);
    options.without_effect = table.without_effect(command_line, {});
    load_task_libraries(options.task_library);
    load_installed_task_libraries();
    restrict_to_outer_step();
  });
  if (options.usage_error.empty()) {
    if (options.version || options.help) {
      if (launch.rank != 0) return kDone;
      if (options.version) return std::printf("drl %s (%s), %s\n", kVersion, kGitHash, mpi_version().c_str()), kDone;
      options.help = false;  // the help text would show it as switched on
      return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
    }
    if (!launch.launched() && options.ranks > 1) return start_ranks(options.ranks, arguments, kNoStops);
    hint_at_idle_devices(launch, arguments);
  }

  Report report(launch.rank == 0, options.json);
  Watchdog watchdog;
  std::optional<StartWatch> start;
  if (options.usage_error.empty())
    start.emplace(watchdog, report, launch, start_id(process_environment()),
                  std::filesystem::absolute(runs_folder(options.runs_dir)), options.timeout);
  return run_connected(launch, [&](Communicator& comm) {
    if (start) start->started();
    const int code = run_checks_or_abort(options, launch, load, comm, report, watchdog, arguments);
    watch_finalize(watchdog, report, options.timeout);
    return code;
  });
}

int run(const std::vector<std::string>& arguments) {
  const double load = seconds_since_start();
  return run_launched([&](const LaunchInfo& launch) { return run_on(launch, load, arguments); });
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
