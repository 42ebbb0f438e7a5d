// Tests of simulators: examples/own_simulator, small ones with known numbers, and some that fail.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "../../examples/own_simulator/arm.hpp"
#include "../support/algorithm_state.hpp"
#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/stepped.hpp"
#include "algorithms/grpo/grpo.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "base/check.hpp"
#include "base/thread_team.hpp"
#include "envs/simulator_envs.hpp"
#include "envs/task_params.hpp"
#include "nets/fused/fused_nets.hpp"
#include "simulators.hpp"

namespace drl {
namespace {

using namespace test;

class Simulators : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_test_simulators(); }
};

// --- The example's physics ---

// Without friction and torque, energy is conserved. The error of Runge-Kutta falls at least with h^4.
TEST(Arm, ConservesEnergy) {
  const Arm arm({1, 0, 0}, {.friction = 0});
  const Arm::Motion start{1.2, -0.4, 0.5, -1};
  const auto lost = [&](double h) {
    Arm::Motion m = start;
    for (int k = 0; k < static_cast<int>(std::lround(2 / h)); ++k) m = arm.advance(m, 0, 0, h);
    return std::abs(arm.energy(m) - arm.energy(start));
  };
  EXPECT_LT(lost(0.001), 1e-7);
  EXPECT_LT(lost(0.005), lost(0.01) / 12);
}

// A motor's work is its torque times the angle that it turns. Friction only dissipates.
TEST(Arm, GainsTheWorkOfItsMotors) {
  const Arm arm({1, 0, 0}, {.friction = 0}), damped({1, 0, 0}, {.friction = 0.3});
  const double shoulder = 3, elbow = -2, h = 1e-3;
  Arm::Motion m{0.3, 0.2, 0, 0}, slower = m;
  const double before = arm.energy(m);
  for (int k = 0; k < 800; ++k) m = arm.advance(m, shoulder, elbow, h), slower = damped.advance(slower, 0, 0, h);
  EXPECT_NEAR(arm.energy(m) - before, shoulder * (m[0] - 0.3) + elbow * ((m[1] - m[0]) - (0.2 - 0.3)), 1e-8);
  EXPECT_LT(damped.energy(slower), before - 1e-3);
}

// Hanging links swing like a double pendulum with equal masses and lengths: w^2 = (2 -+ sqrt(2)) g/l.
TEST(Arm, SwingsWithTheFrequencyOfADoublePendulum) {
  const Arm arm({1, 0, 0}, {.friction = 0});
  const double w = std::sqrt((2 - std::sqrt(2.0)) * 9.81 / 0.5), h = 1e-3, small = 1e-4;
  Arm::Motion m{small, std::sqrt(2.0) * small, 0, 0};
  double t = 0;
  for (; m[0] > 0; t += h) m = arm.advance(m, 0, 0, h);
  EXPECT_NEAR(t, std::acos(-1.0) / 2 / w, 2 * h);
}

// --- What drl does for a simulator ---

// Takes the action t % 3 at each step t in [begin, end).
void count(Stepped& s, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    std::fill_n(reinterpret_cast<int32_t*>(s.r.action) + t * s.n, s.n, static_cast<int32_t>(t % 3));
    s.step_with_given_actions(t);
  }
}

// Counter's environment i observes 1000 (first + i) and the steps of its episode, which is truncated at the fourth.
TEST_F(Simulators, AreResetObservedAndCounted) {
  Stepped s("Counter", {.num_envs = 37, .first_global_index = 5}, 9);
  EXPECT_EQ(s.envs->spec().critic_obs_dim, 3);
  EXPECT_TRUE(s.envs->spec().truncates);
  count(s, 0, 9);
  for (int64_t i = 0; i < 37; ++i) {
    for (int64_t t = 0; t <= 9; ++t) {
      const float *obs = s.r.obs + (t * 37 + i) * 2, *critic = s.r.critic_obs + (t * 37 + i) * 3;
      EXPECT_EQ(obs[0], static_cast<float>(1000 * (5 + i)));
      EXPECT_EQ(obs[1], static_cast<float>(t % 4));
      EXPECT_EQ(critic[1], obs[1]);
      EXPECT_EQ(critic[2], t % 4 == 0 ? 0.0f : static_cast<float>((t - 1) % 3));
      if (t == 9) continue;
      EXPECT_EQ(s.r.reward[t * 37 + i], static_cast<float>(t % 3));
      EXPECT_EQ(s.r.truncated[t * 37 + i], t % 4 == 3);
      EXPECT_EQ(s.r.terminated[t * 37 + i], 0);
    }
    ASSERT_EQ(s.r.last_count[i], 2);
    for (int64_t k = 0; k < 2; ++k) {
      EXPECT_EQ(s.r.last_obs[(k * 37 + i) * 2 + 1], 4);
      EXPECT_EQ(s.r.last_critic_obs[(k * 37 + i) * 3 + 2], static_cast<float>((4 * k + 3) % 3));
    }
  }
  const EpisodeSums sums = s.episodes();  // rewards 0 + 1 + 2 + 0, then 1 + 2 + 0 + 1
  EXPECT_EQ(sums.count, 2 * 37);
  EXPECT_EQ(sums.length, 4 * 2 * 37);
  EXPECT_EQ(sums.reward, (3 + 4) * 37);
}

TEST_F(Simulators, AreBitIdenticalOnAnyNumberOfThreads) {
  const auto numbers = [](int threads, int64_t tile) {
    Stepped s("Arm",
              {.num_envs = 150, .first_global_index = 16, .seed = 3, .random_start_ages = true, .threads = threads},
              250);
    s.step(0, 250, tile);
    std::vector<double> all(s.r.obs, s.r.obs + 251 * 150 * 10);
    all.insert(all.end(), s.r.reward, s.r.reward + 250 * 150);
    all.insert(all.end(), s.r.last_obs, s.r.last_obs + 150 * 10);
    const EpisodeSums sums = s.episodes();
    EXPECT_GT(sums.count, 150);
    all.insert(all.end(), {sums.count, sums.reward, sums.length, sums.terms[0], sums.terms[1]});
    return all;
  };
  const std::vector<double> one = numbers(1, 150);
  EXPECT_EQ(numbers(3, 150), one);
  EXPECT_EQ(numbers(4, 64), one);
}

// The example is built by drl_add_task_library, and loaded as a task library.
TEST_F(Simulators, AreBitIdenticalFromALibrary) {
  void* library = dlopen(built("tests/envs/libraries/libown_simulator.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto open = reinterpret_cast<DrlTaskLibraryFunction>(dlsym(library, DRL_TASK_LIBRARY_SYMBOL));
  ASSERT_NE(open, nullptr);
  const TaskLibrary& table = *open();
  ASSERT_EQ(table.count, 1);
  const TaskRecord& other = *table.tasks[0];
  EXPECT_EQ(other.trouble, nullptr);
  EXPECT_NE(other.simulator, task_record("Arm").simulator);
  const auto numbers = [](const TaskRecord& record) {
    const auto queue = make_host_queue(available_isas().back());
    SimulatorEnvs envs(record, {.num_envs = 20, .seed = 4}, *queue);
    const Rollout rollout(*queue, envs.spec(), 120, 20);
    const RolloutView& r = rollout.view();
    envs.reset(*queue, rollout.start_row(), {});
    for (int64_t t = 0; t < 120; ++t) {
      for (int64_t k = 0; k < 40; ++k) r.env_action[k] = static_cast<float>(std::sin(3. * k + 2. * t));
      envs.step(*queue, {&t}, 0, 20, rollout.row(t));
    }
    std::vector<float> all(r.obs, r.obs + 121 * 20 * 10);
    all.insert(all.end(), r.reward, r.reward + 120 * 20);
    return all;
  };
  EXPECT_EQ(numbers(other), numbers(task_record("Arm")));
}

TEST_F(Simulators, TakeTheirParametersFromOptions) {
  EXPECT_EQ(task_record("Arm").param_count, 3);
  EXPECT_STREQ(task_record("Arm").params[0].name, "gravity");
  EXPECT_EQ(task_record("Counter").param_count, 0);
  const auto speed = [](double gravity) {
    Arm::Params params;
    params.gravity = gravity;
    EnvSetup setup = TaskParams(task_record("Arm")).setup();
    std::memcpy(setup.params.data(), &params, sizeof(params));
    Stepped s("Arm", {.num_envs = 1, .setup = setup}, 1);
    s.step_with(0, 0, 1);
    return s.r.obs[10 + 2];
  };
  EXPECT_EQ(speed(0), 0);  // the arm remains at rest
  EXPECT_NE(speed(9.81), 0);
}

// --- Failures ---

TEST_F(Simulators, ErrorsContainTheTextOfAnException) {
  for (int threads : {1, 3}) {
    Stepped s("Thrower", {.num_envs = 64, .threads = threads}, 4);
    count(s, 0, 2);
    const std::string text = error_from<Error>([&] { count(s, 2, 3); });
    expect_mentions(text, {"Thrower", "the licence server is asleep"});
    EXPECT_EQ(text.find("GPU"), std::string::npos) << text;
  }
  expect_mentions(error_from<Error>([] { Stepped("Unmakeable", {}, 1); }), {"Unmakeable", "no such model"});
}

TEST_F(Simulators, StatesWithTheSameNameAreRefused) {
  expect_mentions(error_from<UsageError>([] { Stepped("SameNames", {}, 1); }), {"steps", "SameNames"});
}

// --- Learning ---

struct Learner {
  explicit Learner(int threads = 1, bool grpo = false, int64_t num_envs = 64, int num_steps = 32)
      : queue(make_host_queue(available_isas().back())),
        envs(
            make_env("Arm", {.num_envs = num_envs, .seed = 1, .random_start_ages = true, .threads = threads}, *queue)) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {32, 32};
    policy.init_std = 0.5;
    const auto parts = [&](const UpdateOptions& options) {
      spec = policy_spec(envs->spec(), policy, options.normalizer(), !grpo);
      nets = make_fused_nets(*queue, spec.layout, 1);
      const int mini_batches = options.num_mini_batches;
      return LearnerParts{*queue, policy, BatchPlan{num_envs, num_steps, 0, 1, 1, mini_batches}, 1, spec, *nets, *envs};
    };
    if (grpo) {
      GrpoOptions options;
      options.group_size = 8;
      algorithm = std::make_unique<Grpo>(parts(options), options);
    } else {
      PpoOptions options;
      options.obs_normalization = true, options.entropy_coef = 0;
      options.reward_scale = 1 / 0.04;
      algorithm = std::make_unique<Ppo>(parts(options), options);
    }
  }
  void iterate(int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) algorithm->iterate(i, *comm);
  }
  PolicyOptions policy;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> envs;
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::unique_ptr<Algorithm> algorithm;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

// A learner that is restored from its state continues bit-identically, on any number of threads.
TEST_F(Simulators, LearnersResumeOnAnotherNumberOfThreads) {
  Learner whole(1), first(3), second(2);
  whole.iterate(0, 5);
  first.iterate(0, 3);
  AlgorithmState(*second.algorithm).write(AlgorithmState(*first.algorithm).bytes());
  second.algorithm->state_changed();
  second.iterate(3, 5);
  EXPECT_EQ(AlgorithmState(*second.algorithm).bytes(), AlgorithmState(*whole.algorithm).bytes());
}

TEST_F(Simulators, GrpoIsBitIdenticalOnAnyNumberOfThreads) {
  Learner one(1, true, 32, 100), three(3, true, 32, 100);
  one.iterate(0, 2), three.iterate(0, 2);
  EXPECT_EQ(one.algorithm->stats().episodes.count, 32);
  EXPECT_EQ(AlgorithmState(*one.algorithm).bytes(), AlgorithmState(*three.algorithm).bytes());
}

// An untrained arm gets some reward by chance. A trained one gets most of the possible reward, which is 1 per second
// and 4 per episode.
TEST_F(Simulators, TheExampleLearns) {
  Learner learner(2, false, 256);
  EpisodeSums first, last;
  for (int64_t i = 0; i < 60; ++i) {
    learner.iterate(i, i + 1);
    const EpisodeSums& now = learner.algorithm->stats().episodes;
    EpisodeSums& sums = i < 10 ? first : last;
    if (i >= 10 && i < 55) continue;
    sums.count += now.count, sums.reward += now.reward;
  }
  RecordProperty("first", std::to_string(first.reward / first.count));
  RecordProperty("last", std::to_string(last.reward / last.count));
  EXPECT_LT(first.reward / first.count, 1.5);
  EXPECT_GT(last.reward / last.count, 2.5);
}

// --- Threads ---

TEST(ThreadTeam, RunsEachPieceOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (int64_t count : {0, 1, 3, 100}) {
      std::vector<int> done(static_cast<size_t>(count));
      for (int round = 1; round <= 50; ++round) {
        team.run(count, [&](int64_t k) { ++done[static_cast<size_t>(k)]; });
        ASSERT_EQ(done, std::vector<int>(static_cast<size_t>(count), round));
      }
    }
  }
}

TEST(ThreadTeam, RethrowsAnExceptionAndKeepsWorking) {
  for (int threads : {1, 3}) {
    ThreadTeam team(threads);
    for (int round = 0; round < 20; ++round) {
      EXPECT_THROW(team.run(50,
                            [](int64_t k) {
                              if (k == 7) throw Error("seven");
                            }),
                   Error);
      std::atomic<int> done{0};
      team.run(10, [&](int64_t) { ++done; });
      EXPECT_EQ(done, 10);
    }
  }
}

}  // namespace
}  // namespace drl
