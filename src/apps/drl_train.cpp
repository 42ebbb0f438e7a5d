// drl_train: trains a policy on one rank or many. train() lists the steps; the training loop is in run/trainer.cpp.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "apps/banner.hpp"
#include "apps/effects.hpp"
#include "apps/learner.hpp"
#include "apps/loading.hpp"
#include "apps/program.hpp"
#include "apps/settings.hpp"
#include "apps/workplace.hpp"
#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/failure.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "comm/session.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "export/exported_policy.hpp"
#include "launch/allocation.hpp"
#include "launch/child.hpp"
#include "placement/mpirun.hpp"
#include "placement/relaunch.hpp"
#include "placement/stop.hpp"
#include "run/checkpoint_hook.hpp"
#include "run/deadline.hpp"
#include "run/preflight.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/state.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

constexpr double kBannerPatience = 1;  // seconds that squeue may take to report the time left

constexpr const char* kUsage =
    "drl_train: trains a policy by data-parallel reinforcement learning, on one rank\n"
    "or many.\n"
    "\n"
    "  drl_train --task Cartpole                       one rank\n"
    "  drl_train --task Cartpole --ranks 4             four ranks on this machine\n"
    "  mpirun -n 4 drl_train --task Cartpole           the same, started by mpirun\n"
    "  srun -N2 --gpus-per-node=4 drl_train --task Cartpole\n"
    "                                                  on a Slurm cluster: one rank\n"
    "                                                  per GPU, or per core\n"
    "  sbatch train_2node.sbatch --task Cartpole       a job that requeues itself\n"
    "                                                  until it is done\n"
    "  drl_train --task_library libmy.so --task Mine   your own task (see\n"
    "                                                  drl_new_task)\n"
    "  drl_train --load_run R                          resume run R\n"
    "  drl_train --task Cartpole --print_config > my.ini; drl_train --config my.ini\n"
    "\n"
    "A value comes from the command line, else from the --config file, else from the\n"
    "task's preset, else from the default. In option names, - and _ are\n"
    "interchangeable.\n"
    "Exit codes: 0 done; 1 failure; 2 wrong usage; 75 saved, can be resumed; 130\n"
    "SIGINT; 143 SIGTERM, SIGHUP.\n";

// Prints the tasks, those of a library below its name.
void list_tasks() {
  const std::vector<std::string> names = task_names();
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string origin;
  for (const std::string& name : names) {
    const TaskRecord& record = task_record(name);
    if (const std::string library = task_origin(name); library != origin)
      std::printf("\n# %s\n", (origin = library).c_str());
    const std::string actions = counted(record.action_size, record.discrete ? "choice" : "action");
    std::printf("%-*s %3d observations, %-10s  %s\n", static_cast<int>(width), name.c_str(),
                record.obs_dim * record.history, actions.c_str(), record.description ? record.description : "");
  }
}

// Handles --help, --version, --list_tasks and --print_config, which rank 0 answers. Returns true if one was given.
bool print_information(Settings& settings, const LaunchInfo& launch) {
  CommandOptions& command = settings.command;
  if (launch.rank != 0) return command.list_tasks || command.version || command.help || command.print_config;
  if (command.list_tasks) {
    list_tasks();
  } else if (command.version) {
    std::printf("drl %s (%s), %s\n", kVersion, kGitHash, mpi_version().c_str());
  } else if (command.help) {
    settings.apply(settings.read_config(command.config));
    const std::string& task = settings.options.train.task;
    command.help = false;  // so that the table does not show it as switched on
    std::printf(
        "%s\nOptions, with %s:\n\n%s", kUsage,
        task.empty() ? "their default values (--task T --help shows T's preset)" : ("the preset of " + task).c_str(),
        option_help(settings).c_str());
  } else if (command.print_config) {
    settings.apply(settings.read_config(command.config));
    std::printf("%s", settings.table.to_ini().c_str());
  } else {
    return false;
  }
  std::fflush(stdout);  // before this rank waits for others
  return true;
}

// Passes stop requests on to ranks that srun starts for us.
const StopRelay kStopRelay = {[] { return signal_through_srun(requested_stop()); },
                              [](int code) { return exit_code_after(code, requested_stop()); }};

RankRequest rank_request(const Settings& settings) {
  return {settings.command.ranks, settings.options.train.device == "cpu", settings.options.train.gpu_ids};
}

RunContext run_context(const Settings& settings, const LaunchInfo& launch) {
  return {settings.options.train.task, launch.job_id, utc_time_for_names(),
          is_continuation(allocation(process_environment()), launch.job_id)};
}

// With --resume or --load_run, takes the task, and the library that has it, from the run, unless --task is given.
void take_task_of_run(Settings& settings, const std::string& config, const LaunchInfo& launch, Communicator& comm) {
  const RunOptions& options = settings.options.run;
  if (!config.empty()) on_all_ranks(comm, [&] { settings.apply(config); });
  if (!settings.options.train.task.empty() || !(options.resume || !options.load_run.empty())) return;
  std::string library;
  const std::string task = on_rank_zero(comm, [&] {
    const std::filesystem::path run = *run_to_resume(options, run_context(settings, launch));
    const auto [recorded, file] = recorded_task(run);
    if (recorded.empty())
      throw UsageError((run / "run.json").string() + " does not name the run's task (it is missing or damaged): give " +
                       "--task");
    library = file;
    return recorded;
  });
  library = on_rank_zero(comm, [&] { return library; });
  on_all_ranks(comm, [&] { load_recorded_library(task, library); });
  if (!task.empty()) settings.command_line.push_back({"task", task});
}

// If --task is unknown and is that of --init_from or --checkpoint, throws an error that names its task library.
void require_task_of_origin(const Settings& settings, Communicator& comm) {
  const std::string origin = origin_of(settings.options.run), task = settings.options.train.task;
  if (origin.empty() || task.empty() || caught_usage_error([&] { task_record(task); }).empty()) return;
  on_rank_zero(comm, [&]() -> std::string {
    const std::string file = find_checkpoint(origin).string();
    const Checkpoint checkpoint = read_checkpoint(file);
    if (attribute<std::string>(checkpoint, file, "task") == task) require_known_task(checkpoint, file);
    return "";
  });
}

// Replaces --teacher by its checkpoint's absolute path, which the run records. A run that goes on keeps its teacher: a
// path such as runs/TASK/latest leads to the student after the first start.
void keep_teacher(Settings& settings, const std::string& run_ini, Communicator& comm) {
  std::string& teacher = settings.options.train.teacher;
  if (teacher.empty()) return;
  teacher = on_rank_zero(comm, [&] {
    std::string recorded = run_ini.empty() ? "" : teacher;
    if (!run_ini.empty())
      for (const OptionDifference& difference : differences(settings.table, run_ini, "options.ini"))
        if (difference.name == "teacher") recorded = difference.other;
    if (recorded.empty() && std::filesystem::path(teacher).parent_path() == "pretrained") return teacher;
    std::string file = std::filesystem::canonical(find_checkpoint(teacher)).string();
    if (recorded.empty() || recorded == file) return file;
    if (recorded != teacher) log::warn("the run keeps its teacher {} (--teacher {} is another one)", recorded, teacher);
    return recorded;
  });
}

// Applies all options. The options of a resumed run have a lower priority than those of the command line.
void apply_options(Settings& settings, const std::string& config, const RunContext& context, Communicator& comm) {
  const std::string run_ini = on_rank_zero(comm, [&] {
    const auto run = run_to_resume(settings.options.run, context);
    if (!run) return std::string();
    const std::string text = recorded_options(*run);
    settings.warn_of_ignored_options(text, (*run / "options.ini").string());
    return text;
  });
  on_all_ranks(comm, [&] {
    settings.apply(config, run_ini);
    settings.require_chosen(config);
    settings.options.env->choose_physics();
  });
  keep_teacher(settings, run_ini, comm);
}

// Chooses and locks the run's directory. The result is filled in on rank 0 only.
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

// Rank 0's output during a run. The constructor opens the run's files and prints the banner.
struct RunOutput {
  RunOutput(const Settings& settings, const std::string& config, const Workplace& place, const Learner& learner,
            const Trainer& trainer, const RunStart& start, RunFacts facts, Deadline* deadline)
      : directory(start),
        manifest(directory.path() / "run.json", with_lock(std::move(facts), directory.lock_kind()), utc_time()),
        monitor(settings.options.run, directory, manifest, settings.table.to_ini(), trainer.metrics(),
                start.from == StartFrom::resume ? std::optional(trainer.iteration()) : std::nullopt,
                console_mode(settings.command.quiet),
                resume_command(settings, place, start.directory.string(), started_by_ourselves()), deadline) {
    if (!settings.command.quiet)
      monitor.message(banner(settings.options, place, manifest.facts(), learner.plan(), learner.policy(),
                             start.directory.string(), deadline ? deadline->time_left(kBannerPatience) : std::nullopt));
    if (!start.notice.empty()) log::info("{} from iteration {}", start.notice, trainer.iteration());
    explain_isaac_lab_options(settings.command);
    for (const std::string& warning : warnings_of_effects(settings, config, place, trainer.iteration()))
      log::warn("{}", warning);
  }
  static RunFacts with_lock(RunFacts facts, const std::string& lock) { return facts.lock = lock, facts; }

  RunDirectory directory;
  RunManifest manifest;
  RunMonitor monitor;
};

int train(Settings& settings, const LaunchInfo& launch, Communicator& comm, const std::vector<std::string>& arguments) {
  log::init(comm.rank(), comm.size(), host_name(), settings.command.quiet);

  // 1. Options: rank 0 reads the files, and all ranks apply the same text.
  const std::string config = on_rank_zero(comm, [&] { return settings.read_config(settings.command.config); });
  require_task_of_origin(settings, comm);
  take_task_of_run(settings, config, launch, comm);
  on_all_ranks(comm, [&] {
    settings.apply(config);
    require_task(settings.options.train.task);
  });
  require_same_tasks(comm);  // now including the libraries found in lib/drl/tasks

  // 2. One rank per device: if the launcher started fewer ranks, start drl_train again through srun and wait for it.
  const auto outcome = start_one_rank_per_device(comm, launch, rank_request(settings), arguments, kStopRelay);
  if (outcome) return *outcome;

  // 3. Device and cores; environments, networks, algorithm.
  const RunContext context = run_context(settings, launch);
  apply_options(settings, config, context, comm);
  const Options& options = settings.options;
  const Workplace place = find_workplace(settings, launch, comm);
  std::optional<Deadline> deadline;  // only on rank 0 of a Slurm job
  if (place.job && comm.rank() == 0) deadline.emplace(*place.job, options.run.time_margin);
  Learner learner(options, place, comm);
  Trainer trainer(options.train, options.run, learner.algorithm(), learner.task(), learner.comm(),
                  [&] { return learner.evaluate(); });
  trainer.measure_energy([&] { return learner.gpu_energy(); });
  broadcast_state(trainer.state(), comm);
  learner.algorithm().state_changed();

  // 4. The run's directory, and the state to start from.
  RunStart start = claim_directory(settings, context, comm);
  RunFacts facts = facts_of(settings, place, learner.engine(), learner.files(), start);
  facts.files = learner.contents();
  load_start(start, settings, facts, trainer, learner.algorithm(), comm);
  if (options.train.nan_policy == "dump")
    learner.write_lost_states_to(on_rank_zero(comm, [&] { return start.directory.string(); }), facts,
                                 settings.table.to_ini());

  // 5. The training loop. Rank 0 reports its progress.
  std::optional<RunOutput> output;
  on_rank_zero(comm, [&]() -> std::string {
    if (deadline) deadline->require_time();
    require_films(options.run, options.train.task, start.from == StartFrom::resume);
    output.emplace(settings, config, place, learner, trainer, start, std::move(facts), deadline ? &*deadline : nullptr);
    output->monitor.describe_policies([&](Checkpoint& checkpoint) { describe_policy(checkpoint, learner.policy()); });
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

// Returns the options among `given` that make drl_train answer a question instead of training.
std::vector<NamedValue> questions_in(const std::vector<NamedValue>& given) {
  std::vector<NamedValue> questions;
  for (const NamedValue& option : given)
    if (contains({"help", "help_all", "version", "list_tasks", "print_config"}, option.name))
      questions.push_back(option);
  return questions;
}

// Calls `compare` with the other ranks after this one has answered --help. If it ended instead, ranks that were told to
// train would wait for it in MPI_Init for ever. Help must work without MPI, so a copy of this process starts MPI, and
// prints nothing if that fails. Returns the exit code.
int compare_after_answer(const LaunchInfo& launch, const std::function<void(Communicator&)>& compare) {
  if (launch.world_size == 1 || !speaks_to_mpi(launch)) return kDone;
  const int code = run_in_copy([&] {
    const Descriptor console(dup(STDERR_FILENO)), nowhere(open("/dev/null", O_WRONLY));
    dup2(nowhere, STDERR_FILENO);
    bool has_started = false;
    const int result = run_session(launch, [&](Communicator& comm) {
      has_started = true;
      dup2(console, STDERR_FILENO);
      compare(comm);
      return int{kDone};
    });
    return has_started ? result : int{kDone};
  });
  return code == ExitCode::kUsage ? ExitCode::kUsage : kDone;
}

// Starts `ranks` ranks for --ranks N: on the nodes of the Slurm job by srun, else on this machine by mpirun.
int start_ranks(int ranks, const std::vector<std::string>& arguments) {
  if (!can_run_under_srun()) return run_under_mpirun(ranks, arguments);
  return run_under_srun(ranks, arguments, kStopRelay);
}

int run(const std::vector<std::string>& arguments) {
  catch_stop_signals();
  LaunchInfo launch;
  try {
    launch = launch_info();
    log::init(launch.rank, launch.world_size, host_name(), false);
    std::optional<Settings> settings;
    std::vector<NamedValue> given;
    bool is_answered = false;
    const std::string wrong = caught_usage_error([&] {
      settings.emplace(arguments);
      given = settings->table.given_options(settings->command_line);
      is_answered = print_information(*settings, launch);
      if (is_answered) return;
      restrict_to_outer_step();
      const bool is_started_by_drl = started_by_ourselves() || started_through_srun();  // which has checked the job
      if (const auto job = allocation(process_environment()); job && launch.rank == 0 && !is_started_by_drl)
        require_not_over(*job);
    });
    const auto compare_ranks = [&](Communicator& comm) {
      require_same_build(comm, !settings || settings->command.preflight != "off");
      require_no_error(comm, wrong);
      require_same_options(comm, questions_in(given));  // an error then names only these
      require_same_options(comm, given);
    };
    if (is_answered) return compare_after_answer(launch, compare_ranks);
    if (settings) {
      const int ranks = launch.launched() ? 0 : settings->command.ranks;
      if (const std::string problem = limits_problem("drl_train", ranks); !problem.empty()) {
        if (launch.local_rank == 0) log::error("{}", problem);  // MPI may be unable to start, and nodes may differ
        return report_exit_code(launch.rank, ExitCode::kUsage);
      }
      if (const int gpus = settings->command.num_gpus; gpus > 1 && !launch.launched() && settings->command.ranks == 0)
        throw UsageError(
            fmt::format("--num_gpus {0} starts no ranks (drl_train uses one GPU per rank): give --ranks {0}", gpus));
      if (!launch.launched() && settings->command.ranks > 1) {
        if (!wrong.empty()) throw UsageError(wrong);
        take_stops_as_requests();
        return start_ranks(settings->command.ranks, arguments);
      }
      log::init(launch.rank, launch.world_size, host_name(), settings->command.quiet);
      if (const std::string hint = launch.launched() ? "" : idle_devices_hint(process_environment(), arguments);
          !hint.empty())
        log::info("{}", hint);
    }
    return report_exit_code(launch.rank, run_session(launch, [&](Communicator& comm) {
                              take_stops_as_requests();
                              compare_ranks(comm);
                              require_same_tasks(comm);  // those of --task_library
                              try {
                                return train(*settings, launch, comm, arguments);
                              } catch (const std::bad_alloc& error) {
                                throw Error(std::string(message_of(error)) + ", or use a smaller --num_envs");
                              }
                            }));
  } catch (const Error& error) {  // before the ranks are connected: all ranks have the same error
    if (launch.rank == 0) log::write(log::Level::common_error, error.what());
    return report_exit_code(launch.rank, error.exit_code());
  }
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
