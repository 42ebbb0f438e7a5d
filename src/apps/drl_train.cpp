// drl_train: trains a policy on one rank or many. prepare() and train() list the steps; the training loop is in
// run/trainer.cpp.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/banner.hpp"
#include "apps/check_run.hpp"
#include "apps/learner.hpp"
#include "apps/loading.hpp"
#include "apps/program.hpp"
#include "apps/questions.hpp"
#include "apps/run_texts.hpp"
#include "apps/settings.hpp"
#include "apps/workplace.hpp"
#include "base/check.hpp"
#include "base/failure.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "export/exported_policy.hpp"
#include "launch/allocation.hpp"
#include "placement/mpirun.hpp"
#include "placement/relaunch.hpp"
#include "placement/stop.hpp"
#include "run/checkpoint_hook.hpp"
#include "run/deadline.hpp"
#include "run/preflight.hpp"
#include "run/replay_files.hpp"
#include "run/restarts.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/start.hpp"
#include "run/state.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

constexpr double kBannerPatience = 1;  // seconds that squeue may take to report the time left

// Passes stop requests on to ranks that srun starts for us.
const StopRelay kStopRelay = {[] { return signal_through_srun(requested_stop()); },
                              [](int code) { return exit_code_after(code, requested_stop()); }};

// Returns the command of this start for run.json. The command of --after_checkpoint is left out, because it may contain
// a secret.
std::string recorded_command(std::vector<std::string> words) {
  for (size_t k = 0; k < words.size(); ++k) {
    const size_t end = words[k].find('=');
    std::string name = words[k].substr(0, end);
    std::ranges::replace(name, '-', '_');
    if (name != "__after_checkpoint") continue;
    if (end != std::string::npos)
      words[k].replace(end + 1, std::string::npos, "...");
    else if (k + 1 < words.size())
      words[k + 1] = "...";
  }
  return shell_line(words);
}

// Chooses and locks the run's directory. The result is filled in on rank 0 only.
RunStart claim_directory(const RunRequest& request, bool warns, Communicator& comm) {
  RunStart start;
  const std::string directory = on_rank_zero(comm, [&] {
    start = claim_run(request);
    return start.directory.string();
  });
  if (warns) warn_if_not_shared(comm, directory);
  return start;
}

// Returns the directory of the run that will be resumed, on rank 0, or "".
std::filesystem::path resumed_run(const RunRequest& request, Communicator& comm) {
  std::filesystem::path resumed;
  on_rank_zero(comm, [&] {
    if (const RunStart start = plan_run(request); start.from == StartFrom::resume) resumed = start.directory;
  });
  return resumed;
}

// Returns whether the run that is resumed has recorded that it was done.
bool has_ended(const RunStart& start, Communicator& comm) {
  const std::string status = on_rank_zero(
      comm, [&] { return start.from == StartFrom::resume ? recorded_run(start.directory).status : std::string(); });
  return status == "done" || status == "target reached";
}

ConsoleMode console_mode(bool quiet) {
  return quiet ? ConsoleMode::quiet : terminal_width() > 0 ? ConsoleMode::live : ConsoleMode::lines;
}

// Rank 0's output during a run. The constructor opens the run's files and prints the banner.
struct RunOutput {
  RunOutput(const RunPlan& plan, const Workplace& place, const Learner& learner, const Trainer& trainer,
            const RunStart& start, RunFacts facts, Deadline* deadline)
      : directory(start),
        manifest(directory.path() / "run.json", with_lock(std::move(facts), directory.lock_kind()), utc_time()),
        monitor(plan.options.run, directory, manifest, plan.table.to_ini(), trainer.metrics(),
                start.from == StartFrom::resume ? std::optional(trainer.iteration()) : std::nullopt,
                console_mode(plan.command.quiet),
                resume_command(plan, place, start.directory.string(), started_by_ourselves()), deadline) {
    if (!plan.command.quiet)
      monitor.message(banner(plan.options, place, manifest.facts(), learner.plan(), learner.policy(),
                             start.directory.string(), deadline ? deadline->time_left(kBannerPatience) : std::nullopt));
    if (!start.notice.empty()) log::info("{} from iteration {}", start.notice, trainer.iteration());
    explain_isaac_lab_options(plan.command);
    if (learner.teacher()) learner.teacher()->keep(directory.path(), plan.table);
    for (const std::string& warning : warnings_of_effects(plan, place, start, trainer.iteration()))
      log::warn("{}", warning);
  }
  static RunFacts with_lock(RunFacts facts, const std::string& lock) { return facts.lock = lock, facts; }

  RunDirectory directory;
  RunManifest manifest;
  RunMonitor monitor;
};

// Trains with these settings, on ranks that have one device each.
int train(const RunPlan& settings, const LaunchInfo& launch, Communicator& comm,
          const std::vector<std::string>& arguments) {
  // 3. Device and cores; environments, networks, algorithm.
  const Options& options = settings.options;
  on_all_ranks(comm, [&] { options.env->choose_physics(); });
  const PlaceRequest wanted{options.train.device, options.train.gpu_ids, settings.command.threads};
  const Workplace place = find_workplace(wanted, options.train.isa, launch, comm);
  std::optional<Deadline> deadline;  // only on rank 0 of a Slurm job
  if (place.job && comm.rank() == 0) deadline.emplace(*place.job, options.run.time_margin);
  const RunRequest request{options.run, settings.table, run_context(options.train.task, launch)};
  Learner learner(options, place, comm, options.algorithm().needs_teacher() ? resumed_run(request, comm) : "");
  if (options.train.gate) on_all_ranks(comm, [&] { require_gate(learner.task()); });
  Trainer trainer(
      options.train, options.run, learner.algorithm(), learner.task(), learner.comm(),
      [&] { return learner.evaluate(); }, [&] { return learner.try_gate(settings.table.to_ini()); });
  trainer.measure_energy([&] { return learner.gpu_energy(); });
  broadcast_state(trainer.state(), comm);
  learner.algorithm().state_changed();

  // 4. The run's directory, and the state to start from.
  RunStart start = claim_directory(request, settings.command.preflight != "off", comm);
  RunFacts facts = facts_of(settings, place, learner.describe_engine(), learner.files(), start);
  facts.files = learner.contents();
  facts.command = recorded_command(arguments);
  if (learner.teacher()) facts.teacher = on_rank_zero(comm, [&] { return learner.teacher()->text(); });
  load_start(start, {settings, facts, trainer, learner.algorithm(), learner.policy()}, comm);
  facts.loaded = start.loaded;
  facts.restarted_after = restart_cause();
  if (has_ended(start, comm) && trainer.finished()) {  // its files stay as they are
    if (comm.rank() == 0) std::printf("%s\n", trainer.nothing_to_do().c_str());
    return kDone;
  }
  if (options.train.nan_policy == "dump")
    learner.write_lost_states_to(on_rank_zero(comm, [&] { return start.directory.string(); }), facts,
                                 settings.table.to_ini());

  const ReplayFiles replay(trainer.state(), options.train.task, comm);
  if (replay.is_needed() && options.run.save_replay != "none") {
    const std::filesystem::path folder = on_rank_zero(comm, [&] { return start.directory.string(); });
    trainer.save_replay([&, folder](int64_t iteration) {
      replay.save(folder / "checkpoints", iteration, options.run.save_replay == "all");
    });
  }

  // 5. The training loop. Rank 0 reports its progress.
  std::optional<RunOutput> output;
  on_rank_zero(comm, [&] {
    if (deadline) deadline->require_time();
    require_films(options.run, options.train.task, start.from == StartFrom::resume);
    output.emplace(settings, place, learner, trainer, start, std::move(facts), deadline ? &*deadline : nullptr);
    output->monitor.describe_policies([&](Checkpoint& checkpoint) { describe_policy(checkpoint, learner.policy()); });
    output->manifest.write(trainer.progress(), "running");
    report_run(
        {.directory = std::filesystem::absolute(start.directory),
         .num_envs_total = learner.plan().num_envs * comm.size(),
         .shards = options.train.deterministic_shards ? options.train.deterministic_shards : options.train.shards});
  });
  try {
    const int code = trainer.run(output ? &output->monitor : nullptr);
    if (const std::string speeds = learner.host_speeds(); output && !speeds.empty() && !settings.command.quiet)
      output->monitor.message("  " + speeds);
    if (output) report_agreement();
    return code;
  } catch (const SharedError& error) {
    if (output) output->monitor.fail(trainer.progress(), error.what()), report_agreement();
    throw;
  } catch (const std::exception& error) {
    if (output) output->monitor.fail(trainer.progress(), message_of(error));
    throw;
  }
}

// Resolves the settings. Then trains, or starts the ranks that do so.
int prepare(const Settings& typed, const LaunchInfo& launch, Communicator& comm,
            const std::vector<std::string>& arguments) {
  log::init(comm.rank(), comm.size(), host_name(), typed.command.quiet);

  // 1. Settings: rank 0 reads the files, and all ranks resolve the same texts.
  const RunTexts texts = read_texts(typed, launch, comm);
  std::unique_ptr<const RunPlan> plan;
  on_all_ranks(comm, [&] {
    plan = resolve(typed, texts);
    plan->require_usable();
  });
  require_same_tasks(comm);  // now including the libraries found in lib/drl/tasks
  if (typed.command.check) return check_run(*plan, texts, launch, comm), int{kDone};

  // 2. One rank per device: if the launcher started fewer ranks, start drl_train again through srun and wait for it.
  const TrainOptions& options = plan->options.train;
  const RankRequest request{plan->command.ranks, options.device == "cpu", options.gpu_ids};
  const auto outcome = start_one_rank_per_device(comm, launch, request, arguments, kStopRelay);
  return outcome ? *outcome : train(*plan, launch, comm, arguments);
}

int run_on(const LaunchInfo& launch, const std::vector<std::string>& arguments) {
  std::optional<Settings> typed;
  std::vector<NamedValue> given;
  bool is_answered = false;
  const std::string wrong = caught_usage_error([&] {
    typed.emplace(arguments);
    given = typed->table.given_options(typed->command_line);
    is_answered = answer_question(*typed, launch);
    if (is_answered) return;
    restrict_to_outer_step();
    const bool is_started_by_drl = started_by_ourselves() || started_through_srun();  // which has checked the job
    if (const auto job = allocation(process_environment()); job && launch.rank == 0 && !is_started_by_drl)
      require_not_over(*job);
  });
  const auto compare_ranks = [&](Communicator& comm) {
    require_same_build(comm, !typed || typed->command.preflight != "off");
    require_no_error(comm, wrong);
    require_same_options(comm, questions_in(given));  // an error then names only these
    require_same_options(comm, given);
  };
  if (is_answered) return compare_after_answer(launch, compare_ranks);
  if (typed) {
    const int ranks = launch.launched() || typed->command.check ? 0 : typed->command.ranks;
    if (const std::string problem = limits_problem("drl_train", ranks); !problem.empty()) {
      if (launch.local_rank == 0) log::error("{}", problem);  // MPI may be unable to start, and nodes may differ
      return report_exit_code(launch.rank, ExitCode::kUsage);
    }
    if (const int gpus = typed->command.num_gpus; gpus > 1 && !launch.launched() && typed->command.ranks == 0)
      throw UsageError(
          fmt::format("--num_gpus {0} starts no ranks (drl_train uses one GPU per rank): give --ranks {0}", gpus));
    if (ranks > 1) {
      if (!wrong.empty()) throw UsageError(wrong);
      take_stops_as_requests();
      return run_with_restarts(
          ranks, arguments, typed->command_line,
          {typed->command.max_restarts, typed->command.spare_nodes, typed->command.on_straggler == "drop"},
          typed->options.run.runs_dir, kStopRelay);
    }
    log::init(launch.rank, launch.world_size, host_name(), typed->command.quiet);
    if (typed->command.max_restarts > 0 && launch.rank == 0 && !started_by_ourselves() && !started_through_srun())
      log::warn("--max_restarts has no effect, because drl_train does not start the ranks: use --ranks with 2 or more");
    if (!typed->command.check) hint_at_idle_devices(launch, arguments);
  }
  return run_connected(launch, [&](Communicator& comm) {
    take_stops_as_requests();
    compare_ranks(comm);
    require_same_tasks(comm);  // those of --task_library
    try {
      return prepare(*typed, launch, comm, arguments);
    } catch (const std::bad_alloc& error) {
      throw Error(std::string(message_of(error)) + ", or use a smaller --num_envs");
    }
  });
}

int run(const std::vector<std::string>& arguments) {
  catch_stop_signals();
  return run_launched([&](const LaunchInfo& launch) { return run_on(launch, arguments); });
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
