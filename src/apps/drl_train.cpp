// drl_train: learns a task on one rank or many. Read main() from its steps; the loop is in run/trainer.cpp.

#include <signal.h>

#include <cstdio>
#include <optional>

#include "apps/program.hpp"
#include "apps/setup.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cluster/allocation.hpp"
#include "cluster/mpirun.hpp"
#include "cluster/relaunch.hpp"
#include "cluster/session.hpp"
#include "doctor/preflight.hpp"
#include "envs/make_env.hpp"
#include "run/stop.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_train: learns a task by data-parallel PPO on one rank or many.\n\n"
    "  drl_train --task Cartpole                       one rank\n"
    "  drl_train --task Cartpole --ranks 4             four ranks on this machine\n"
    "  mpirun -n 4 drl_train --task Cartpole           the same, by hand\n"
    "  srun -N2 --gpus-per-node=4 drl_train --task Cartpole\n"
    "                                                  on a Slurm cluster: one rank per GPU, or per core\n"
    "  sbatch train_2node.sbatch --task Cartpole       a job that goes on after its time limit\n"
    "  drl_train --task Cartpole --load_run R          go on with run R\n"
    "  drl_train --task Cartpole --print_config > my.ini; drl_train --config my.ini\n\n"
    "Values: command line, then --config file, then the task's preset, then default.\n"
    "In names, - and _ are the same.\n"
    "Exit codes: 0 done, 1 failure, 2 wrong usage, 75 stopped to be continued, 130 SIGINT, 143 SIGTERM.\n";

// --help, --version, --list_tasks and --print_config: answered at once, by the first of the ranks.
bool answer(Settings& settings, const LaunchInfo& launch) {
  CommandOptions& command = settings.command;
  if (launch.rank != 0) return command.list_tasks || command.version || command.help || command.print_config;
  if (command.list_tasks) {
    for (const std::string& name : task_names()) std::printf("%s\n", name.c_str());
  } else if (command.version) {
    std::printf("drl %s (%s), %s\n", kVersion, kGitHash, mpi_version().c_str());
  } else if (command.help) {
    settings.apply(settings.read_config(command.config));
    const std::string& task = settings.options.train.task;
    command.help = false;  // it shall not be shown as switched on
    std::printf("%s\nOptions, with %s:\n\n%s", kUsage,
                task.empty() ? "their defaults (--task T --help shows T's preset)" : ("the preset of " + task).c_str(),
                settings.table.help(100).c_str());
  } else if (command.print_config) {
    settings.apply(settings.read_config(command.config));
    std::printf("%s", settings.table.to_ini().c_str());
  } else {
    return false;
  }
  return true;
}

// For ranks that srun starts for us: it kills them on SIGINT and SIGTERM, and forwards SIGUSR1 and SIGUSR2 only, so
// that SIGUSR2 stands for both.
const StopRelay kStopRelay = {
    [] {
      const Stop stop = requested_stop();
      return stop == Stop::none ? 0 : stop == Stop::to_be_continued ? SIGUSR1 : SIGUSR2;
    },
    [](int code) { return code == kInterrupted && requested_stop() == Stop::terminated ? int{kTerminated} : code; }};

RankRequest rank_request(const Settings& settings) {
  return {settings.command.ranks, settings.options.train.device == "cpu", settings.options.train.gpu_ids};
}

int train(Settings& settings, const LaunchInfo& launch, Communicator& comm, const std::vector<std::string>& arguments) {
  log::init(comm.rank(), comm.size(), this_machine().host, settings.command.quiet);

  // 1. Options: rank 0 reads the files, all apply the same text.
  const std::string config = on_rank_zero(comm, [&] { return settings.read_config(settings.command.config); });
  on_all_ranks(comm, [&] {
    settings.apply(config);
    require_task(settings.options.train.task);
  });

  // One rank per device: if the launch line gave fewer, srun starts us again, and we wait.
  const auto outcome = start_one_rank_per_device(comm, launch, rank_request(settings), arguments, kStopRelay);
  if (outcome) return *outcome;

  const RunContext context{settings.options.train.task, launch.job_id, utc_time_for_names(),
                           goes_on(allocation(process_environment()), launch.job_id)};
  const std::string run_ini = on_rank_zero(comm, [&] {
    const auto run = run_to_resume(settings.options.run, context);
    return run ? settings.read_config((*run / "options.ini").string()) : std::string();
  });
  on_all_ranks(comm, [&] { settings.apply(config, run_ini); });

  // 2. Environments, networks, algorithm; then the state that the run goes on from.
  TrainingJob training(settings, launch, comm);
  RunStart start;
  const std::string directory = on_rank_zero(comm, [&] {
    start = claim_run(settings.options.run, settings.table, context);
    return start.directory.string();
  });
  if (settings.command.preflight != "off") warn_if_not_shared(comm, directory);
  training.load(start);

  // 3. The loop.
  return training.train(start);
}

// --ranks N without a launcher: over the job's nodes in a Slurm job, else on this machine.
int start_ranks(int ranks, const std::vector<std::string>& arguments) {
  if (!can_run_under_srun()) return run_under_mpirun(ranks, arguments);
  catch_stop_signals();
  return run_under_srun(ranks, arguments, kStopRelay);
}

int run(const std::vector<std::string>& arguments) {
  LaunchInfo launch;
  try {
    launch = launch_info();
    log::init(launch.rank, launch.world_size, this_machine().host, false);
    keep_to_outer_step();
    std::optional<Settings> settings;
    const std::string wrong = usage_error([&] { settings.emplace(arguments); });
    if (settings) {
      if (answer(*settings, launch)) return kDone;
      if (!launch.launched() && settings->command.ranks > 1) return start_ranks(settings->command.ranks, arguments);
      log::init(launch.rank, launch.world_size, this_machine().host, settings->command.quiet);
      if (const std::string hint = launch.launched() ? "" : idle_devices(process_environment(), arguments);
          !hint.empty())
        log::info("{}", hint);
    }
    catch_stop_signals();
    return end_of_rank(launch.rank, run_session(launch, [&](Communicator& comm) {
                         if (!settings || settings->command.preflight != "off") require_same_build(comm);
                         require_no_error(comm, wrong);
                         return train(*settings, launch, comm, arguments);
                       }));
  } catch (const Error& error) {  // before there were ranks: all see the same
    if (launch.rank == 0) log::write(log::Level::common_error, error.what());
    return end_of_rank(launch.rank, error.exit_code());
  }
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
