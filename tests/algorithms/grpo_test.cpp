#include "algorithms/grpo/grpo.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "../support/algorithm_state.hpp"
#include "../support/host_loops.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "envs/make_env.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

// A learner with eight groups of four environments.
struct Learner {
  explicit Learner(const std::string& task, GrpoOptions given = {}, Isa isa = available_isas().back(),
                   const std::string& rnn = "none")
      : options(given), queue(make_host_queue(isa)), env(make_env(task, {32, 0, 1, true}, *queue)) {
    policy.actor_hidden_dims = {8};
    policy.activation = "gelu", policy.layer_norm = true;
    policy.rnn_type = rnn, policy.rnn_hidden_dim = 6;
    options.group_size = 4;
    const PolicySpec spec = policy_spec(env->spec(), policy, options.normalizer(), false);
    nets = make_torch_nets(*queue, spec.layout, 1);
    BatchPlan plan = Grpo::plan(options, {32, 16, 0, 1, 1}, env->spec());
    plan.sequences = policy.is_recurrent();
    grpo.emplace(LearnerParts{*queue, policy, plan, 1, spec, *nets, *env}, options);
  }
  void iterate(int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) grpo->iterate(i, *comm);
  }
  // Returns the first observation of environment i.
  std::vector<float> start(int64_t i) const {
    const RolloutView& r = grpo->rollout();
    return {r.obs + i * r.obs_dim, r.obs + (i + 1) * r.obs_dim};
  }

  PolicyOptions policy;
  GrpoOptions options;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> env;
  std::unique_ptr<Nets> nets;
  std::optional<Grpo> grpo;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

class GrpoOn : public testing::TestWithParam<const char*> {};

TEST_P(GrpoOn, EachGroupStartsFromOneStateWhichChangesWithEveryRollout) {
  Learner learner(GetParam());
  std::set<std::vector<float>> starts;
  for (int64_t iteration = 0; iteration < 3; ++iteration) {
    learner.iterate(iteration, iteration + 1);
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(learner.start(i), learner.start(i / 4 * 4)) << i;
    for (int64_t i = 0; i < 32; ++i) starts.insert(learner.start(i));
  }
  EXPECT_EQ(starts.size(), 3u * 8);
}

// Exactly one whole episode of each environment counts; later steps of the rollout do not.
TEST_P(GrpoOn, ReportsOneEpisodeOfEachEnvironment) {
  Learner learner(GetParam());
  for (int64_t iteration = 0; iteration < 3; ++iteration) {
    learner.iterate(iteration, iteration + 1);
    const RolloutView& r = learner.grpo->rollout();
    double reward = 0, length = 0;
    for (int64_t i = 0; i < r.num_envs; ++i)
      for (int64_t t = 0; t < r.num_steps; ++t) {
        const int64_t row = t * r.num_envs + i;
        reward += static_cast<double>(r.reward[row]), length += 1;
        if (r.terminated[row] || r.truncated[row]) break;
        ASSERT_LT(t + 1, r.num_steps) << "the episode has not ended";
      }
    const EpisodeSums& episodes = learner.grpo->stats().episodes;
    EXPECT_EQ(episodes.count, 32);
    EXPECT_EQ(episodes.length, length);
    EXPECT_NEAR(episodes.reward, reward, 1e-5 * std::abs(reward));
  }
}

// The visited state is complete: a learner that loads it continues bit-identically.
TEST_P(GrpoOn, ContinuesFromItsState) {
  GrpoOptions options;
  options.kl_coef = 0.1, options.reference_interval = 2, options.obs_normalization = true;
  options.grad_clip = "joint";
  for (const char* rnn : {"none", "gru"}) {
    const auto learner = [&] { return Learner(GetParam(), options, available_isas().back(), rnn); };
    Learner whole = learner(), first = learner(), second = learner();
    whole.iterate(0, 5);
    first.iterate(0, 3);
    AlgorithmState(*second.grpo).write(AlgorithmState(*first.grpo).bytes());
    second.grpo->state_changed();
    second.iterate(3, 5);
    EXPECT_EQ(AlgorithmState(*second.grpo).bytes(), AlgorithmState(*whole.grpo).bytes());
    EXPECT_EQ(second.grpo->slots().field_fingerprints(), whole.grpo->slots().field_fingerprints());
  }
}

TEST_P(GrpoOn, LearningIsBitIdenticalOnEveryInstructionSet) {
  GrpoOptions options;
  options.kl_coef = 0.1;
  std::map<std::string, std::vector<std::byte>> expected;
  for (Isa isa : available_isas()) {
    Learner learner(GetParam(), options, isa);
    learner.iterate(0, 3);
    const auto bytes = AlgorithmState(*learner.grpo).bytes();
    if (expected.empty()) expected = bytes;
    EXPECT_EQ(bytes, expected) << name_of(isa);
  }
}

// The reference is the policy at the start of the last iteration that replaced the reference.
TEST_P(GrpoOn, TheReferenceIsReplacedAfterEveryInterval) {
  for (int interval : {0, 2}) {
    GrpoOptions options;
    options.reference_interval = interval;
    Learner learner(GetParam(), options);
    const auto parameters = [&] {  // without the padding between slices
      std::vector<float> all;
      for (const ParamSlice& s : learner.nets->layout().slices()) {
        const std::span<const float> params = learner.grpo->host_parameters();
        all.insert(all.end(), params.begin() + s.offset, params.begin() + s.offset + s.count());
      }
      return all;
    };
    std::vector<std::vector<float>> before;
    for (int64_t iteration = 0; iteration < 4; ++iteration) {
      before.push_back(parameters());
      learner.iterate(iteration, iteration + 1);
      const auto at = static_cast<size_t>(interval == 0 ? 0 : iteration / interval * interval);
      EXPECT_EQ(AlgorithmState(*learner.grpo).numbers<float>("reference/parameters"), before[at]) << iteration;
    }
    EXPECT_NE(before[0], before[2]);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, GrpoOn, testing::Values("Cartpole", "CartPole-v1", "Pendulum-v1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

// The KL is 0 while the policy equals the reference, and positive afterwards.
TEST(Grpo, ReferenceKlIsZeroUntilThePolicyMoves) {
  GrpoOptions options;
  options.kl_coef = 1, options.reference_interval = 1;
  options.num_learning_epochs = options.num_mini_batches = 1;
  for (const char* rnn : {"none", "gru", "lstm"}) {
    options.reference_interval = 1;
    Learner learner("CartPole-v1", options, available_isas().back(), rnn);
    learner.iterate(0, 2);
    EXPECT_NEAR(metric(*learner.grpo, "reference_kl"), 0, 1e-9);
    options.reference_interval = 0;
    Learner far("CartPole-v1", options, available_isas().back(), rnn);
    far.iterate(0, 2);
    EXPECT_GT(metric(*far.grpo, "reference_kl"), 1e-6);
  }
}

// Returns the message of Grpo::plan(), or "" if it accepts the numbers.
std::string problem(const GrpoOptions& options, int64_t envs, const TaskSpec& task) {
  try {
    Grpo::plan(options, {envs, 16, 0, 1, 1}, task);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Grpo, NeedsWholeGroupsAndAStepLimit) {
  GrpoOptions options;
  options.group_size = 8;
  TaskSpec task = task_spec("CartPole-v1");
  EXPECT_EQ(problem(options, 16, task), "");
  expect_mentions(problem(options, 20, task),
                  {"--num_envs 20 ", "of 8 ", "grpo.group_size", "use --num_envs 16 or 24"});
  EXPECT_TRUE(problem(options, 3, task).ends_with(": use --num_envs 8"));
  options.num_mini_batches = 64;  // 500 steps are 4 x 125
  expect_mentions(problem(options, 24, task), {"--num_envs 24 ", "step limit 500", "64 equal mini-batches",
                                               "grpo.num_mini_batches", "use --num_envs 16 or 32"});
  task.step_limit = 0;
  expect_mentions(problem(options, 16, task), {"GRPO", "CartPole-v1", "no step limit", "use --algorithm"});
}

// A smoke test of the whole algorithm: episodes become longer.
TEST(Grpo, LearnsCartPole) {
  Learner learner("CartPole-v1");
  double first = 0, last = 0;
  for (int iteration = 0; iteration < 30; ++iteration) {
    learner.iterate(iteration, iteration + 1);
    if (iteration == 0) first = learner.grpo->stats().episodes.length;
    last = learner.grpo->stats().episodes.length;
  }
  EXPECT_GT(last, 2 * first);
}

}  // namespace
}  // namespace drl
