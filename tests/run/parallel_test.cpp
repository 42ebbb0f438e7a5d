// The promises of data-parallel training, kept on 1, 2 and 4 ranks: the same gradient, equal replicas, a diverged one
// is named, and as many collectives as DESIGN says.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include "../mpi_main.hpp"
#include "../support/temp_folder.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "nets/torch/torch_nets.hpp"
#include "run/run_report.hpp"
#include "run/state.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

using test::world;

constexpr int64_t kEnvs = 32, kSteps = 16;  // environments of all ranks together
constexpr uint64_t kSeed = 5;

// PPO on the share of kEnvs environments that a rank of `comm` has, in four shards.
struct Training {
  Training(const std::string& task, Communicator& comm, int epochs, int mini_batches) {
    options.num_learning_epochs = epochs;
    options.num_mini_batches = mini_batches;
    options.obs_normalization = true;
    policy.actor_hidden_dims = policy.critic_hidden_dims = {16, 16};
    const int64_t share = kEnvs / comm.size();
    envs = make_env(task, {share, comm.rank() * share, kSeed, true}, *queue);
    const ActorCritic spec = actor_critic(envs->spec(), policy);
    nets = make_torch_nets(*queue, spec.layout, 1);
    ppo.emplace(*queue, options, policy, BatchPlan{share, kSteps, comm.rank(), comm.size(), 4, mini_batches}, kSeed,
                spec, *nets, *envs);
    state = list_state([this](StateVisitor& visitor) { ppo->visit_state(visitor); });
  }

  PpoOptions options;
  PolicyOptions policy;
  std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  std::unique_ptr<VecEnv> envs;
  std::unique_ptr<Nets> nets;
  std::optional<Ppo> ppo;
  StateList state;
};

// Passes everything on to another communicator, and keeps the reduced gradients.
class Listener final : public Communicator {
 public:
  explicit Listener(Communicator& comm) : comm_(comm) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  void abort(int exit_code) override { comm_.abort(exit_code); }

  std::vector<std::vector<float>> gradients;  // with their tails

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream stream) override {
    comm_.all_reduce_sum(data, stream);
    gradients.emplace_back(data.begin(), data.end());
  }
  void do_all_reduce_sum(std::span<double> data, Stream stream) override { comm_.all_reduce_sum(data, stream); }
  void do_broadcast(std::span<std::byte> data, int root) override { comm_.broadcast(data, root); }
  void do_broadcast_asleep(std::span<std::byte> data, int root) override { comm_.broadcast_asleep(data, root); }
  std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) override {
    return comm_.gather(data, root);
  }
  void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    comm_.scatter(all, mine, root);
  }

 private:
  Communicator& comm_;
};

std::vector<float> first_gradient(const std::string& task, Communicator& comm, int mini_batches) {
  Listener listener(comm);
  Training training(task, listener, 1, mini_batches);
  training.ppo->iterate(0, listener, {});
  return listener.gradients.front();
}

class Parallel : public testing::TestWithParam<const char*> {};

// Every rank computes what one rank with all environments would.
TEST_P(Parallel, FirstGradientIsThatOfOneRank) {
  for (int mini_batches : {1, 4}) {
    const std::unique_ptr<Communicator> alone = make_serial_communicator();
    const std::vector<float> expected = first_gradient(GetParam(), *alone, mini_batches);
    const std::vector<float> reduced = first_gradient(GetParam(), world(), mini_batches);
    ASSERT_EQ(reduced.size(), expected.size());
    const double samples = static_cast<double>(kEnvs * kSteps) / mini_batches;
    EXPECT_EQ(reduced[reduced.size() - kTailSize], samples);
    double largest = 0, worst = 0;
    for (size_t i = 0; i + kTailSize < reduced.size(); ++i) {
      largest = std::max(largest, std::abs(double{expected[i]}));
      worst = std::max(worst, std::abs(double{reduced[i]} - expected[i]));
    }
    EXPECT_LE(worst, 1e-5 * largest) << mini_batches << " mini-batches";
    EXPECT_GT(largest, 0.01 * samples);
    for (size_t i = reduced.size() - kTailSize; i < reduced.size(); ++i)
      EXPECT_NEAR(reduced[i], expected[i], 1e-5 * samples);
  }
}

// All bytes of a replicated state, on all ranks.
std::vector<std::byte> replica(const StateList& state) {
  std::vector<std::byte> bytes;
  for (const StateField& field : state) {
    if (field.sharding != Sharding::replicated) continue;
    const std::vector<std::byte> numbers = field.read();
    bytes.insert(bytes.end(), numbers.begin(), numbers.end());
  }
  return bytes;
}

TEST_P(Parallel, ReplicasAreEqualToTheBit) {
  Training training(GetParam(), world(), 5, 4);
  const std::vector<std::byte> start = replica(training.state);
  for (int iteration = 0; iteration < 5; ++iteration) training.ppo->iterate(iteration, world(), {});
  const std::vector<std::byte> mine = replica(training.state), all = world().gather(mine, 0);
  EXPECT_NE(mine, start);
  for (size_t at = 0; at < all.size(); at += mine.size())
    EXPECT_EQ(std::memcmp(&all[at], mine.data(), mine.size()), 0) << "rank " << at / mine.size();
  const double hash = fingerprint(hash_state(training.state));
  double sum = hash;
  world().all_reduce_sum(std::span(&sum, 1));
  EXPECT_EQ(sum, hash * world().size());
}

// One float64 all-reduce an iteration; one float32 all-reduce of gradient and tail a mini-batch; nothing else.
TEST_P(Parallel, CollectivesAndBytesOfAnIteration) {
  Training training(GetParam(), world(), 5, 4);
  const int64_t parameters = static_cast<int64_t>(training.ppo->host_parameters().size()), iterations = 3;
  const TaskSpec& task = training.envs->spec();
  std::vector<double> riders(2);
  const CommStats before = world().stats();
  for (int64_t iteration = 0; iteration < iterations; ++iteration) training.ppo->iterate(iteration, world(), riders);
  const CommStats& after = world().stats();
  EXPECT_EQ(after.all_reduces_f64 - before.all_reduces_f64, iterations);
  EXPECT_EQ(after.all_reduces_f32 - before.all_reduces_f32, iterations * 5 * 4);
  EXPECT_EQ(after.bytes_f32 - before.bytes_f32, iterations * 5 * 4 * (parameters + 6) * 4);
  EXPECT_EQ(after.host_calls, before.host_calls);
  // Riders; n and moments of advantages and returns; episodes; n and moments of observations; two slots a rank.
  const int64_t doubles =
      2 + 5 + 3 + static_cast<int64_t>(task.reward_terms.size()) + 1 + 2 * task.obs_dim + 2 * world().size();
  EXPECT_EQ(after.bytes_f64 - before.bytes_f64, iterations * doubles * 8);
}

TEST_P(Parallel, RidersComeBackSummed) {
  Training training(GetParam(), world(), 1, 1);
  std::vector<double> riders(static_cast<size_t>(world().size()) + 1);
  riders[0] = 1;
  riders[1 + world().rank()] = 10 + world().rank();
  training.ppo->iterate(0, world(), riders);
  EXPECT_EQ(riders[0], world().size());
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(riders[1 + rank], 10 + rank);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Parallel, testing::Values("Cartpole", "CartPole-v1"), [](const auto& info) {
  return std::string(info.param) == "Cartpole" ? "Gaussian" : "Categorical";
});

// PPO in which, after iteration `when` (from 0), one bit of one tensor of one rank flips.
class Flipping final : public Algorithm {
 public:
  Flipping(Ppo& ppo, StateField& field, bool here, int64_t when) : ppo_(ppo), field_(field), here_(here), when_(when) {}
  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) override {
    ppo_.iterate(iteration, comm, riders);
    if (!here_ || iteration != when_) return;
    std::vector<std::byte> numbers = field_.read();
    numbers[0] ^= std::byte{1};
    field_.write(numbers);
  }
  const IterationStats& stats() const override { return ppo_.stats(); }
  int64_t env_steps_per_iteration() const override { return ppo_.env_steps_per_iteration(); }
  void visit_state(StateVisitor& visitor) override { ppo_.visit_state(visitor); }
  void state_changed() override { ppo_.state_changed(); }
  std::span<const double> fingerprints() const override { return ppo_.fingerprints(); }
  std::vector<uint64_t> field_fingerprints() const override { return ppo_.field_fingerprints(); }

 private:
  Ppo& ppo_;
  StateField& field_;
  bool here_;
  int64_t when_;
};

Options ten_iterations() {
  Options options;
  options.train.max_iterations = 10;
  return options;
}

TEST(Replicas, ADivergedOneIsNamedInTheNextIteration) {
  const int bad = world().size() == 4 ? 2 : 1;
  for (const char* name :
       {"policy/critic/0/bias", "policy/log_std", "optimizer/v", "optimizer/learning_rate", "normalizer/obs/mean"}) {
    Training training("Cartpole", world(), 5, 4);
    StateField& field = *std::find_if(training.state.begin(), training.state.end(),
                                      [&](const StateField& f) { return f.name == name; });
    Flipping flipping(*training.ppo, field, world().rank() == bad, 2);
    Trainer trainer(ten_iterations(), flipping, training.envs->spec(), world(), [] { return 0.0; });
    std::string error;
    try {
      trainer.run(nullptr);
    } catch (const SharedError& e) {
      error = e.what();
    }
    if (world().size() == 1) {
      EXPECT_EQ(error, "");
      EXPECT_EQ(trainer.iteration(), 10);
      continue;
    }
    EXPECT_EQ(trainer.iteration(), 3);  // iterations 0, 1, 2 were good; number 3 began with the flipped bit
    const std::string expected =
        "replicas are no longer equal at iteration 3 (rank " + std::to_string(bad) + " in " + name + "): ";
    EXPECT_EQ(error.substr(0, expected.size()), expected);
  }
}

// The Trainer adds nothing to an iteration's collectives; saving is host traffic.
TEST(Replicas, TrainerAddsNoCollective) {
  Training training("Cartpole", world(), 5, 4);
  Trainer trainer(ten_iterations(), *training.ppo, training.envs->spec(), world(), [] { return 0.0; });
  const CommStats before = world().stats();
  EXPECT_EQ(trainer.run(nullptr), kDone);
  EXPECT_EQ(world().stats().all_reduces_f64 - before.all_reduces_f64, 10);
  EXPECT_EQ(world().stats().all_reduces_f32 - before.all_reduces_f32, 10 * 5 * 4);
}

// PPO in which one rank takes 20 ms longer.
class Slow final : public Algorithm {
 public:
  Slow(Ppo& ppo, bool here) : ppo_(ppo), here_(here) {}
  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) override {
    if (here_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ppo_.iterate(iteration, comm, riders);
  }
  const IterationStats& stats() const override { return ppo_.stats(); }
  int64_t env_steps_per_iteration() const override { return ppo_.env_steps_per_iteration(); }
  void visit_state(StateVisitor& visitor) override { ppo_.visit_state(visitor); }
  void state_changed() override { ppo_.state_changed(); }
  std::span<const double> fingerprints() const override { return ppo_.fingerprints(); }
  std::vector<uint64_t> field_fingerprints() const override { return ppo_.field_fingerprints(); }

 private:
  Ppo& ppo_;
  bool here_;
};

// What rank 0 warns of in 100 iterations, where a rank is slow.
std::string warnings_with_slow_rank(int slow) {
  Training training("Cartpole", world(), 1, 1);
  Slow algorithm(*training.ppo, world().rank() == slow);
  Options options;
  options.train.max_iterations = 100;
  options.run.balance_seconds = 0.5;
  Trainer trainer(options, algorithm, training.envs->spec(), world(), [] { return 0.0; });
  std::string warnings;
  if (world().rank() != 0) return trainer.run(nullptr), warnings;
  log::set_writer([&](std::string_view line) { warnings += line; });
  const TempFolder folder;
  RunStart start;
  start.directory = folder / "r";
  const RunDirectory directory(start);
  RunFacts facts;
  for (int rank = 0; rank < world().size(); ++rank) facts.rank_hosts.push_back("host" + std::to_string(rank));
  const RunRecord record(directory.path() / "run.json", facts, "now");
  RunReport report(options.run, directory, record, "", training.envs->spec().reward_terms, std::nullopt,
                   ConsoleMode::quiet, "");
  trainer.run(&report);
  return warnings;
}

TEST(Waiting, NamesTheSlowestRankOnce) {
  const int slow = world().size() - 1;
  const std::string warnings = warnings_with_slow_rank(slow), name = std::to_string(slow);
  if (world().rank() != 0) return;
  if (world().size() == 1) {
    EXPECT_EQ(warnings, "");
    return;
  }
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
  EXPECT_TRUE(warnings.starts_with("warning: waiting and communication take ")) << warnings;
  EXPECT_NE(warnings.find("(rank " + name + " on host" + name + " is the slowest: "), std::string::npos) << warnings;
}

// For given actions environment g does the same, to the bit, whichever rank has it.
TEST(Trajectories, DoNotDependOnTheNumberOfRanks) {
  const int64_t share = kEnvs / world().size(), first = world().rank() * share;
  for (const std::string& name : task_names()) {
    const TaskSpec task = task_spec(name);
    const std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
    const std::unique_ptr<VecEnv> all = make_env(name, {kEnvs, 0, kSeed, true}, *queue),
                                  mine = make_env(name, {share, first, kSeed, true}, *queue);
    const Rollout whole(*queue, task, 300, kEnvs), part(*queue, task, 300, share);
    const RolloutView &a = whole.view(), &b = part.view();
    all->reset(*queue, whole.start_row());
    mine->reset(*queue, part.start_row());
    const auto act = [&](const RolloutView& r, int64_t first_env, int64_t t) {  // a function of step and global index
      for (int64_t i = 0; i < r.num_envs; ++i) {
        const int64_t number = (t * 7 + (first_env + i) * 13) % 11;
        if (task.action.discrete)
          reinterpret_cast<int32_t*>(r.action)[t * r.num_envs + i] = static_cast<int32_t>(number % r.out_size);
        else
          std::fill_n(r.env_action + i * r.out_size, r.out_size, static_cast<float>(number - 5) / 5);
      }
    };
    for (int64_t t = 0; t < 300; ++t) {
      act(a, 0, t);
      act(b, first, t);
      all->step(*queue, {&t}, 0, kEnvs, whole.row(t));
      mine->step(*queue, {&t}, 0, share, part.row(t));
    }
    int64_t ended = 0;
    for (int64_t t = 0; t < 300; ++t)
      for (int64_t i = 0; i < share; ++i) {
        const int64_t in_all = t * kEnvs + first + i, in_mine = t * share + i;
        ASSERT_EQ(std::memcmp(&a.obs[in_all * a.obs_dim], &b.obs[in_mine * a.obs_dim], a.obs_dim * sizeof(float)), 0)
            << name << " step " << t;
        ASSERT_EQ(a.reward[in_all], b.reward[in_mine]);
        ASSERT_EQ(a.terminated[in_all], b.terminated[in_mine]);
        ASSERT_EQ(a.truncated[in_all], b.truncated[in_mine]);
        ended += a.terminated[in_all] + a.truncated[in_all];
      }
    EXPECT_GT(ended, 0) << name;
  }
}

}  // namespace
}  // namespace drl
