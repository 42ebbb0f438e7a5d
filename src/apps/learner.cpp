#include "apps/learner.hpp"

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "placement/topology.hpp"
#include "run/evaluator.hpp"
#include "run/option_files.hpp"
#include "run/preflight.hpp"

namespace drl {
namespace {

// Returns the number of environments of each rank.
int64_t envs_per_rank(const TrainOptions& options, int ranks) {
  const int64_t total = options.num_envs_total;
  if (total == 0) return options.num_envs;
  if (total % ranks == 0) return total / ranks;
  const int64_t below = total / ranks * ranks;
  throw UsageError(
      fmt::format("--num_envs_total {} cannot be divided over {} ranks (each has the same number of environments): use "
                  "--num_envs_total {}{}",
                  total, ranks, below > 0 ? fmt::format("{} or ", below) : "", below + ranks));
}

BatchPlan batch_plan(const Options& options, const Communicator& comm, const TaskSpec& task) {
  const TrainOptions& train = options.train;
  const int ranks = comm.size();
  try {
    return options.algorithm().plan({.num_envs = envs_per_rank(train, ranks),
                                     .num_steps = train.num_steps_per_env,
                                     .rank = comm.rank(),
                                     .world_size = ranks,
                                     .shards = train.shards ? train.shards : ranks,
                                     .sequences = options.policy.is_recurrent()},
                                    task);
  } catch (const EnvCountError& error) {
    if (train.num_envs_total == 0) throw;
    throw error.in_total(train.num_envs_total, ranks);
  }
}

// Throws UsageError if the replay buffers of the ranks on this host do not fit into its memory.
void require_memory(const BatchPlan& plan, const Placement& placement) {
  constexpr int64_t copies = 3;  // of the buffer, while it is saved: two more than before
  const int64_t ranks = placement.device == "cpu" ? placement.ranks_on_host : 0;
  if (ranks * plan.replay_bytes == 0) return;
  const std::optional<int64_t> available = available_memory();
  if (!available || copies * ranks * plan.replay_bytes <= *available) return;
  const auto text = [](int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  throw UsageError(fmt::format(
      "the replay buffer does not fit into the memory (each of the {} on this host needs {}, of which saving makes two "
      "copies, and {} are left): use a smaller replay_size, or ranks on more nodes",
      counted(ranks, "rank"), text(plan.replay_bytes), text(*available)));
}

// Throws UsageError if the states of lost environments could not be repeated.
void require_dumps(const EnvSetup& setup) {
  if (std::get<DelayPlan>(setup.wrappers).delays())
    throw UsageError(
        "--nan_policy dump and --env.delay are given (a step with delayed actions cannot be repeated from the state "
        "alone): leave out one of them");
  if (std::get<GroupPlan>(setup.wrappers).any())
    throw UsageError(
        "--nan_policy dump cannot be combined with --env.actor_obs, --env.hidden_obs or a --teacher (a dump holds the "
        "task's own observations): leave it out");
}

}  // namespace

Learner::Learner(const Options& options, const Workplace& place, Communicator& comm,
                 const std::filesystem::path& resumed)
    : options_(options), threads_(place.placement.threads) {
  const TrainOptions& train = options.train;
  if (options.algorithm().needs_teacher()) teacher_.emplace(options, resumed, comm);
  const EnvSetup setup = teacher_ ? teacher_->student_setup() : options.env->setup();
  on_all_ranks(comm, [&] {
    engine_.emplace(options, place);
    const TaskSpec task = task_spec(train.task, setup);
    plan_ = batch_plan(options, comm, task);
    spec_ = options.algorithm().policy(task, options.policy);
  });
  engine_->connect(comm);
  const uint64_t seed = static_cast<uint64_t>(train.seed);
  on_all_ranks(comm, [&] {
    const EnvConfig envs{.num_envs = plan_.num_envs,
                         .first_global_index = plan_.rank * plan_.num_envs,
                         .seed = seed,
                         .random_start_ages = train.init_at_random_ep_len,
                         .setup = setup,
                         .threads = threads_};
    require_memory(plan_, place.placement);
    engine_->start();
    nets_ = engine_->make_nets(spec_.layout, plan_.most_rows());
    envs_ = make_env(train.task, envs, engine_->queue());
    if (train.nan_policy != "dump") return;
    require_dumps(setup);
    if (options.policy.action_limit)
      throw UsageError(
          "--nan_policy dump and --policy.action_limit are given (a dump holds actions without that limit): "
          "leave out one of them");
    lost_states_.emplace(train.task, envs, place.isa, plan_.rank, comm.size());
  });
  const Teacher* teacher = teacher_ ? &teacher_->load(*engine_, plan_.observations(), comm) : nullptr;
  on_all_ranks(comm, [&] {
    algorithm_ = options.algorithm().make({.queue = engine_->queue(),
                                           .policy = options.policy,
                                           .plan = plan_,
                                           .seed = seed,
                                           .spec = spec_,
                                           .nets = *nets_,
                                           .envs = *envs_,
                                           .watch = lost_states_ ? &*lost_states_ : nullptr,
                                           .teacher = teacher,
                                           .engine = &*engine_});
  });
  require_same_files(comm, envs_->files());
  on_all_ranks(comm, [&] { contents_ = contents_of(options.env->files()); });
  require_same_contents(comm, contents_);
  engine_->measure_energy();
}

std::string Learner::engine() const { return nets_->description() + engine_->library_versions(); }

void Learner::write_lost_states_to(const std::filesystem::path& run, const RunFacts& facts,
                                   const std::string& options_ini) {
  if (!lost_states_) return;
  std::map<std::string, Attribute> attributes = {
      {"task", facts.task}, {"run", run.filename().string()}, {"versions", versions_text(facts)}};
  if (!facts.task_library.empty()) attributes["task_library"] = facts.task_library;
  lost_states_->write_to(run, std::move(attributes), options_ini, facts.files);
}

Evaluation Learner::play(const EnvSetup& setup, const std::vector<float>& curriculum, int64_t seed) {
  const EvaluationPlan plan{.task = options_.train.task,
                            .episodes = kGateEpisodes,
                            .num_envs = kGateEpisodes,
                            .seed = static_cast<uint64_t>(seed),
                            .setup = setup,
                            .threads = threads_,
                            .curriculum = curriculum,
                            .each_step = [this] { comm().computes(); }};
  const std::unique_ptr<Queue> queue = make_host_queue(engine_->queue().isa());
  const std::unique_ptr<Nets> nets = engine_->make_host_nets(*queue, spec_.layout);
  const PolicyView policy = algorithm_->policy();
  Actor actor(*queue, *nets, spec_, policy.params.data(), policy.normalizer);
  return drl::evaluate(plan, actor);
}

double Learner::evaluate() {
  return summarize(play(options_.env->setup(), algorithm_->stats().curriculum, options_.train.seed).returns).mean;
}

GateResult Learner::try_gate(const std::string& options_ini) {
  if (!gate_options_) {
    gate_options_.emplace();
    gate_options_->take_recorded(options_.train.task, options_ini, "the options of this run",
                                 [&](OptionTable& table) { table.apply(drl::gate_options(task())); });
  }
  return judge(task(), play(gate_options_->env->setup(), {}, kGateSeed));
}

}  // namespace drl
