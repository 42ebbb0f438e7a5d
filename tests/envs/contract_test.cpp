// Compares the executor with one environment that is stepped by hand, for everything that a task can define.
#include <gtest/gtest.h>

#include <cmath>

#include "../support/task_options.hpp"
#include "base/check.hpp"
#include "own_task_table.hpp"
#include "scalar_env.hpp"
#include "tasks.hpp"

namespace drl {
namespace {

using Robot = RobotTask<float>;
constexpr uint64_t kSeed = 5;

class RobotEnvs : public TestTasks {};

float random01(int64_t env, int64_t step, int number) {
  return uniform01(random_bits(1, Purpose::benchmark, static_cast<uint64_t>(env), static_cast<uint64_t>(step))[number]);
}

// Covers weighted terms, scaled actions, history, ends, time-outs, metrics, commands and pushes.
TEST_F(RobotEnvs, IsBitIdenticalToScalarCodeOnEveryInstructionSet) {
  constexpr int kEnvs = 37, kSteps = 120;
  for (Isa isa : available_isas()) {
    SCOPED_TRACE(name_of(isa));
    Stepped s("Robot", {.num_envs = kEnvs, .first_global_index = 2, .seed = kSeed}, kSteps, isa, true);
    const TaskSpec& spec = s.envs->spec();
    EXPECT_EQ(spec.obs_dim, 12);
    EXPECT_EQ(spec.critic_obs_dim, 6);
    EXPECT_EQ(spec.reward_terms, (std::vector<std::string>{"tracking", "effort"}));
    EXPECT_EQ(spec.metrics, (std::vector<std::string>{"speed", "pushed"}));
    EXPECT_EQ(spec.ends, (std::vector<std::string>{"too_fast", "left", "time_out"}));
    EXPECT_TRUE(spec.truncates);
    EXPECT_EQ(spec.action.low, (std::vector<float>{-1, -INFINITY}));
    EXPECT_EQ(spec.action.high, (std::vector<float>{2, INFINITY}));
    EXPECT_EQ(spec.action.scale, (std::vector<float>{0.5f, 2}));
    EXPECT_EQ(spec.action.offset, (std::vector<float>{0.25f, 0}));

    std::vector<EpisodeSums> open(kEnvs, {0, 0, 0, {0, 0}, {0, 0}, {0, 0, 0}});
    EpisodeSums expected = open[0];
    const auto choose = [](Stepped& of, int64_t t) {
      for (int64_t env = 0; env < kEnvs; ++env) {
        of.r.env_action[2 * env] = -1 + 3 * random01(env, t, 0);
        of.r.env_action[2 * env + 1] = static_cast<float>(env % 9) * (random01(env, t, 1) - 0.4f);
      }
    };
    const auto count = [&](const ScalarEnv<Robot>& robot, int64_t env) {
      EpisodeSums& sums = open[static_cast<size_t>(env)];
      sums.reward += robot.result.reward, sums.length += 1;
      for (size_t k = 0; k < 2; ++k) sums.terms[k] += robot.result.terms[k], sums.metrics[k] += robot.result.metrics[k];
      if (!robot.has_ended()) return;
      expected.count += 1, expected.reward += sums.reward, expected.length += sums.length;
      for (size_t k = 0; k < 2; ++k) {
        expected.terms[k] += sums.terms[k];
        expected.metrics[k] += sums.metrics[k] / sums.length;
        expected.ends[k] += robot.result.ends[k];
      }
      expected.ends[2] += robot.age == 25;
      sums = {0, 0, 0, {0, 0}, {0, 0}, {0, 0, 0}};
    };
    ASSERT_NO_FATAL_FAILURE(expect_bits_of_scalar_code<Robot>(s, kSeed, kSteps, choose, count));
    const EpisodeSums actual = s.episodes();
    const auto expect_near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-5 * (1 + std::abs(b))); };
    EXPECT_EQ(actual.count, expected.count);
    EXPECT_EQ(actual.length, expected.length);
    EXPECT_EQ(actual.ends, expected.ends);
    for (double ended : actual.ends) EXPECT_GT(ended, 3) << "one of the ends is too rare";
    EXPECT_EQ(actual.lost, 0);
    expect_near(actual.reward, expected.reward);
    expect_near(actual.terms[0] + actual.terms[1], expected.reward);
    for (size_t k = 0; k < 2; ++k) {
      expect_near(actual.terms[k], expected.terms[k]);
      expect_near(actual.metrics[k], expected.metrics[k]);
    }
  }
}

// Weights are options: --env.reward.effort 0, or effort = 0 in [env.reward].
TEST_F(RobotEnvs, WeightsAreOptions) {
  TaskParams params(task_record("Robot"));
  TaskParams::Rewards rewards = params.rewards();
  OptionTable table;
  table.defer_section("env");
  table.apply_command_line({"--env.reward.effort", "3"});  // before the option is known
  table.section("env", "Task", params);
  table.section("env.reward", "Rewards", rewards);
  EXPECT_EQ(table.find("env.reward.tracking").value(), "2");
  EXPECT_EQ(table.find("env.reward.effort").value(), "-0.5");
  EXPECT_NE(table.to_ini().find("[env.reward]\n"), std::string::npos);
  EXPECT_THROW(table.set("env.reward.efort", "1"), UsageError);
  table.apply_ini("[env.reward]\neffort = 0\n", "a file");
  table.apply_ini("[env]\nreward.tracking = -1.5\n", "another");
  table.apply_command_line({"--env.noise", "0"});
  Stepped s("Robot", {.num_envs = 16, .seed = kSeed, .setup = params.setup()}, 1);
  s.step_with(1, 0, 1);
  for (int64_t env = 0; env < 16; ++env) {
    Robot::Params quiet;
    quiet.noise = 0;
    ScalarEnv<Robot> robot(kSeed, env, quiet);
    robot.step({1, 1}, 0);
    EXPECT_EQ(s.r.reward[env], -0.75f * robot.result.terms[0]);  // a weight of -1.5 instead of 2
    EXPECT_EQ(s.r.obs[12 * (16 + env) + 8], robot.state.v[0]);
  }
  table.defer_section("env");
  EXPECT_THROW(table.find("env.reward.effort"), UsageError);
}

// After an iteration ends, rewards include the curriculum's new bonus, and new episodes have its new length. The
// parameter selects computation in double.
class Ladder : public TestTasks, public testing::WithParamInterface<bool> {};

TEST_P(Ladder, UsesTheCurrentCurriculum) {
  for (Isa isa : available_isas()) {
    Stepped s("Ladder", {.num_envs = 21, .seed = kSeed, .exact = GetParam()}, 8, isa);  // all actions are 0
    EXPECT_EQ(s.envs->spec().curriculum, (std::vector<std::string>{"length", "bonus"}));
    const RolloutView& r = s.r;
    const float expected[] = {2, 1, 1, 2,
                              8, 8, 9, 8};  // the curriculum changes in the second episode; the third has 4 steps
    for (int64_t t = 0; t < 8; ++t) {
      if (t == 4) {
        std::vector<float> curriculum;
        s.envs->iteration_ended(*s.queue, 6, 24, s.episodes(), curriculum);
        EXPECT_EQ(curriculum, (std::vector<float>{4, 7}));
      }
      s.step_with_given_actions(t);
      for (int64_t env = 0; env < 21; ++env) {
        ASSERT_EQ(r.reward[t * 21 + env], expected[t]) << t;
        ASSERT_EQ(r.terminated[t * 21 + env], t == 2 || t == 5) << t;
      }
    }
    EXPECT_EQ(r.obs[8 * 21], 0.5f);  // two of four steps
  }
}

INSTANTIATE_TEST_SUITE_P(FloatAndDouble, Ladder, testing::Bool());

// In the second step, environment k takes the action k % 5, which breaks nothing, the state, the observation, the
// critic's observation or the reward. Lost environments are reset at once, and their episodes are in no sum. The others
// terminate at their fourth step, since the horizon is finite.
TEST_F(TestTasks, LostEnvironmentsAreResetAndNotCounted) {
  constexpr int kEnvs = 40;
  for (Isa isa : available_isas()) {
    SCOPED_TRACE(name_of(isa));
    Stepped s("Breaking", {.num_envs = kEnvs, .seed = kSeed}, 5, isa, true);
    const RolloutView& r = s.r;
    const auto lifetimes = [&] { return AllState(*s.envs).fields.at("env/state/lifetime").read(); };
    const std::vector<std::byte> before = lifetimes();
    auto* actions = reinterpret_cast<int32_t*>(r.action);
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t env = 0; env < kEnvs; ++env) actions[t * kEnvs + env] = t == 1 ? static_cast<int32_t>(env % 5) : 0;
    for (int64_t t = 0; t < 5; ++t) s.step_with_given_actions(t);
    for (int64_t env = 0; env < kEnvs; ++env) {
      const bool breaks = env % 5 != 0;
      for (int64_t t = 0; t < 5; ++t) {
        const int64_t at = t * kEnvs + env;
        const bool ends = t == (breaks ? 1 : 3);
        EXPECT_EQ(r.terminated[at], !ends ? 0 : breaks ? kLost : 1) << env << " step " << t;
        EXPECT_EQ(r.truncated[at], 0);
        EXPECT_EQ(r.reward[at], breaks && t == 1 ? 0 : 1);
        const float x = static_cast<float>(t < (breaks ? 1 : 3) ? t + 1 : t - (breaks ? 1 : 3));
        EXPECT_EQ(r.obs[at + kEnvs], x * x) << env << " step " << t;
        EXPECT_EQ(r.critic_obs[at + kEnvs], std::sqrt(x));
      }
      EXPECT_EQ(r.last_obs[env], breaks ? 0 : 16);
    }
    EXPECT_EQ(lifetimes(), before);
    const EpisodeSums sums = s.episodes();
    EXPECT_EQ(sums.lost, kEnvs * 4 / 5);
    EXPECT_EQ(sums.count, kEnvs / 5);
    EXPECT_EQ(sums.reward, 4 * kEnvs / 5);
    EXPECT_EQ(sums.length, 4 * kEnvs / 5);
  }
}

}  // namespace
}  // namespace drl
