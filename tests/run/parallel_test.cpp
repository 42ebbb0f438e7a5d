// Tests data-parallel training on 1, 2 and 4 ranks: the gradient equals that of one rank, replicas stay bit-identical,
// a diverged rank is named, and an iteration has the expected number of collectives.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "../mpi_main.hpp"
#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "../support/test_engine.hpp"
#include "algorithms/update_kernels.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "nets/host_nets.hpp"
#include "nets/torch/torch_library.hpp"
#include "policy/initialize.hpp"
#include "run/evaluator.hpp"
#include "run/run_monitor.hpp"
#include "run/state.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

using test::world;

constexpr int64_t kEnvs = 32, kSteps = 16;  // kEnvs: environments on all ranks together
constexpr uint64_t kSeed = 5;

constexpr const char* kEveryOption = R"(
[ppo]
reward_normalization = true
normalize_advantage_per_mini_batch = true
grad_clip = joint
symmetry = both
[policy]
activation = silu
)";

constexpr const char* kRnd = R"(
[ppo]
rnd.weight = 10
rnd.state_normalization = true
rnd.reward_normalization = true
rnd.num_outputs = 4
rnd.predictor_hidden_dims = 8
)";

constexpr const char* kRecurrent = R"(
[policy]
rnn_type = gru
rnn_hidden_dim = 8
)";

// An algorithm on one rank's share of kEnvs environments, in four shards.
struct Training {
  Training(const std::string& algorithm, const std::string& task, Communicator& comm, int epochs, int mini_batches,
           const char* more = "") {
    OptionTable table;
    options.add_to(table);
    table.set("algorithm", algorithm);
    table.set(algorithm + ".num_learning_epochs", std::to_string(epochs));
    const bool distills = algorithm == "distill";
    if (distills)
      table.set("distill.gradient_length", std::to_string(kSteps / mini_batches));
    else
      table.set(algorithm + ".num_mini_batches", std::to_string(mini_batches));
    table.set(algorithm + ".obs_normalization", "true");
    table.set("grpo.group_size", "4");
    table.apply_ini(more, "more");
    options.policy.layer_norm = more == kEveryOption;
    options.policy.actor_hidden_dims = options.policy.critic_hidden_dims = {16, 16};
    const int64_t share = kEnvs / comm.size();
    envs = make_env(task, {share, comm.rank() * share, kSeed, true}, *queue);
    const AlgorithmKind& kind = options.algorithm();
    const PolicySpec spec = kind.policy(envs->spec(), options.policy);
    nets = make_host_nets(*queue, spec.layout, "auto", 1);
    BatchPlan requested{share, kSteps, comm.rank(), comm.size(), 4};
    requested.sequences = options.policy.is_recurrent();
    const BatchPlan plan = kind.plan(requested, envs->spec());
    if (distills) make_teacher();
    const Teacher* of_student = teacher ? &*teacher : nullptr;
    learner = kind.make({*queue, options.policy, plan, kSeed, spec, *nets, *envs, nullptr, of_student, &engine});
    state = list_state([this](StateVisitor& visitor) { learner->visit_state(visitor); });
  }

  // Makes a teacher that sees what the student sees.
  void make_teacher() {
    PolicyOptions policy;
    policy.actor_hidden_dims = {8}, policy.activation = "tanh";
    teacher_spec = policy_spec(envs->spec(), policy);
    teacher_nets = make_host_nets(*queue, teacher_spec.layout, "auto", 1);
    teacher_params = Array<float>(static_cast<size_t>(teacher_spec.layout.size()));
    initialize_parameters(teacher_spec, policy, 11, teacher_params);
    teacher.emplace(Teacher{teacher_spec, *teacher_nets, teacher_params.data(), {}, false});
  }

  Options options;
  std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  PolicySpec teacher_spec;
  std::unique_ptr<Nets> teacher_nets;
  Array<float> teacher_params;
  std::optional<Teacher> teacher;
  std::unique_ptr<VecEnv> envs;
  std::unique_ptr<Nets> nets;
  test::TestEngine engine{[this](const ParamLayout& layout) { return make_host_nets(*queue, layout, "auto", 1); }};
  std::unique_ptr<Algorithm> learner;
  StateList state;
};

// Forwards all calls to another communicator and records the reduced gradients.
class GradientRecorder final : public Communicator {
 public:
  explicit GradientRecorder(Communicator& comm) : comm_(comm) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  void abort(int exit_code) override { comm_.abort(exit_code); }

  std::vector<std::vector<float>> gradients;  // each with the sums that follow it (its tail)

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream stream) override {
    comm_.all_reduce_sum(data, stream);
    gradients.emplace_back(data.begin(), data.end());
  }
  void do_all_reduce_sum(std::span<double> data, Stream stream) override { comm_.all_reduce_sum(data, stream); }
  void do_broadcast(std::span<std::byte> data, int root, bool spins) override {
    spins ? comm_.broadcast(data, root) : comm_.broadcast_without_spinning(data, root);
  }
  std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) override {
    return comm_.gather(data, root);
  }
  void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    comm_.scatter(all, mine, root);
  }

 private:
  Communicator& comm_;
};

struct Gradient {
  std::vector<float> sums, tail;
};

Gradient first_gradient(const std::string& algorithm, const std::string& task, Communicator& comm, int mini_batches,
                        const char* more) {
  GradientRecorder recorder(comm);
  Training training(algorithm, task, recorder, 1, mini_batches, more);
  training.learner->iterate(0, recorder);
  const std::vector<float>& all = recorder.gradients.front();
  const auto size = training.nets->layout().size();
  return {{all.begin(), all.begin() + size}, {all.begin() + size, all.end()}};
}

struct Case {
  std::string name, algorithm, task;
  int64_t rollout_sums;
  const char* more = "";
  int64_t loss_columns = 6;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class ParallelOnRanks : public testing::TestWithParam<Case> {};

// The reduced gradient equals that of one rank with all environments, up to rounding.
TEST_P(ParallelOnRanks, FirstGradientIsThatOfOneRank) {
  const auto& [name, algorithm, task, rollout_sums, more, loss_columns] = GetParam();
  for (int mini_batches : {1, 4}) {
    const std::unique_ptr<Communicator> alone = make_serial_communicator();
    const Gradient expected = first_gradient(algorithm, task, *alone, mini_batches, more);
    const Gradient reduced = first_gradient(algorithm, task, world(), mini_batches, more);
    ASSERT_EQ(reduced.sums.size(), expected.sums.size());
    const double samples = double{expected.tail[kSamples]};
    EXPECT_EQ(reduced.tail[kSamples], samples);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < reduced.sums.size(); ++i) {
      largest = std::max(largest, std::abs(double{expected.sums[i]}));
      worst = std::max(worst, std::abs(double{reduced.sums[i]} - expected.sums[i]));
    }
    EXPECT_LE(worst, 1e-5 * largest) << mini_batches << " mini-batches";
    EXPECT_GT(largest, 0.001 * samples);
    for (size_t i = 0; i < reduced.tail.size(); ++i) EXPECT_NEAR(reduced.tail[i], expected.tail[i], 1e-5 * samples);
  }
}

// Returns all bytes of the replicated fields.
std::vector<std::byte> replica(const StateList& state) {
  std::vector<std::byte> bytes;
  for (const StateField& field : state) {
    if (field.sharding != Sharding::replicated) continue;
    const std::vector<std::byte> numbers = field.read();
    bytes.insert(bytes.end(), numbers.begin(), numbers.end());
  }
  return bytes;
}

TEST_P(ParallelOnRanks, ReplicasAreBitIdentical) {
  Training training(GetParam().algorithm, GetParam().task, world(), 5, 4, GetParam().more);
  const std::vector<std::byte> start = replica(training.state);
  for (int iteration = 0; iteration < 5; ++iteration) training.learner->iterate(iteration, world());
  const std::vector<std::byte> mine = replica(training.state), all = world().gather(mine, 0);
  EXPECT_NE(mine, start);
  for (size_t at = 0; at < all.size(); at += mine.size())
    EXPECT_EQ(std::memcmp(&all[at], mine.data(), mine.size()), 0) << "rank " << at / mine.size();
  const double hash = fingerprint(hash_state(training.state));
  double sum = hash;
  world().all_reduce_sum(std::span(&sum, 1));
  EXPECT_EQ(sum, hash * world().size());
}

// One float64 all-reduce per iteration, and one float32 all-reduce of gradient and tail per mini-batch; nothing else.
TEST_P(ParallelOnRanks, AnIterationHasTheExpectedCollectivesAndBytes) {
  Training training(GetParam().algorithm, GetParam().task, world(), 5, 4, GetParam().more);
  const int64_t parameters = training.nets->layout().size(), iterations = 3;
  const TaskSpec& task = training.envs->spec();
  training.learner->slots().add(2);
  const CommStats before = world().stats();
  for (int64_t iteration = 0; iteration < iterations; ++iteration) training.learner->iterate(iteration, world());
  const CommStats& after = world().stats();
  EXPECT_EQ(after.all_reduces_f64 - before.all_reduces_f64, iterations);
  EXPECT_EQ(after.all_reduces_f32 - before.all_reduces_f32, iterations * 5 * 4);
  EXPECT_EQ(after.bytes_f32 - before.bytes_f32, iterations * 5 * 4 * (parameters + GetParam().loss_columns) * 4);
  EXPECT_EQ(after.host_calls, before.host_calls);
  // Two sums of the host's; the algorithm's sums (PPO: n and moments of advantages and returns; with every option also
  // n and moments of discounted returns, and moments of the advantages of 5 x 4 mini-batches); episodes and lost
  // environments; n and moments of observations; two slots per rank.
  const int64_t doubles = 2 + GetParam().rollout_sums + 3 + static_cast<int64_t>(task.reward_terms.size()) + 1 + 1 +
                          2 * task.obs_dim + 2 * world().size();
  EXPECT_EQ(after.bytes_f64 - before.bytes_f64, iterations * doubles * 8);
}

TEST_P(ParallelOnRanks, NumbersOfTheHostAreReducedOnce) {
  Training training(GetParam().algorithm, GetParam().task, world(), 1, 1);
  Slots& slots = training.learner->slots();
  const Slots::Place count = slots.add(1), each = slots.add(static_cast<size_t>(world().size()));
  slots.own(count)[0] = 1;
  slots.own(each)[static_cast<size_t>(world().rank())] = 10 + world().rank();
  training.learner->iterate(0, world());
  EXPECT_EQ(slots.sums(count)[0], world().size());
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(slots.sums(each)[static_cast<size_t>(rank)], 10 + rank);
  training.learner->iterate(1, world());
  EXPECT_EQ(slots.sums(count)[0], 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ParallelOnRanks,
    testing::Values(Case{"Gaussian", "ppo", "Cartpole", 5}, Case{"Categorical", "ppo", "CartPole-v1", 5},
                    Case{"EveryOption", "ppo", "Cartpole", 5 + 3 + 2 * 5 * 4, kEveryOption, 7},
                    // Sums: the state's moments, those of discounted rewards, n and sum of
                    // rewards. Columns: the loss's with padding, and the predictor's gradient
                    // (4 to 8 to 4) with its own 3.
                    Case{"Rnd", "ppo", "Cartpole", 5 + (1 + 2 * 4) + 3 + 2, kRnd, 8 + (4 * 8 + 8 + 8 * 4 + 4) + 3},
                    Case{"GrpoGaussian", "grpo", "Pendulum-v1", 3}, Case{"GrpoCategorical", "grpo", "CartPole-v1", 3},
                    Case{"Recurrent", "ppo", "Cartpole", 5, kRecurrent},
                    Case{"GrpoRecurrent", "grpo", "CartPole-v1", 3, kRecurrent},
                    Case{"Distill", "distill", "Cartpole", 0, "", 3},
                    Case{"DistillRecurrent", "distill", "Pendulum-v1", 0, kRecurrent, 3}),
    [](const auto& info) { return info.param.name; });

// The moments come from the rewards of all ranks. They equal those of one rank, up to the rounding of actions and sums.
TEST(RewardNormalizationOnRanks, IsThatOfOneRank) {
  const auto moments = [](Communicator& comm) {
    Training training("ppo", "Cartpole", comm, 1, 1, kEveryOption);
    training.learner->iterate(0, comm);
    std::vector<double> numbers;
    for (const StateField& field : training.state)
      if (field.name.starts_with("reward_normalizer/") && field.sharding == Sharding::replicated)
        numbers.push_back(*static_cast<const double*>(field.data));
    return numbers;
  };
  const std::vector<double> expected = moments(*make_serial_communicator()), reduced = moments(world());
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_EQ(expected[0], kEnvs * kSteps);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(reduced[i], expected[i], 1e-6 * std::abs(expected[i])) << i;
}

// Forwards all calls except iterate() to another algorithm.
class ForwardingAlgorithm : public Algorithm {
 public:
  explicit ForwardingAlgorithm(Algorithm& learner) : learner_(learner) {}
  const IterationStats& stats() const override { return learner_.stats(); }
  std::vector<Metric> metrics() const override { return learner_.metrics(); }
  int64_t env_steps_per_iteration() const override { return learner_.env_steps_per_iteration(); }
  void visit_state(StateVisitor& visitor) override { learner_.visit_state(visitor); }
  void state_changed() override { learner_.state_changed(); }
  PolicyView policy() override { return learner_.policy(); }
  void restart_learning_rate() override { learner_.restart_learning_rate(); }
  Slots& slots() override { return learner_.slots(); }

 protected:
  Algorithm& learner_;
};

// Flips one bit of one tensor after iteration `when` (from 0), if `here`.
class Flipping final : public ForwardingAlgorithm {
 public:
  Flipping(Algorithm& learner, StateField& field, bool here, int64_t when)
      : ForwardingAlgorithm(learner), field_(field), here_(here), when_(when) {}
  void iterate(int64_t iteration, Communicator& comm) override {
    learner_.iterate(iteration, comm);
    if (!here_ || iteration != when_) return;
    std::vector<std::byte> numbers = field_.read();
    numbers[0] ^= std::byte{1};
    field_.write(numbers);
  }

 private:
  StateField& field_;
  bool here_;
  int64_t when_;
};

TrainOptions ten_iterations() {
  TrainOptions options;
  options.max_iterations = 10;
  return options;
}

TEST(ReplicasOnRanks, DivergenceIsNamedInTheNextIteration) {
  const int bad = world().size() == 4 ? 2 : 1;
  for (const char* name :
       {"policy/critic/0/bias", "policy/log_std", "optimizer/v", "optimizer/learning_rate", "normalizer/obs/mean"}) {
    Training training("ppo", "Cartpole", world(), 5, 4);
    StateField& field = *std::find_if(training.state.begin(), training.state.end(),
                                      [&](const StateField& f) { return f.name == name; });
    Flipping flipping(*training.learner, field, world().rank() == bad, 2);
    Trainer trainer(ten_iterations(), {}, flipping, training.envs->spec(), world(), [] { return 0.0; });
    const std::string error = error_from<SharedError>([&] { trainer.run(nullptr); });
    if (world().size() == 1) {
      EXPECT_EQ(error, "no error");
      EXPECT_EQ(trainer.iteration(), 10);
      continue;
    }
    EXPECT_EQ(trainer.iteration(), 3);  // iterations 0, 1, 2 were good; number 3 began with the flipped bit
    expect_mentions(error, {"iteration 3", "(rank " + std::to_string(bad) + " in " + name + ")"});
  }
}

// The Trainer adds nothing to an iteration's collectives; saving is host traffic.
TEST(ReplicasOnRanks, TrainerAddsNoCollectives) {
  Training training("ppo", "Cartpole", world(), 5, 4);
  Trainer trainer(ten_iterations(), {}, *training.learner, training.envs->spec(), world(), [] { return 0.0; });
  const CommStats before = world().stats();
  EXPECT_EQ(trainer.run(nullptr), kDone);
  EXPECT_EQ(world().stats().all_reduces_f64 - before.all_reduces_f64, 10);
  EXPECT_EQ(world().stats().all_reduces_f32 - before.all_reduces_f32, 10 * 5 * 4);
}

// Users' scripts and dashboards depend on these names.
TEST(MetricsOnRanks, KeepTheirColumnsAndTags) {
  Training training("ppo", "Cartpole", world(), 1, 1);
  const Trainer trainer(ten_iterations(), {}, *training.learner, training.envs->spec(), world(), [] { return 0.0; });
  std::string columns, tags;
  for (const Metric& metric : trainer.metrics().metrics) columns += "," + metric.name, tags += " " + metric.tag;
  EXPECT_EQ(columns,
            ",steps_per_second,mean_reward,mean_episode_length,episodes,value_loss,surrogate_loss,entropy,kl,"
            "clip_fraction,gradient_norm,explained_variance,learning_rate,action_std,collection_time,learning_time,"
            "waiting_time,iteration_time,elapsed_time,episode/alive,episode/terminating,episode/pole_pos,"
            "episode/cart_vel,episode/pole_vel,episode_reward/alive,episode_reward/terminating,"
            "episode_reward/pole_pos,episode_reward/cart_vel,episode_reward/pole_vel,lost_environments");
  EXPECT_EQ(tags,
            " Perf/total_fps Train/mean_reward Train/mean_episode_length  Loss/value Loss/surrogate Loss/entropy "
            "Policy/kl Policy/clip_fraction Loss/gradient_norm Loss/explained_variance Loss/learning_rate "
            "Policy/mean_std Perf/collection_time Perf/learning_time Perf/waiting_time   Episode/alive "
            "Episode/terminating Episode/pole_pos Episode/cart_vel Episode/pole_vel Episode_Reward/alive "
            "Episode_Reward/terminating Episode_Reward/pole_pos Episode_Reward/cart_vel Episode_Reward/pole_vel "
            "Train/lost_environments");
}

// An algorithm that takes 20 ms longer per iteration, if `here`.
class Slow final : public ForwardingAlgorithm {
 public:
  Slow(Algorithm& learner, bool here) : ForwardingAlgorithm(learner), here_(here) {}
  void iterate(int64_t iteration, Communicator& comm) override {
    if (here_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    learner_.iterate(iteration, comm);
  }

 private:
  bool here_;
};

// What rank 0 warns of, and what run.json says, after 100 iterations in which one rank is slow.
struct SlowRun {
  std::string warnings;
  std::vector<std::string> slow_ranks;
};
SlowRun run_with_slow_rank(int slow) {
  Training training("ppo", "Cartpole", world(), 1, 1);
  Slow algorithm(*training.learner, world().rank() == slow);
  Options options;
  options.train.max_iterations = 100;
  options.run.balance_seconds = 0.5;
  Trainer trainer(options.train, options.run, algorithm, training.envs->spec(), world(), [] { return 0.0; });
  SlowRun run;
  if (world().rank() != 0) return trainer.run(nullptr), run;
  log::set_writer([&](std::string_view line) { run.warnings += line; });
  const TempFolder folder;
  RunStart start;
  start.directory = folder / "r";
  const RunDirectory directory(start);
  RunFacts facts;
  for (int rank = 0; rank < world().size(); ++rank) facts.rank_hosts.push_back("host" + std::to_string(rank));
  RunManifest manifest(directory.path() / "run.json", facts, "now");
  RunMonitor monitor(options.run, directory, manifest, "", trainer.metrics(), std::nullopt, ConsoleMode::quiet, "");
  trainer.run(&monitor);
  manifest.write({}, "done");
  const nlohmann::json written = nlohmann::json::parse(slurp(directory.path() / "run.json"));
  run.slow_ranks = written.value("slow_ranks", run.slow_ranks);
  return run;
}

TEST(WaitingOnRanks, NamesTheSlowestRankOnce) {
  const int slow = world().size() - 1;
  const auto [warnings, slow_ranks] = run_with_slow_rank(slow);
  const std::string name = std::to_string(slow);
  if (world().rank() != 0) return;
  if (world().size() == 1) {
    EXPECT_EQ(warnings, "");
    EXPECT_TRUE(slow_ranks.empty());
    return;
  }
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
  expect_mentions(warnings, {"warning: ", "(rank " + name + " on host" + name, "slowest"});
  ASSERT_EQ(slow_ranks.size(), 1u);
  EXPECT_TRUE(slow_ranks[0].starts_with("rank " + name + " on host" + name + " since iteration 1")) << slow_ranks[0];
}

// On four ranks, two have no environment.
TEST(EvaluationOnRanks, IsThatOfOneRank) {
  const std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  for (const int64_t envs : {2, 64}) {
    const EvaluationPlan plan{.task = "Pendulum-v1", .episodes = envs, .num_envs = envs, .seed = 3};
    const std::unique_ptr<VecEnv> spec_of = make_env(plan.task, {}, *queue);
    const PolicySpec spec = policy_spec(spec_of->spec(), PolicyOptions{});
    const std::unique_ptr<Nets> nets = make_host_nets(*queue, spec.layout, "auto", 1);
    Array<float> params(static_cast<size_t>(spec.layout.size()));
    initialize_parameters(spec, PolicyOptions{}, kSeed, params);
    Actor actor(*queue, *nets, spec, params.data(), {});
    Evaluation alone = evaluate(plan, actor);
    const Evaluation together = evaluate_together(plan, actor, world());
    if (world().rank() > 0) continue;
    std::ranges::sort(alone.returns);
    EXPECT_EQ(together.returns, alone.returns);
    EXPECT_EQ(together.lengths, std::vector<int64_t>(static_cast<size_t>(envs), 200));
    EXPECT_EQ(together.lost, 0);
    ASSERT_EQ(together.metrics.size(), alone.metrics.size());
    for (size_t k = 0; k < alone.metrics.size(); ++k) EXPECT_NEAR(together.metrics[k], alone.metrics[k], 1e-12);
  }
}

}  // namespace
}  // namespace drl
