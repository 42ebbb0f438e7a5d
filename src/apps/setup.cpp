#include "apps/setup.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "apps/gpu.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cluster/cuda_support.hpp"
#include "cluster/mpirun.hpp"
#include "device/isa.hpp"
#include "doctor/preflight.hpp"
#include "envs/make_env.hpp"
#include "nets/torch/blas.hpp"
#include "nets/torch/torch_nets.hpp"
#include "run/evaluator.hpp"
#include "store/hdf5_image.hpp"

namespace drl {

void CommandOptions::describe(OptionVisitor& v) {
  constexpr Where here = Where::command_line;
  v("config", config, "file of options, as --print_config prints it", Effect::none, here);
  v("ranks", ranks, "start this many ranks in all: on this machine, or on a Slurm job's nodes; 1 = one a task",
    at_least(0), Effect::none, here);
  v("threads", threads, "threads of each rank, 0 = as the allocation says (-c), else 1", at_least(0), Effect::none,
    here);
  v("quiet", quiet, "print warnings and errors only", Effect::none, here);
  v("preflight", preflight, "look before training whether all nodes have this build, and the run directory",
    one_of({"quick", "off"}), Effect::none, here);
  v("help", help, "this text, with the preset of --task", Effect::none, here, letter('h'));
  v("version", version, "version, git hash and MPI library", Effect::none, here);
  v("list_tasks", list_tasks, "names of all tasks", Effect::none, here);
  v("print_config", print_config, "all options as a file for --config", Effect::none, here);
  v("headless", headless, "Isaac Lab's; nothing is ever drawn here", Effect::none, here, hidden);
  v("distributed", distributed, "Isaac Lab's; the launcher or --ranks decides here", Effect::none, here, hidden);
  v("num_gpus", num_gpus, "Isaac Lab's; one rank drives one device here", at_least(0), Effect::none, here, hidden);
}

Settings::Settings(const std::vector<std::string>& words) : program(words.front()) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  table.section("", "Program", command);
  options.add_to(table);
  command_line = table.parse_command_line(arguments);
  table.apply(command_line);
}

void Settings::apply(const std::string& config_ini, const std::string& run_ini) {
  table.apply_ini(run_ini, "options.ini");
  table.apply_ini(config_ini, command.config);
  table.apply(command_line);
  const std::string task = options.train.task;
  if (task.empty()) return;
  table.apply_ini(task_preset(task), "preset of " + task);
  table.apply_ini(run_ini, "options.ini");
  table.apply_ini(config_ini, command.config);
  table.apply(command_line);
}

std::string Settings::read_config(const std::string& path) const {
  if (path.empty()) return "";
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path))
    throw UsageError("cannot read the config file " + printable(path) + " (no such readable file): check --config");
  warn_of_commands(text.str(), path);
  return text.str();
}

void Settings::warn_of_commands(const std::string& options_ini, const std::string& file) const {
  for (const std::string& line : table.without_effect(options_ini, file))
    log::warn("{} has no effect (a file shall not make a run execute commands): give it on the command line", line);
}

void require_task(const std::string& task) {
  if (task.empty()) throw UsageError("--task is missing (what shall be learned?): one of " + join(task_names(), ", "));
}

namespace {

constexpr double kPatienceForBanner = 1;  // seconds that squeue may take to tell the time left

void explain_foreign_options(const CommandOptions& command) {
  if (command.headless) log::info("--headless: nothing is ever drawn here");
  if (command.distributed) log::info("--distributed: every run is; its ranks come from srun, mpirun or --ranks N");
  if (command.num_gpus > 0)
    log::info("--num_gpus: start one rank per GPU by srun, mpirun or --ranks {}", command.num_gpus);
}

std::vector<std::string> unique(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names)
    if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
  return result;
}

std::string layers(const NetSpec& spec) {
  std::vector<std::string> widths;
  for (int width : spec.dims) widths.push_back(std::to_string(width));
  return join(widths, "-");
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

// Nodes by name; of many, the first and the last.
std::string hosts_text(const RunFacts& facts) {
  const std::vector<std::string>& hosts = facts.hosts;
  if (hosts.size() <= 4) return join(hosts, ", ");
  return std::to_string(hosts.size()) + " nodes, " + hosts.front() + " ... " + hosts.back();
}

// The instruction set of the loops is the same on all ranks, lest their numbers differ: the lowest of those that
// `wanted` stands for on each.
Isa common_isa(Communicator& comm, const std::string& wanted) {
  Isa isa{};
  on_all_ranks(comm, [&] { isa = isa_of(wanted); });
  const std::vector<std::byte> all = comm.gather(std::as_bytes(std::span(&isa, 1)), 0);
  for (size_t at = 0; at < all.size(); at += sizeof(isa)) {
    Isa other;
    std::memcpy(&other, &all[at], sizeof(other));
    isa = std::min(isa, other);
  }
  comm.broadcast(std::as_writable_bytes(std::span(&isa, 1)), 0);
  return isa;
}

}  // namespace

TrainingJob::TrainingJob(const Settings& settings, const LaunchInfo& launch, Communicator& comm)
    : settings_(settings), launch_(launch), comm_(comm), machine_(this_machine()) {
  const Options& options = settings.options;
  const int threads = settings.command.threads;
  placement_ = place_rank(comm, launch, process_environment(), options.train.device, options.train.gpu_ids,
                          threads ? std::optional(threads) : std::nullopt);
  hosts_ = compare_hardware(comm, {machine_.host, machine_.cpu_model + ", " + std::string(name_of(isa_of("auto"))),
                                   placement_.gpu < 0 ? "" : gpu_name(placement_.gpu)});
  const Isa isa = common_isa(comm, options.train.isa);
  job_ = allocation(process_environment());
  if (job_ && comm.rank() == 0) deadline_.emplace(*job_, options.run.time_margin);
  on_all_ranks(comm, [&] {
    plan_ = {options.train.num_envs,
             options.train.num_steps_per_env,
             comm.rank(),
             comm.size(),
             options.train.shards ? options.train.shards : comm.size(),
             options.ppo.num_mini_batches};
    plan_.check();
    task_ = task_spec(options.train.task);
    spec_ = actor_critic(task_, options.policy);
  });
  if (placement_.gpu >= 0) gpu_comm_ = gpu_communicator(options.gpu, placement_.gpu, comm, hosts_);
  on_all_ranks(comm, [&] {
    const uint64_t seed = static_cast<uint64_t>(options.train.seed);
    const EnvConfig envs{plan_.num_envs, plan_.rank * plan_.num_envs, seed, options.train.init_at_random_ep_len};
    queue_ = placement_.gpu < 0 ? make_host_queue(isa) : gpu_queue(placement_.gpu, isa);
    nets_ = placement_.gpu < 0 ? make_torch_nets(*queue_, spec_.layout, placement_.threads)
                               : gpu_nets(*queue_, spec_.layout, (plan_.num_steps + 1) * plan_.num_envs);
    envs_ = make_env(options.train.task, envs, *queue_);
    ppo_ = std::make_unique<Ppo>(*queue_, options.ppo, options.policy, plan_, seed, spec_, *nets_, *envs_,
                                 options.gpu.cuda_graphs);
  });
  Communicator& learners = gpu_comm_ ? *gpu_comm_ : comm;
  trainer_ = std::make_unique<Trainer>(options, *ppo_, task_, learners, [this] { return evaluate_policy(); });
  broadcast_state(trainer_->state(), comm);
  ppo_->state_changed();
}

// On the CPU, whatever the policy is learned on: a few episodes now and then.
double TrainingJob::evaluate_policy() {
  const EvaluationPlan plan{settings_.options.train.task, 64, 64, static_cast<uint64_t>(settings_.options.train.seed),
                            ActionChoice::most_probable};
  const std::unique_ptr<Queue> queue = make_host_queue(queue_->isa());
  const std::unique_ptr<Nets> nets = make_torch_nets(*queue, spec_.layout, placement_.threads);
  const float* params = ppo_->host_parameters().data();
  return summarize(evaluate(plan, {*queue, *nets, spec_, params, ppo_->host_normalizers().obs}).returns).mean;
}

// The newest checkpoint; if that is damaged, the one before.
Checkpoint TrainingJob::read_first_good(const RunStart& start) {
  for (size_t k = 0; k + 1 < start.checkpoints.size(); ++k) {
    try {
      return read_checkpoint(start.checkpoints[k]);
    } catch (const UsageError& error) {
      log::warn("{}; using {} instead", error.what(), start.checkpoints[k + 1].string());
      damaged_.push_back(start.checkpoints[k]);
    }
  }
  return read_checkpoint(start.checkpoints.back());
}

namespace {

// What "equal to the bit" is promised for, and is other than when the checkpoint was made: "world_size 2 -> 4".
std::vector<std::string> changed_surroundings(const Checkpoint& checkpoint, const Checkpoint& now) {
  std::vector<std::string> changes;
  const auto text = [](const Attribute& a) {
    const auto* number = std::get_if<int64_t>(&a);
    const auto* words = std::get_if<std::string>(&a);
    return number ? std::to_string(*number) : words ? *words : "?";
  };
  for (const auto& [name, value] : now.attributes) {
    const auto then = checkpoint.attributes.find(name);
    const bool known = then != checkpoint.attributes.end();
    if (!known || then->second != value)
      changes.push_back(name + ": " + (known ? text(then->second) : "not known") + " -> " + text(value));
  }
  return changes;
}

bool learning_rate_changed(const OptionTable& table, const Checkpoint& checkpoint, const std::string& file) {
  for (const OptionDifference& difference :
       differences(table, attribute<std::string>(checkpoint, file, "options"), file))
    if (difference.name == "ppo.learning_rate") return true;
  return false;
}

}  // namespace

void TrainingJob::load(const RunStart& start) {
  Checkpoint checkpoint;
  double elapsed = 0;
  StateList state = trainer_->state();
  const std::string from = on_rank_zero(comm_, [&]() -> std::string {
    if (start.from == StartFrom::scratch) return "";
    const bool weights_only = start.from == StartFrom::weights;
    checkpoint = read_first_good(start);
    const std::string file = start.checkpoints[damaged_.size()].string();
    if (!weights_only) settings_.warn_of_commands(attribute<std::string>(checkpoint, file, "options"), file);
    const auto& task = attribute<std::string>(checkpoint, file, "task");
    const std::string& wanted = settings_.options.train.task;
    if (task != wanted)
      throw UsageError("checkpoint " + file + " is of another task (" + task + ", not " + wanted + "): give --task " +
                       task + ", or another file");
    require_state(weights_only ? policy_state(state) : state, checkpoint, file);
    if (weights_only) return "weights";
    elapsed = attribute<double>(checkpoint, file, "elapsed_seconds");
    const RunFacts now = facts(start);
    const std::vector<std::string> changes = changed_surroundings(checkpoint, {{{"world_size", int64_t{now.world_size}},
                                                                                {"cpu_model", now.cpu_model},
                                                                                {"versions", versions_text(now)},
                                                                                {"git_hash", now.git_hash}},
                                                                               {}});
    if (!changes.empty())
      log::info("changed since the checkpoint was made ({}): the numbers will not be equal to the bit",
                join(changes, "; "));
    return learning_rate_changed(settings_.table, checkpoint, file) ? "all but the learning rate" : "all";
  });
  // Rank 0 alone knows `start`; all know what it said.
  if (from.empty()) return;
  if (from == "weights") state = policy_state(state);
  if (!restore_state(state, checkpoint, comm_) && comm_.rank() == 0)
    log::warn("the checkpoint holds another number of environments: they start new episodes");
  trainer_->state_loaded(elapsed);
  if (from == "all but the learning rate") ppo_->set_learning_rate(settings_.options.ppo.learning_rate);
}

std::string TrainingJob::engine() const {
  return nets_->description() + (placement_.gpu < 0 ? "" : ", " + gpu_versions());
}

RunFacts TrainingJob::facts(const RunStart& start) const {
  RunFacts facts;
  facts.task = settings_.options.train.task;
  facts.run = start.directory.filename().string();
  facts.launcher = launch_.launcher;
  facts.job_id = launch_.job_id;
  facts.device = placement_.device;
  facts.cpu_model = machine_.cpu_model;
  facts.world_size = comm_.size();
  facts.hosts = unique(hosts_);
  facts.rank_hosts = hosts_;
  facts.shares_cores =
      placement_.threads > placement_.cores || placement_.ranks_on_host * placement_.threads > machine_.host_cores;
  facts.job = job_;
  facts.origin = origin_of(settings_.options.run);
  facts.versions = {{"drl", kVersion},
                    {"engine", engine()},
                    {"mpi", mpi_version()},
                    {"hdf5", hdf5_version()},
                    {"isa", std::string(name_of(queue_->isa()))}};
  facts.git_hash = kGitHash;
  return facts;
}

// "1234 (restart 2), 2 nodes of partition gpu, 0:59:58 left"
std::string TrainingJob::job_text(const Allocation& job) {
  std::string text = job.job;
  if (launch_.job_id != job.job) text += ", going on with " + launch_.job_id;
  if (job.restart_count > 0) text += " (restart " + std::to_string(job.restart_count) + ")";
  if (job.node_count > 0) text += ", " + std::to_string(job.node_count) + (job.node_count == 1 ? " node" : " nodes");
  if (!job.partition.empty()) text += ", partition " + job.partition;
  if (const std::optional<double> left = deadline_->time_left(kPatienceForBanner))
    text += std::isinf(*left) ? ", no time limit" : ", " + human_duration(*left) + " left";
  return text;
}

std::string TrainingJob::banner(const RunStart& start, const RunFacts& facts) {
  const int64_t world = comm_.size(), steps = plan_.num_steps;
  std::ostringstream text;
  const auto line = [&](const char* name, const std::string& value) {
    char padded[32];
    std::snprintf(padded, sizeof(padded), "  %-13s", name);
    text << padded << value << "\n";
  };
  text << "drl " << kVersion << " (" << kGitHash << "): learning " << facts.task << " by PPO\n";
  line("run", start.directory.string());
  if (facts.job) line("job", job_text(*facts.job));
  line("world", std::to_string(world) + (world == 1 ? " rank" : " ranks") + " on " + hosts_text(facts) +
                    (facts.launcher.empty() ? "" : ", started by " + facts.launcher));
  line("placement", placement_.text);
  line("device", placement_.device + ", " + (placement_.gpu < 0 ? machine_.cpu_model : gpu_name(placement_.gpu)));
  line("environments", with_commas(plan_.num_envs) + " a rank, " + with_commas(plan_.num_envs * world) + " in total");
  line("iteration", with_commas(steps) + " steps of each = " + with_commas(steps * plan_.num_envs * world) +
                        " steps; " + std::to_string(settings_.options.ppo.num_learning_epochs) + " epochs of " +
                        std::to_string(plan_.num_mini_batches) + " mini-batches of " +
                        with_commas(steps * plan_.num_envs * world / plan_.num_mini_batches));
  line("networks", "actor " + layers(spec_.layout.net(spec_.actor)) + ", critic " +
                       layers(spec_.layout.net(spec_.critic)) + ", " + settings_.options.policy.activation + "; " +
                       with_commas(spec_.layout.count()) + " parameters");
  line("libraries",
       std::string(name_of(queue_->isa())) + " loops, " + engine() + ", " + mpi_version() + ", HDF5 " + hdf5_version());
  if (world == 1 && machine_.cores > 1 && placement_.threads == 1)
    line("cores", "1 of " + std::to_string(machine_.cores) + " cores used: --ranks " + std::to_string(machine_.cores) +
                      " uses all");
  return text.str();
}

// With the launcher of this start, and the command that no file holds; all else stands in the run's options.ini.
std::string TrainingJob::command_to_go_on(const RunStart& start) const {
  const std::string ranks = std::to_string(comm_.size()), threads = std::to_string(settings_.command.threads);
  std::vector<std::string> words = {settings_.program, "--task", settings_.options.train.task, "--load_run",
                                    start.directory.string()};
  if (settings_.command.threads != 0) words.insert(words.end(), {"--threads", threads});
  if (const std::string& hook = settings_.options.run.after_checkpoint; !hook.empty())
    words.insert(words.end(), {"--after_checkpoint", hook});
  if (started_by_ourselves())
    words.insert(words.end(), {"--ranks", ranks});
  else if (launch_.launcher == "srun")
    words.insert(words.begin(), {"srun", "-N", std::to_string(unique(hosts_).size()), "-n", ranks});
  else if (launch_.launcher == "flux")
    words.insert(words.begin(), {"flux", "run", "-n", ranks});
  else if (launch_.launched())
    words.insert(
        words.begin(),
        {launch_.launcher == "jsrun" || launch_.launcher == "mpirun" ? launch_.launcher : "mpiexec", "-n", ranks});
  return shell_line(words);
}

int TrainingJob::train(const RunStart& start) {
  if (comm_.rank() == 0 && blas_library().reference)
    log::warn(
        "matrix products run on the reference BLAS, 4 to 5 times slower than an optimised one: install OpenBLAS "
        "(Debian: libopenblas0-pthread)");
  std::optional<RunDirectory> directory;
  std::optional<RunRecord> record;
  std::optional<RunReport> report;
  on_rank_zero(comm_, [&]() -> std::string {
    if (deadline_) deadline_->require_time();
    directory.emplace(start);
    if (start.from == StartFrom::resume) directory->set_aside(damaged_);
    RunFacts run_facts = facts(start);
    run_facts.lock = directory->lock_kind();
    record.emplace(directory->path() / "run.json", std::move(run_facts), utc_time());
    const auto resume_at = start.from == StartFrom::resume ? std::optional(trainer_->iteration()) : std::nullopt;
    const ConsoleMode mode = settings_.command.quiet ? ConsoleMode::quiet
                             : terminal_width() > 0  ? ConsoleMode::live
                                                     : ConsoleMode::lines;
    report.emplace(settings_.options.run, *directory, *record, settings_.table.to_ini(), task_.reward_terms, resume_at,
                   mode, command_to_go_on(start), deadline_ ? &*deadline_ : nullptr);
    if (!settings_.command.quiet) report->message(banner(start, record->facts()));
    if (!start.notice.empty()) log::info("{} from iteration {}", start.notice, trainer_->iteration());
    explain_foreign_options(settings_.command);
    record->write(trainer_->iteration(), trainer_->env_steps(), "running", comm_.stats());
    return "";
  });
  try {
    return trainer_->run(report ? &*report : nullptr);
  } catch (...) {
    if (report) report->fail(trainer_->iteration(), trainer_->env_steps(), comm_.stats());
    throw;
  }
}

}  // namespace drl
