// drl_train: learns a task on one rank or many. Read train() from its steps; the loop is in run/trainer.cpp.

#include <signal.h>

#include <cstdio>
#include <optional>

#include "apps/banner.hpp"
#include "apps/learner.hpp"
#include "apps/loading.hpp"
#include "apps/program.hpp"
#include "apps/settings.hpp"
#include "apps/workplace.hpp"
#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "comm/session.hpp"
#include "envs/make_env.hpp"
#include "launch/allocation.hpp"
#include "nets/torch/blas.hpp"
#include "placement/mpirun.hpp"
#include "placement/relaunch.hpp"
#include "run/deadline.hpp"
#include "run/films.hpp"
#include "run/preflight.hpp"
#include "run/run_directory.hpp"
#include "run/state.hpp"
#include "run/stop.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

constexpr double kPatienceForBanner = 1;  // seconds that squeue may take to tell the time left

constexpr const char* kUsage =
    "drl_train: learns a task by data-parallel PPO, or another --algorithm, on one rank or many.\n\n"
    "  drl_train --task Cartpole                       one rank\n"
    "  drl_train --task Cartpole --ranks 4             four ranks on this machine\n"
    "  mpirun -n 4 drl_train --task Cartpole           the same, by hand\n"
    "  srun -N2 --gpus-per-node=4 drl_train --task Cartpole\n"
    "                                                  on a Slurm cluster: one rank per GPU, or per core\n"
    "  sbatch train_2node.sbatch --task Cartpole       a job that goes on after its time limit\n"
    "  drl_train --task_library libmy.so --task Mine   a task of your own (drl_new_task)\n"
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
    for (const std::string& name : task_names()) {
      const std::string library = task_origin(name);
      std::printf("%s%s\n", name.c_str(), library.empty() ? "" : ("  (" + library + ")").c_str());
    }
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

RunContext run_context(const Settings& settings, const LaunchInfo& launch) {
  return {settings.options.train.task, launch.job_id, utc_time_for_names(),
          goes_on(allocation(process_environment()), launch.job_id)};
}

// Under the options of the command line lie those of the run that is resumed.
void apply_options(Settings& settings, const std::string& config, const RunContext& context, Communicator& comm) {
  const std::string run_ini = on_rank_zero(comm, [&] {
    const auto run = run_to_resume(settings.options.run, context);
    return run ? settings.read_config((*run / "options.ini").string()) : std::string();
  });
  on_all_ranks(comm, [&] {
    settings.apply(config, run_ini);
    settings.options.env->choose_physics();
  });
}

// Chooses and locks the run's directory; what is known of it is rank 0's.
RunStart claim_directory(const Settings& settings, const RunContext& context, Communicator& comm) {
  RunStart start;
  const std::string directory = on_rank_zero(comm, [&] {
    start = claim_run(settings.options.run, settings.table, context);
    return start.directory.string();
  });
  if (settings.command.preflight != "off") warn_if_not_shared(comm, directory);
  return start;
}

ConsoleMode console_mode(bool quiet) {
  return quiet ? ConsoleMode::quiet : terminal_width() > 0 ? ConsoleMode::live : ConsoleMode::lines;
}

// Rank 0's part of a run, while it goes on. Making it opens the run's files and says what will be done.
struct Output {
  Output(const Settings& settings, const Workplace& place, const Learner& learner, const Trainer& trainer,
         const RunStart& start, RunFacts facts, Deadline* deadline)
      : directory(start),
        manifest(directory.path() / "run.json", with_lock(std::move(facts), directory.lock_kind()), utc_time()),
        monitor(settings.options.run, directory, manifest, settings.table.to_ini(), trainer.metrics(),
                start.from == StartFrom::resume ? std::optional(trainer.iteration()) : std::nullopt,
                console_mode(settings.command.quiet),
                command_to_go_on(settings, place, start.directory.string(), started_by_ourselves()), deadline) {
    if (!settings.command.quiet)
      monitor.message(banner(settings.options, place, manifest.facts(), learner.plan(), learner.networks(),
                             start.directory.string(),
                             deadline ? deadline->time_left(kPatienceForBanner) : std::nullopt));
    if (!start.notice.empty()) log::info("{} from iteration {}", start.notice, trainer.iteration());
    explain_foreign_options(settings.command);
  }
  static RunFacts with_lock(RunFacts facts, const std::string& lock) { return facts.lock = lock, facts; }

  RunDirectory directory;
  RunManifest manifest;
  RunMonitor monitor;
};

void warn_of_slow_blas(const Learner& learner) {
  if (learner.engine().starts_with("libtorch") && blas_library().reference)
    log::warn(
        "matrix products run on the reference BLAS, 4 to 5 times slower than an optimised one: install OpenBLAS "
        "(Debian: libopenblas0-pthread)");
}

int train(Settings& settings, const LaunchInfo& launch, Communicator& comm, const std::vector<std::string>& arguments) {
  log::init(comm.rank(), comm.size(), host_name(), settings.command.quiet);

  // 1. Options: rank 0 reads the files, all apply the same text.
  const std::string config = on_rank_zero(comm, [&] { return settings.read_config(settings.command.config); });
  on_all_ranks(comm, [&] {
    settings.apply(config);
    require_task(settings.options.train.task);
  });
  require_same_tasks(comm);  // with what was found in lib/drl/tasks

  // 2. One rank per device: if the launch line gave fewer, srun starts us again, and we wait.
  const auto outcome = start_one_rank_per_device(comm, launch, rank_request(settings), arguments, kStopRelay);
  if (outcome) return *outcome;

  // 3. Device and cores; environments, networks, algorithm.
  const RunContext context = run_context(settings, launch);
  apply_options(settings, config, context, comm);
  const Options& options = settings.options;
  const Workplace place = find_workplace(settings, launch, comm);
  std::optional<Deadline> deadline;  // of a Slurm job, on rank 0
  if (place.job && comm.rank() == 0) deadline.emplace(*place.job, options.run.time_margin);
  Learner learner(options, place, comm);
  Trainer trainer(options.train, options.run, learner.algorithm(), learner.task(), learner.comm(),
                  [&] { return learner.evaluate(); });
  broadcast_state(trainer.state(), comm);
  learner.algorithm().state_changed();

  // 4. The run's directory, and the state that it goes on from.
  RunStart start = claim_directory(settings, context, comm);
  RunFacts facts = facts_of(settings, place, learner.engine(), learner.files(), start);
  load_start(start, settings, facts, trainer, learner.algorithm(), comm);

  // 5. The loop, of which rank 0 tells.
  std::optional<Output> output;
  on_rank_zero(comm, [&]() -> std::string {
    warn_of_slow_blas(learner);
    if (deadline) deadline->require_time();
    require_films(options.run, options.train.task, start.from == StartFrom::resume);
    output.emplace(settings, place, learner, trainer, start, std::move(facts), deadline ? &*deadline : nullptr);
    output->manifest.write(trainer.progress(), "running");
    return "";
  });
  try {
    const int code = trainer.run(output ? &output->monitor : nullptr);
    if (const std::string speeds = learner.host_speeds(); output && !speeds.empty() && !settings.command.quiet)
      output->monitor.message("  " + speeds);
    return code;
  } catch (...) {
    if (output) output->monitor.fail(trainer.progress());
    throw;
  }
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
    log::init(launch.rank, launch.world_size, host_name(), false);
    std::optional<Settings> settings;
    const std::string wrong = usage_error([&] {
      settings.emplace(arguments);
      keep_to_outer_step();
    });
    if (settings) {
      if (answer(*settings, launch)) return kDone;
      if (!launch.launched() && settings->command.ranks > 1) return start_ranks(settings->command.ranks, arguments);
      log::init(launch.rank, launch.world_size, host_name(), settings->command.quiet);
      if (const std::string hint = launch.launched() ? "" : idle_devices(process_environment(), arguments);
          !hint.empty())
        log::info("{}", hint);
    }
    catch_stop_signals();
    return end_of_rank(launch.rank, run_session(launch, [&](Communicator& comm) {
                         if (!settings || settings->command.preflight != "off") require_same_build(comm);
                         require_no_error(comm, wrong);
                         require_same_tasks(comm);  // with what --task_library named
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
