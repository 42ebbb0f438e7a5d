// Learners whose networks are those of the fused engine.
#include "../support/mentions.hpp"
#include "comm/communicator.hpp"
#include "device/launch_watch.hpp"
#include "learner_rig.hpp"

namespace drl {
namespace {

using namespace test;

LearnerOptions options_of(const std::string& task, FusedPrecision precision) {
  LearnerOptions o{task};
  o.fused = precision;
  o.ppo.num_learning_epochs = 2, o.ppo.num_mini_batches = 2, o.ppo.schedule = "adaptive", o.ppo.entropy_coef = 0.01;
  o.ppo.obs_normalization = true;
  o.policy.actor_hidden_dims = {32, 32}, o.policy.critic_hidden_dims = {64};
  o.plan = {100, 8, 0, 1, 1, 2};  // mini-batches of 400 samples: six tiles, and one of 16 rows
  return o;
}

// Returns the options of a GRPO learner. Each of its groups has ten episodes.
LearnerOptions grpo_of(const std::string& task, FusedPrecision precision) {
  LearnerOptions o = options_of(task, precision);
  o.grpo.emplace();
  o.grpo->group_size = 10, o.grpo->kl_coef = 0.1, o.grpo->entropy_coef = 0.01;
  o.grpo->num_learning_epochs = 2, o.grpo->num_mini_batches = o.plan.num_mini_batches;
  return o;
}

class GpuFusedLearner : public GpuTest {
 protected:
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

// CartPole-v1 has discrete actions, Pendulum-v1 continuous ones.
TEST_F(GpuFusedLearner, LearnsAsOnTheHost) {
  std::vector<LearnerOptions> all;
  for (const std::string task : {"CartPole-v1", "Pendulum-v1"})
    all.push_back(options_of(task, FusedPrecision::fp32)), all.push_back(grpo_of(task, FusedPrecision::fp32));
  LearnerOptions& wide = all.emplace_back(all.front());  // too many parameters for one block's step
  wide.policy.actor_hidden_dims = wide.policy.critic_hidden_dims = {128, 128};
  for (const LearnerOptions& options : all) {
    SCOPED_TRACE(options.task + (options.grpo ? " with GRPO" : ""));
    expect_learns_as_on_the_host(options, *comm, *comm, 4, [](Learner& gpu, Learner&) {
      EXPECT_EQ(gpu.nets->description().find("cuBLAS"), std::string::npos) << gpu.nets->description();
    });
  }
}

// Returns the number of kernels, copies and clears of an iteration.
int64_t launches(LearnerOptions options, int epochs, Communicator& comm) {
  struct Counter final : LaunchWatch {
    void begins(const Launch&) override { ++count; }
    void ends() override {}
    int64_t count = 0;
  } counter;
  options.graphs = false, options.update().num_learning_epochs = epochs;
  Learner learner = on_gpu(options);
  learner.iterate(comm, 0, 1);
  launch_watch = &counter;
  learner.iterate(comm, 1, 2);
  launch_watch = nullptr;
  return counter.count;
}
// The samples, a kernel for each network, their sums, the optimiser's step, and the packed weights.
TEST_F(GpuFusedLearner, AMiniBatchTakesSixKernels) {
  const LearnerOptions ppo = options_of("Pendulum-v1", FusedPrecision::fp32),
                       grpo = grpo_of("Pendulum-v1", FusedPrecision::fp32);
  EXPECT_EQ(launches(ppo, 2, *comm) - launches(ppo, 1, *comm), 6 * ppo.plan.num_mini_batches);
  EXPECT_EQ(launches(grpo, 2, *comm) - launches(grpo, 1, *comm), 5 * grpo.plan.num_mini_batches);
}

#if defined(DRL_GPU_RUNTIME)
// Layer by layer, the actor's layers have 4 + 32 + 32 inputs and the critic's 4 + 64. Passes of up to 900 rows (nine
// times 100 environments) store them, once for the collection and once for the update, and the update also stores the
// gradients of the 32 + 32 and 64 hidden units.
TEST_F(GpuFusedLearner, AllocatesNoBuffersForLayersThatItDoesNotComputeOneByOne) {
  const auto allocated = [&](LearnerOptions options) {
    Learner learner = on_gpu(options);
    const size_t before = gpu::host_counts().allocated;
    learner.iterate(*comm, 0, 3);
    return gpu::host_counts().allocated - before;
  };
  LearnerOptions options = options_of("CartPole-v1", FusedPrecision::fp32);
  const size_t fused = allocated(options);
  options.fused.reset();
  EXPECT_EQ(allocated(options) - fused, 900 * (2 * (68 + 68) + 64 + 64) * sizeof(float));
}
#endif

TEST_F(GpuFusedLearner, RecordingsAreBitIdenticalToSingleLaunches) {
  for (const FusedPrecision precision : {FusedPrecision::fp32, FusedPrecision::fp16, FusedPrecision::bf16})
    expect_recordings_equal_single_launches(options_of("CartPole-v1", precision), *comm, 4);
}

// The collection and the update compute the same outputs, bit by bit, so on the first mini-batch the policy is the old
// one.
TEST_F(GpuFusedLearner, TheFirstRatioIsExactlyOne) {
  for (const FusedPrecision precision : {FusedPrecision::fp32, FusedPrecision::fp16, FusedPrecision::bf16}) {
    for (LearnerOptions options : {options_of("CartPole-v1", precision), grpo_of("CartPole-v1", precision)}) {
      options.update().num_learning_epochs = options.update().num_mini_batches = options.plan.num_mini_batches = 1;
      Learner learner = on_gpu(options);
      for (int64_t i = 0; i < 3; ++i) {
        learner.iterate(*comm, i, i + 1);
        for (const Metric& metric : learner.learner->metrics()) {
          if (metric.name == "kl" || metric.name == "clip_fraction") {
            EXPECT_EQ(metric.value, 0) << metric.name;
          }
          if (metric.name == "surrogate_loss" && !options.grpo) {
            EXPECT_NEAR(metric.value, 0, 1e-6);  // the mean of the negative normalised advantages
          }
        }
      }
    }
  }
}

// Returns the description of the networks of a learner that could not use the engine.
std::string fallback(const LearnerOptions& options, Communicator& comm) {
  Learner fused = on_gpu(options);
  LearnerOptions plain = options;
  plain.fused.reset();
  Learner layerwise = on_gpu(plain);
  fused.iterate(comm, 0, 2), layerwise.iterate(comm, 0, 2);
  EXPECT_EQ(fused.bytes(), layerwise.bytes());
  return fused.nets->description();
}

TEST_F(GpuFusedLearner, WhatTheEngineDoesNotKnowIsComputedLayerByLayer) {
  LearnerOptions options = options_of("CartPole-v1", FusedPrecision::fp32);
  options.policy.critic_hidden_dims = {64, 32};
  expect_mentions(fallback(options, *comm), {"cuBLAS", "critic", "32, 64 or 128"});
  options.policy.critic_hidden_dims = {128, 128, 128};
  expect_mentions(fallback(options, *comm), {"cuBLAS", "critic", "3 hidden layers"});
  options.policy.critic_hidden_dims = {64}, options.policy.activation = "silu";
  expect_mentions(fallback(options, *comm), {"cuBLAS", "actor", "activation"});
  options.policy.activation = "elu", options.policy.layer_norm = true;
  expect_mentions(fallback(options, *comm), {"cuBLAS", "layer norm"});
  options = options_of("Pendulum-v1", FusedPrecision::fp32);
  options.policy.state_dependent_std = true;
  expect_mentions(fallback(options, *comm), {"cuBLAS", "Gaussian"});
  options = options_of("Cartpole", FusedPrecision::fp32);
  options.ppo.symmetry = "augment";
  expect_mentions(fallback(options, *comm), {"cuBLAS", "symmetry"});
  options = options_of("Pendulum-v1", FusedPrecision::fp32);
  options.policy.rnn_type = "gru", options.policy.rnn_hidden_dim = 12, options.plan.sequences = true;
  expect_mentions(fallback(options, *comm), {"cuBLAS"});
  options = options_of("Pendulum-v1", FusedPrecision::fp32);
  options.policy.distribution = "beta";
  expect_mentions(fallback(options, *comm), {"cuBLAS"});
}

}  // namespace
}  // namespace drl
