#include "learn/gpu_ppo.hpp"

#include <cmath>

#include "algorithm_state.hpp"
#include "cluster/communicator.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/torch/torch_nets.hpp"
#include "envs/make_env.hpp"
#include "gpu_rig.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, task, schedule, std_type;
  bool normalization;
  int shards;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

struct Setup {
  explicit Setup(const Case& c) {
    task = task_spec(c.task);
    ppo.schedule = c.schedule;
    ppo.schedule_iterations = 10;
    ppo.obs_normalization = c.normalization;
    ppo.num_learning_epochs = 2;
    ppo.num_mini_batches = 4;
    ppo.reward_scale = 0.5;
    ppo.entropy_coef = 0.01;
    policy.actor_hidden_dims = {16, 8};
    policy.critic_hidden_dims = {12};
    policy.std_type = c.std_type;
    plan = {64, 8, 0, 1, c.shards, ppo.num_mini_batches};
    config = {plan.num_envs, 0, 5, true};
  }
  TaskSpec task;
  PpoOptions ppo;
  PolicyOptions policy;
  BatchPlan plan;
  EnvConfig config;
};

struct CpuLearner {
  explicit CpuLearner(const Case& c)
      : setup(c),
        envs(make_env(c.task, setup.config)),
        engine(make_torch_engine(network_spec(setup.task, setup.policy), 1)),
        algorithm(setup.ppo, setup.policy, setup.plan, 5, *envs, *engine) {}
  Setup setup;
  std::unique_ptr<VecEnv> envs;
  std::unique_ptr<Engine> engine;
  Ppo algorithm;
};

struct GpuLearner {
  GpuLearner(const Case& c, bool graphs)
      : setup(c),
        envs(make_gpu_env(c.task, setup.config, stream)),
        engine(make_gpu_engine(network_spec(setup.task, setup.policy), stream)),
        algorithm(setup.ppo, setup.policy, setup.plan, 5, graphs, *envs, *engine, stream) {}
  Setup setup;
  gpu::Stream stream;
  std::unique_ptr<GpuVecEnv> envs;
  std::unique_ptr<GpuEngine> engine;
  GpuPpo algorithm;
};

void iterate(Algorithm& algorithm, int64_t first, int64_t end) {
  const auto comm = make_serial_communicator();
  for (int64_t i = first; i < end; ++i) {
    double riders[] = {static_cast<double>(i), 7};
    algorithm.iterate(i, *comm, riders);
    EXPECT_EQ(riders[0], static_cast<double>(i));
    EXPECT_EQ(riders[1], 7);
  }
}

void expect_near(double actual, double expected, double relative, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what;
  } else {
    EXPECT_NEAR(actual, expected, relative * std::abs(expected) + 1e-6) << what;
  }
}

void expect_same_stats(const IterationStats& gpu, const IterationStats& cpu) {
  expect_near(gpu.episodes.count, cpu.episodes.count, 0, "episodes");
  expect_near(gpu.episodes.reward, cpu.episodes.reward, 1e-9, "reward");
  expect_near(gpu.episodes.length, cpu.episodes.length, 0, "length");
  expect_near(gpu.value_loss, cpu.value_loss, 1e-3, "value_loss");
  EXPECT_NEAR(gpu.surrogate_loss, cpu.surrogate_loss, 1e-5);  // normalised advantages cancel
  expect_near(gpu.entropy, cpu.entropy, 1e-4, "entropy");
  expect_near(gpu.kl, cpu.kl, 1e-2, "kl");
  expect_near(gpu.clip_fraction, cpu.clip_fraction, 2e-2, "clip_fraction");
  expect_near(gpu.gradient_norm, cpu.gradient_norm, 1e-3, "gradient_norm");
  EXPECT_NEAR(gpu.explained_variance, cpu.explained_variance, 1e-4);
  expect_near(gpu.learning_rate, cpu.learning_rate, 1e-12, "learning_rate");
  expect_near(gpu.action_std, cpu.action_std, 1e-5, "action_std");
}

class GpuPpoTest : public GpuTest, public testing::WithParamInterface<Case> {};

// The same weights to begin with; then, iteration by iteration from the same state, the same weights up to rounding.
TEST_P(GpuPpoTest, LearnsAsTheCpuDoes) {
  CpuLearner cpu(GetParam());
  GpuLearner gpu(GetParam(), true);
  State cpu_state(cpu.algorithm), gpu_state(gpu.algorithm);
  ASSERT_EQ(cpu_state.bytes(), gpu_state.bytes());
  for (int64_t i = 0; i < 12; ++i) {
    iterate(cpu.algorithm, i, i + 1);
    iterate(gpu.algorithm, i, i + 1);
    gpu.algorithm.state_needed();
    expect_same_stats(gpu.algorithm.stats(), cpu.algorithm.stats());
    for (const auto& [name, field] : cpu_state.fields) {
      if (field.type != DType::f32 || field.sharding != Sharding::replicated) continue;
      const auto *a = static_cast<const float*>(gpu_state.fields.at(name).data),
                 *b = static_cast<const float*>(field.data);
      double largest = 1e-6, difference = 0;
      for (int64_t k = 0; k < field.count(); ++k) {
        largest = std::max(largest, std::abs(static_cast<double>(b[k])));
        difference = std::max(difference, std::abs(static_cast<double>(a[k]) - b[k]));
      }
      EXPECT_LE(difference, 2e-3 * largest) << name << " after iteration " << i;
    }
    if (HasFailure()) return;
    // What differs by rounding shall not add up to other actions.
    gpu_state.copy_from(cpu_state);
    gpu.algorithm.state_changed();
  }
}

// Launched kernel by kernel, or as graphs: the same bits; and twice the same.
TEST_P(GpuPpoTest, GraphsChangeNoBit) {
  GpuLearner graphs(GetParam(), true), again(GetParam(), true), eager(GetParam(), false);
  iterate(graphs.algorithm, 0, 6);
  iterate(again.algorithm, 0, 6);
  iterate(eager.algorithm, 0, 6);
  EXPECT_EQ(State(graphs.algorithm).bytes(), State(eager.algorithm).bytes());
  EXPECT_EQ(State(graphs.algorithm).bytes(), State(again.algorithm).bytes());
}

// What the state holds is all that counts: a learner that got it goes on with the same bits.
TEST_P(GpuPpoTest, GoesOnFromItsState) {
  GpuLearner whole(GetParam(), true), first(GetParam(), true), second(GetParam(), true);
  iterate(whole.algorithm, 0, 7);
  iterate(first.algorithm, 0, 4);
  State(second.algorithm).copy_from(State(first.algorithm));
  second.algorithm.state_changed();
  iterate(second.algorithm, 4, 7);
  EXPECT_EQ(State(second.algorithm).bytes(), State(whole.algorithm).bytes());
}

TEST_P(GpuPpoTest, CountsAllReduces) {
  const auto comm = make_serial_communicator();
  GpuLearner gpu(GetParam(), true);
  for (int64_t i = 0; i < 5; ++i) gpu.algorithm.iterate(i, *comm, {});
  EXPECT_EQ(comm->stats().all_reduces_f64, 5);
  EXPECT_EQ(comm->stats().all_reduces_f32, 5 * 2 * 4);
}

TEST_P(GpuPpoTest, NumbersThatAreNotFiniteAreAnError) {
  GpuLearner gpu(GetParam(), true);
  State state(gpu.algorithm);
  static_cast<float*>(state.fields.at("policy/critic/0/weight").data)[0] = std::nanf("");
  gpu.algorithm.state_changed();
  const auto comm = make_serial_communicator();
  try {
    gpu.algorithm.iterate(0, *comm, {});
    FAIL();
  } catch (const SharedError& error) {
    EXPECT_NE(std::string(error.what()).find("numbers are not finite on rank 0"), std::string::npos) << error.what();
  }
}

TEST_P(GpuPpoTest, TheLearningRateCanBeSet) {
  GpuLearner gpu(GetParam(), true);
  gpu.algorithm.set_learning_rate(2e-5);
  EXPECT_EQ(*static_cast<double*>(State(gpu.algorithm).fields.at("optimizer/learning_rate").data), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuPpoTest,
                         testing::Values(Case{"CartPoleV1", "CartPole-v1", "linear", "log", false, 1},
                                         Case{"Cartpole", "Cartpole", "adaptive", "log", true, 2},
                                         Case{"Pendulum", "Pendulum-v1", "fixed", "scalar", true, 1},
                                         Case{"Acrobot", "Acrobot-v1", "adaptive", "log", false, 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
