// Trains and evaluates test tasks. Tests their metrics, curricula, and episodes that end because a value is not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "../support/mentions.hpp"
#include "../support/task_options.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "nets/fused/fused_nets.hpp"
#include "own_task_table.hpp"
#include "run/evaluator.hpp"
#include "run/trainer.hpp"

namespace drl {
namespace {

constexpr int64_t kEnvs = 32, kSteps = 16;

struct Training {
  explicit Training(const std::string& task, const std::string& algorithm = "ppo") {
    register_test_tasks();
    OptionTable table;
    options.add_to(table);
    table.set("algorithm", algorithm);
    table.set(algorithm + ".obs_normalization", "true");
    table.set("grpo.group_size", "4");
    options.policy.actor_hidden_dims = options.policy.critic_hidden_dims = {16};
    envs = make_env(task, {kEnvs, 0, 3, false}, *queue);
    const AlgorithmKind& kind = options.algorithm();
    const PolicySpec spec = kind.policy(envs->spec(), options.policy);
    nets = make_fused_nets(*queue, spec.layout, 1);
    learner =
        kind.make({*queue, options.policy, kind.plan({kEnvs, kSteps, 0, 1, 1}, envs->spec()), 3, spec, *nets, *envs});
  }
  Trainer trainer(int iterations, const std::string& nan_policy) {
    options.train.max_iterations = iterations, options.train.nan_policy = nan_policy;
    return Trainer(options.train, {}, *learner, envs->spec(), *comm, [] { return 0.0; });
  }

  Options options;
  std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  std::unique_ptr<VecEnv> envs;
  std::unique_ptr<Nets> nets;
  std::unique_ptr<Algorithm> learner;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

// Expects finite values in all fields: parameters, Adam's moments, normalisers, and the rollout's first row.
void expect_finite(Algorithm& learner) {
  for (const StateField& field : list_state([&](StateVisitor& v) { learner.visit_state(v); })) {
    if (field.type != DType::f32 && field.type != DType::f64) continue;
    const std::vector<std::byte> bytes = field.read();
    const auto expect = [&]<class T>(T) {
      for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T x;
        std::memcpy(&x, &bytes[at], sizeof(T));
        ASSERT_TRUE(std::isfinite(x)) << field.name;
      }
    };
    field.type == DType::f32 ? expect(float{}) : expect(double{});
  }
}

// Episodes that are not lost have four steps of reward 1. The policy is trained a little so that there are some.
TEST(Evaluation, ExcludesLostEpisodes) {
  Training training("Breaking");
  testing::internal::CaptureStderr();
  training.trainer(4, "reset").run(nullptr);
  testing::internal::GetCapturedStderr();
  const PolicyView policy = training.learner->policy();
  const PolicySpec spec = training.options.algorithm().policy(training.envs->spec(), training.options.policy);
  const EvaluationPlan plan{"Breaking", 8192, 64, 1, ActionChoice::sample, {}};
  Actor played(*training.queue, *training.nets, spec, policy.params.data(), policy.normalizer);
  size_t recorded = 0;
  const Evaluation result = evaluate(plan, played, [&](const Episode&) { recorded += 1; });
  ASSERT_FALSE(result.returns.empty());
  EXPECT_GT(result.lost, 0);
  EXPECT_EQ(static_cast<int64_t>(result.returns.size()) + result.lost, 8192);
  EXPECT_EQ(result.returns, std::vector<double>(result.returns.size(), 4));
  EXPECT_EQ(result.lengths, std::vector<int64_t>(result.returns.size(), 4));
  EXPECT_EQ(recorded, result.returns.size());
}

// In the task "Breaking", four of the five actions cause a value that is not finite.
class Lost : public testing::TestWithParam<std::string> {};

TEST_P(Lost, EnvironmentsDoNotAffectTheTraining) {
  Training training("Breaking", GetParam());
  Trainer trainer = training.trainer(4, "reset");
  testing::internal::CaptureStderr();
  EXPECT_EQ(trainer.run(nullptr), kDone);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(trainer.iteration(), 4);
  EXPECT_GT(training.learner->stats().episodes.lost, 0);
  EXPECT_EQ(trainer.metrics().value("lost_environments"), training.learner->stats().episodes.lost);
  expect_finite(*training.learner);
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Lost, testing::Values("ppo", "grpo"));

TEST(NanPolicy, StopEndsTheRunWithAnError) {
  Training training("Breaking");
  Trainer trainer = training.trainer(4, "stop");
  expect_mentions(error_from<SharedError>([&] { trainer.run(nullptr); }), {"--nan_policy stop"});
  EXPECT_EQ(trainer.iteration(), 1);
}

// Episode_Reward is the mean sum over an episode, divided by the 2.5 s of 25 steps of 0.1 s.
TEST(TaskMetrics, AreNamedByTheTask) {
  Training training("Robot");
  Trainer trainer = training.trainer(5, "stop");
  EXPECT_EQ(trainer.run(nullptr), kDone);
  const IterationMetrics metrics = trainer.metrics();
  const double length = metrics.value("mean_episode_length"), reward = metrics.value("mean_reward");
  EXPECT_NEAR(metrics.value("episode/tracking") + metrics.value("episode/effort"), reward, 1e-4 * std::abs(reward));
  EXPECT_DOUBLE_EQ(metrics.value("episode_reward/tracking"), metrics.value("episode/tracking") / 2.5);
  EXPECT_DOUBLE_EQ(metrics.value("episode_reward/effort"), metrics.value("episode/effort") / 2.5);
  EXPECT_GT(metrics.value("metrics/speed"), 0);
  EXPECT_LE(metrics.value("metrics/speed"), 3);
  EXPECT_NEAR(metrics.value("metrics/pushed"), 0.05, 0.03);
  double shares = 0;
  for (const char* cause : {"too_fast", "left", "time_out"}) {
    const double share = metrics.value(std::string("episode_termination/") + cause);
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 1);
    shares += share;
  }
  EXPECT_GE(shares, 1);
  EXPECT_LE(length, 25);
  EXPECT_EQ(metrics.value("lost_environments"), 0);
  std::string tags;
  for (const Metric& metric : metrics.metrics) tags += metric.tag + " ";
  EXPECT_NE(tags.find("Episode_Reward/tracking Episode_Reward/effort Metrics/speed Metrics/pushed "
                      "Episode_Termination/too_fast Episode_Termination/left Episode_Termination/time_out "
                      "Train/lost_environments "),
            std::string::npos)
      << tags;
}

struct Fields final : StateVisitor {
  void field(const StateField& field) override {
    if (writing && values.contains(field.name)) {
      StateField(field).write(values.at(field.name));
    } else {
      values[field.name] = field.read();
    }
  }
  float number(const std::string& name) const {
    float x = 0;
    std::memcpy(&x, values.at(name).data(), sizeof(x));
    return x;
  }
  std::map<std::string, std::vector<std::byte>> values;
  bool writing = false;
};

// An iteration has 16 steps. Episodes of the first iteration have 3 steps, so those that begin in the second have 4.
// The mean length of the second iteration is below 4, because one episode began in the first. In the third iteration
// all episodes have 4 steps, so those that begin in the fourth have 5, and its mean is again below 5.
TEST(Curriculum, FollowsTheReducedStatisticsAndIsSaved) {
  Training training("Ladder");
  int64_t iteration = 0;
  for (float length : {4, 4, 5, 5}) {
    training.learner->iterate(iteration++, *training.comm);
    EXPECT_EQ(training.learner->stats().curriculum, (std::vector<float>{length, static_cast<float>(iteration)}));
  }
  EXPECT_EQ(training.learner->stats().episodes.length, kEnvs * (4 + 5 + 5));

  Fields fields;
  training.learner->visit_state(fields);
  EXPECT_EQ(fields.number("curriculum/length"), 5);
  EXPECT_EQ(fields.number("curriculum/bonus"), 4);
  Training resumed("Ladder");
  fields.writing = true;
  resumed.learner->visit_state(fields);
  resumed.learner->state_changed();
  for (Training* each : {&training, &resumed}) each->learner->iterate(4, *each->comm);
  EXPECT_EQ(resumed.learner->stats().episodes.reward, training.learner->stats().episodes.reward);
  EXPECT_EQ(resumed.learner->stats().curriculum, training.learner->stats().curriculum);
}

// The evaluation plan sets the curriculum: an episode of 5 steps, with reward 2 + 3 in the first and 1 + 3 in the
// others.
TEST(Curriculum, OfAnEvaluationComesFromItsPlan) {
  Training training("Ladder");
  const PolicyView policy = training.learner->policy();
  const PolicySpec spec = training.options.algorithm().policy(training.envs->spec(), training.options.policy);
  EvaluationPlan plan{"Ladder", 2, 2, 1, ActionChoice::most_probable, {}};
  Actor played(*training.queue, *training.nets, spec, policy.params.data(), policy.normalizer);
  EXPECT_EQ(evaluate(plan, played).returns,
            (std::vector<double>{4, 4}));  // initial values of the task: length 3, bonus 0
  plan.curriculum = {5, 3};
  EXPECT_EQ(evaluate(plan, played).lengths, (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(evaluate(plan, played).returns, (std::vector<double>{21, 21}));
}

// Each correct action gives reward 1. A random policy gets 1/3 + 1/2 per step, a perfect one gets 2.
TEST(MultiDiscrete, IsLearnedAndEvaluated) {
  Training training("Levers");
  Trainer trainer = training.trainer(60, "stop");
  EXPECT_EQ(trainer.run(nullptr), kDone);
  EXPECT_GT(trainer.metrics().value("mean_reward"), 15);
  const PolicyView policy = training.learner->policy();
  const EvaluationPlan plan{"Levers", 16, 16, 1, ActionChoice::most_probable, {}};
  const PolicySpec spec = training.options.algorithm().policy(training.envs->spec(), training.options.policy);
  int64_t right = 0, steps = 0;
  Actor actor(*training.queue, *training.nets, spec, policy.params.data(), policy.normalizer);
  const Evaluation played = evaluate(plan, actor, [&](const Episode& episode) {
    ASSERT_EQ(episode.actions.discrete.size(), 2 * episode.rewards.size());
    for (size_t t = 0; t < episode.rewards.size(); ++t, ++steps) {
      int reward = 0;
      for (size_t k = 0; k < 2; ++k)
        reward += static_cast<float>(episode.actions.discrete[2 * t + k]) == episode.observations[2 * t + k];
      ASSERT_EQ(static_cast<float>(reward), episode.rewards[t]);
      right += reward;
    }
  });
  EXPECT_EQ(steps, 160);
  EXPECT_GT(right, 1.8 * static_cast<double>(steps));
  EXPECT_EQ(played.returns.size(), 16u);
}

// The velocity of the task Robot changes by 0.1 s times the action that it receives: that of two steps before, clipped,
// scaled and shifted.
TEST(Episodes, HaveTheActionsThatTheEnvironmentReceived) {
  Training training("Robot");
  const EnvSetup setup = setup_with("Robot", {{"push", "0"}, {"noise", "0"}, {"delay.action", "2,2"}});
  const EvaluationPlan plan{"Robot", 16, 16, 1, ActionChoice::sample, setup};
  const PolicyView policy = training.learner->policy();
  const PolicySpec spec = training.options.algorithm().policy(training.envs->spec(), training.options.policy);
  Actor actor(*training.queue, *training.nets, spec, policy.params.data(), policy.normalizer);
  const std::vector<NamedNumber>& names = training.envs->spec().observations;
  const size_t dim = names.size();
  size_t velocity[2] = {dim, dim};
  for (size_t k = 0; k < dim; ++k)
    for (const int axis : {0, 1})
      if (names[k].steps_before == 0 && names[k].name == "velocity[" + std::to_string(axis) + "]") velocity[axis] = k;
  ASSERT_LT(std::max(velocity[0], velocity[1]), dim);
  constexpr float kLow[2] = {-1, -INFINITY}, kHigh[2] = {2, INFINITY}, kScale[2] = {0.5f, 2}, kOffset[2] = {0.25f, 0};
  int clipped = 0, steps = 0;
  double mean_speed = 0;
  const Evaluation played = evaluate(plan, actor, [&](const Episode& episode) {
    const size_t length = episode.rewards.size();
    ASSERT_EQ(episode.actions.continuous.size(), 2 * length);
    ASSERT_EQ(episode.policy_actions.continuous.size(), 2 * length);
    for (size_t t = 0; t < length; ++t)
      for (size_t k = 0; k < 2; ++k, ++steps) {
        const float chosen = episode.policy_actions.continuous[2 * (t < 2 ? 0 : t - 2) + k];
        clipped += chosen < kLow[k] || chosen > kHigh[k];
        const float received = episode.actions.continuous[2 * t + k];
        EXPECT_FLOAT_EQ(received, kOffset[k] + kScale[k] * std::clamp(chosen, kLow[k], kHigh[k])) << t << " " << k;
        const float *before = &episode.observations[t * dim], *after = before + dim;
        EXPECT_NEAR(after[velocity[k]] - before[velocity[k]], 0.1 * static_cast<double>(received), 1e-5) << t;
      }
    for (size_t t = 1; t <= length; ++t) {
      const float* now = &episode.observations[t * dim];
      mean_speed += std::hypot(now[velocity[0]], now[velocity[1]]) / static_cast<double>(length) / 16;
    }
  });
  ASSERT_EQ(played.metrics.size(), 2u);  // speed, pushed
  EXPECT_NEAR(played.metrics[0], mean_speed, 1e-5);
  EXPECT_GT(steps, 100);
  EXPECT_GT(clipped, 0);
}

}  // namespace
}  // namespace drl
