#include "apps/learner.hpp"

#include <algorithm>
#include <bit>

#include "algorithms/sharded_algorithm.hpp"
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

// Returns the plan of a rank, or of a shard that learns as if it were one.
BatchPlan batch_plan(const Options& options, int rank, int ranks, int shards, const TaskSpec& task) {
  const TrainOptions& train = options.train;
  try {
    return options.algorithm().plan({.num_envs = envs_per_rank(train, ranks),
                                     .num_steps = train.num_steps_per_env,
                                     .rank = rank,
                                     .world_size = ranks,
                                     .shards = shards,
                                     .sequences = options.policy.is_recurrent()},
                                    task);
  } catch (const EnvCountError& error) {
    if (train.num_envs_total == 0) throw;
    throw error.in_total(train.num_envs_total, ranks);
  }
}

// Throws UsageError if results could depend on the number of ranks in spite of --deterministic_shards.
void require_shards(const TrainOptions& train, int ranks, bool on_gpu) {
  const auto shards = static_cast<unsigned>(train.deterministic_shards);
  const std::string option = fmt::format("--deterministic_shards {}", shards);
  if (!std::has_single_bit(shards))
    throw UsageError(fmt::format("{} is not a power of two (sums are added in a binary tree): use {} or {}", option,
                                 std::bit_floor(shards), std::bit_ceil(shards)));
  if (on_gpu)
    throw UsageError(
        option +
        " is not available on GPUs (only the CPU's all-reduces add in a fixed order): use --device cpu, or "
        "leave it out");
  if (train.deterministic_shards % ranks != 0)
    throw UsageError(fmt::format("{} cannot be divided over {} (each learns from whole shards): use {}, or more shards",
                                 option, counted(ranks, "rank"),
                                 counted(std::bit_floor(std::min(shards, static_cast<unsigned>(ranks))), "rank")));
  if (train.num_envs_total == 0)
    throw UsageError(
        fmt::format("{} is given without --num_envs_total (--num_envs is the number of each rank, so that "
                    "results would depend on the ranks): use --num_envs_total {}",
                    option, train.num_envs * ranks));
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
    : options_(options), threads_(place.placement.threads), place_of_part_(place) {
  const TrainOptions& train = options.train;
  if (options.algorithm().needs_teacher()) teacher_.emplace(options, resumed, comm);
  const EnvSetup setup = teacher_ ? teacher_->student_setup() : options.env->setup();
  const int ranks = comm.size(), fixed = train.deterministic_shards,
            shards = fixed          ? fixed
                     : train.shards ? train.shards
                                    : ranks;
  on_all_ranks(comm, [&] {
    require_engine(train, place.placement.gpu >= 0);
    if (fixed) require_shards(train, ranks, place.placement.gpu >= 0);
    const TaskSpec task = task_spec(train.task, setup);
    plan_ = batch_plan(options, comm.rank(), ranks, shards, task);
    spec_ = options.algorithm().policy(task, options.policy);
    const int parts = fixed ? plan_.local_shards() : 1;
    place_of_part_.placement.threads = std::max(1, threads_ / parts);
    for (int k = 0; k < parts; ++k)
      parts_.emplace_back(fixed ? batch_plan(options, comm.rank() * parts + k, fixed, fixed, task) : plan_,
                          RunEngine(options, place_of_part_));
  });
  engine().connect(comm);
  const uint64_t seed = static_cast<uint64_t>(train.seed);
  on_all_ranks(comm, [&] {
    require_memory(plan_, place.placement);
    for (auto& [plan, engine, nets, env, lost_states] : parts_) {
      const EnvConfig envs{.num_envs = plan.num_envs,
                           .first_global_index = plan.rank * plan.num_envs,
                           .seed = seed,
                           .random_start_ages = train.init_at_random_ep_len,
                           .setup = setup,
                           .threads = place_of_part_.placement.threads};
      engine.start();
      nets = engine.make_nets(spec_.layout, plan.most_rows());
      env = make_env(train.task, envs, engine.queue());
      if (train.nan_policy != "dump") continue;
      require_dumps(setup);
      if (options.policy.action_limit)
        throw UsageError(
            "--nan_policy dump and --policy.action_limit are given (a dump holds actions without that limit): "
            "leave out one of them");
      lost_states.emplace(train.task, envs, place.isa, plan.rank, plan.world_size);
    }
  });
  std::vector<const Teacher*> teachers;
  for (Part& part : parts_)
    teachers.push_back(teacher_ ? &teacher_->load(part.engine, part.plan.observations(), comm) : nullptr);
  if (teacher_) teacher_->release_checkpoint();
  std::vector<std::unique_ptr<Algorithm>> learners;
  on_all_ranks(comm, [&] {
    for (Part& part : parts_) learners.push_back(make_algorithm(part, teachers[learners.size()]));
  });
  algorithm_ = fixed ? std::make_unique<ShardedAlgorithm>(std::move(learners), comm) : std::move(learners.front());
  require_same_files(comm, envs().files());
  on_all_ranks(comm, [&] { contents_ = contents_of(options.env->files()); });
  require_same_contents(comm, contents_);
  engine().measure_energy();
}

std::unique_ptr<Algorithm> Learner::make_algorithm(Part& part, const Teacher* teacher) {
  return options_.algorithm().make({.queue = part.engine.queue(),
                                    .policy = options_.policy,
                                    .plan = part.plan,
                                    .seed = static_cast<uint64_t>(options_.train.seed),
                                    .spec = spec_,
                                    .nets = *part.nets,
                                    .envs = *part.envs,
                                    .watch = part.lost_states ? &*part.lost_states : nullptr,
                                    .teacher = teacher,
                                    .engine = &part.engine});
}

std::string Learner::describe_engine() const {
  return parts_.front().nets->description() + parts_.front().engine.library_versions();
}

void Learner::write_lost_states_to(const std::filesystem::path& run, const RunFacts& facts,
                                   const std::string& options_ini) {
  std::map<std::string, Attribute> attributes = {
      {"task", facts.task}, {"run", run.filename().string()}, {"versions", versions_text(facts)}};
  if (!facts.task_library.empty()) attributes["task_library"] = facts.task_library;
  for (Part& part : parts_)
    if (part.lost_states) part.lost_states->write_to(run, attributes, options_ini, facts.files);
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
  const std::unique_ptr<Queue> queue = make_host_queue(engine().queue().isa());
  const std::unique_ptr<Nets> nets = engine().make_host_nets(*queue, spec_.layout);
  const PolicyView policy = algorithm_->policy();
  Actor actor(*queue, *nets, spec_, policy.params.data(), policy.normalizer);
  return evaluate_together(plan, actor, comm());
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
  const Evaluation played = play(gate_options_->env->setup(), {}, kGateSeed);
  return comm().rank() == 0 ? judge(task(), played) : GateResult{};
}

}  // namespace drl
