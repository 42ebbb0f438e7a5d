// Learners on a GPU queue equal those on a host queue, with and without recorded graphs.
#include <cmath>
#include <sstream>
#include <type_traits>

#include "../support/mentions.hpp"
#include "../support/set_options.hpp"
#include "base/check.hpp"
#include "comm/communicator.hpp"
#include "learner_rig.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, task, algorithm;
  int shards;
  std::string options;  // those that differ from options_of
  bool every_option = false;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

LearnerOptions options_of(const Case& c) {
  LearnerOptions o{c.task};
  if (c.algorithm == "grpo") o.grpo.emplace().kl_coef = 0.1, o.grpo->reference_interval = 3;
  if (c.algorithm == "distill") o.distill.emplace().gradient_length = 2;
  UpdateOptions& update = o.update();
  update.schedule = "fixed", update.schedule_iterations = 10;
  update.num_learning_epochs = 2;
  update.num_mini_batches = 4;
  update.entropy_coef = 0.01;
  o.ppo.reward_scale = 0.5;
  o.policy.actor_hidden_dims = {16, 8};
  o.policy.critic_hidden_dims = {12};
  o.policy.rnn_hidden_dim = 12, o.policy.rnn_num_layers = 2;
  if (c.every_option) every_option(o);
  OptionTable table;
  table.section("policy", "", o.policy);
  if (o.grpo) {
    table.section("grpo", "", *o.grpo);
  } else if (o.distill) {
    table.section("distill", "", *o.distill);
  } else {
    table.section("ppo", "", o.ppo);
  }
  set_options(table, c.options);
  if (update.optimizer != "adam") {
    update.weight_decay = 0.1, update.momentum = 0.9;
    update.critic_learning_rate = 2e-3, update.critic_max_grad_norm = 0.3;
    o.ppo.entropy_coef_end = 0.1, o.ppo.desired_kl_end = 0.02, o.ppo.anneal_iterations = 5;
  }
  o.plan = {64, o.grpo ? 40 : 8, 0, 1, c.shards, update.num_mini_batches};
  o.plan.sequences = o.policy.is_recurrent();
  return o;
}

class GpuLearner : public GpuTest, public testing::WithParamInterface<Case> {
 protected:
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

TEST_P(GpuLearner, LearnsAsOnTheHost) {
  const auto check = [](Learner& gpu, Learner& host) {  // of the state at the start of the iteration
    EXPECT_EQ(gpu.learner->slots().field_fingerprints(), host.learner->slots().field_fingerprints());
  };
  expect_learns_as_on_the_host(options_of(GetParam()), *comm, *comm, 12, check);
}

TEST_P(GpuLearner, RecordingsAreBitIdenticalToSingleLaunches) {
  expect_recordings_equal_single_launches(options_of(GetParam()), *comm, 6);
}

// Checks that the test above would notice a recording that contains a number which changes from step to step.
TEST_P(GpuLearner, ANumberFrozenInARecordingChangesTheResult) {
  LearnerOptions options = options_of(GetParam());
  options.fault = Fault::host_number;
  Learner recorded = on_gpu(options);
  options.graphs = false;
  Learner eager = on_gpu(options);
  for (Learner* learner : {&recorded, &eager}) learner->iterate(*comm, 0, 6);
  EXPECT_NE(recorded.bytes(), eager.bytes());
}

TEST_P(GpuLearner, WorkThatCannotBeRecordedIsLaunchedOneKernelAtATime) {
  LearnerOptions options = options_of(GetParam());
  Learner plain = on_gpu(options);
  plain.iterate(*comm, 0, 4);
  for (Fault fault : {Fault::waits_in_step, Fault::waits_in_backward}) {
    options.fault = fault;
    Learner faulty = on_gpu(options);
    faulty.iterate(*comm, 0, 4);
    EXPECT_EQ(faulty.bytes(), plain.bytes());
  }
}

TEST_P(GpuLearner, ContinuesFromItsState) { expect_continues_from_its_state(options_of(GetParam()), *comm, 4, 7); }

TEST_P(GpuLearner, CountsAllReduces) {
  Learner gpu = on_gpu(options_of(GetParam()));
  gpu.iterate(*comm, 0, 5);
  EXPECT_EQ(comm->stats().all_reduces_f64, 5);
  EXPECT_EQ(comm->stats().all_reduces_f32, 5 * 2 * 4);
}

TEST_P(GpuLearner, ValuesThatAreNotFiniteAreAnError) {
  if (GetParam().algorithm != "ppo") GTEST_SKIP() << "no critic";
  Learner gpu = on_gpu(options_of(GetParam()));
  const State state(*gpu.learner);
  const StateField& weights = state.fields.at("policy/critic/0/weight");
  std::vector<float> numbers = state.floats(weights.name);
  numbers[0] = std::nanf("");
  weights.write(std::as_bytes(std::span(numbers)));
  gpu.learner->state_changed();
  try {
    gpu.iterate(*comm, 0, 1);
    FAIL();
  } catch (const SharedError& error) {
    expect_mentions(error.what(), {"rank 0", "not finite"});
  }
}

TEST_P(GpuLearner, TheLearningRateOfTheOptionsCanReplaceThatOfTheState) {
  LearnerOptions options = options_of(GetParam());
  options.update().learning_rate = 2e-5;
  Learner gpu = on_gpu(options);
  double rate = 0.5;
  State(*gpu.learner).fields.at("optimizer/learning_rate").write(std::as_bytes(std::span(&rate, 1)));
  gpu.learner->restart_learning_rate();
  std::memcpy(&rate, gpu.bytes().at("optimizer/learning_rate").data(), sizeof(rate));
  EXPECT_EQ(rate, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GpuLearner,
    testing::Values(
        Case{"CartPoleV1", "CartPole-v1", "ppo", 1, "ppo.schedule=linear"},
        Case{"Cartpole", "Cartpole", "ppo", 2, "ppo.schedule=adaptive ppo.obs_normalization=true"},
        Case{"Pendulum", "Pendulum-v1", "ppo", 1, "policy.std_type=scalar ppo.obs_normalization=true"},
        Case{"EveryOption", "Pendulum-v1", "ppo", 4, "ppo.schedule=adaptive ppo.obs_normalization=true", true},
        Case{"GrpoEveryOption", "CartPole-v1", "grpo", 1, "grpo.obs_normalization=true grpo.group_size=8", true},
        Case{"AdamW", "Pendulum-v1", "ppo", 1, "ppo.schedule=adaptive ppo.obs_normalization=true ppo.optimizer=adamw"},
        Case{"Sgd", "Pendulum-v1", "ppo", 2, "ppo.schedule=linear ppo.obs_normalization=true ppo.optimizer=sgd"},
        Case{"StateStd", "Pendulum-v1", "ppo", 1, "ppo.obs_normalization=true policy.state_dependent_std=true"},
        Case{"GrpoStateStd", "Pendulum-v1", "grpo", 1,
             "policy.std_type=scalar grpo.obs_normalization=true grpo.group_size=4 policy.state_dependent_std=true",
             true},
        Case{"Beta", "Pendulum-v1", "ppo", 1,
             "ppo.schedule=adaptive ppo.obs_normalization=true policy.distribution=beta"},
        Case{"Squashed", "Pendulum-v1", "ppo", 1,
             "ppo.schedule=adaptive ppo.obs_normalization=true policy.distribution=squashed_gaussian"},
        Case{"Gru", "Pendulum-v1", "ppo", 1, "ppo.schedule=adaptive ppo.obs_normalization=true policy.rnn_type=gru"},
        Case{"Lstm", "CartPole-v1", "ppo", 2, "policy.rnn_type=lstm"},
        Case{"GrpoGru", "CartPole-v1", "grpo", 1, "grpo.group_size=8 policy.rnn_type=gru"},
        Case{"Distill", "Pendulum-v1", "distill", 1, "distill.obs_normalization=true"},
        Case{"DistillLstm", "Pendulum-v1", "distill", 1, "distill.schedule=linear policy.rnn_type=lstm"},
        Case{"GrpoSgd", "CartPole-v1", "grpo", 1, "grpo.group_size=8 grpo.optimizer=sgd"},
        Case{"Acrobot", "Acrobot-v1", "ppo", 4, "ppo.schedule=adaptive"},
        Case{"GrpoCartPoleV1", "CartPole-v1", "grpo", 1, "grpo.schedule=linear grpo.group_size=8"},
        Case{"GrpoPendulum", "Pendulum-v1", "grpo", 4,
             "grpo.schedule=adaptive policy.std_type=scalar grpo.obs_normalization=true grpo.group_size=4"}),
    [](const auto& info) { return info.param.name; });

#if defined(DRL_GPU_RUNTIME)

// The work of a learner's second iteration, which records, and of its third, which only launches.
struct Work {
  gpu::HostCounts recording, launching;
  friend void PrintTo(const Work& w, std::ostream* out) {
    const auto of = [&](gpu::HostWork kind) { return w.launching.done[static_cast<size_t>(kind)]; };
    *out << of(gpu::HostWork::kernel) << " kernels, " << of(gpu::HostWork::product) << " products, "
         << of(gpu::HostWork::copy) << " copies, " << of(gpu::HostWork::clear) << " clears, launched by "
         << w.launching.calls << " calls; " << w.recording.recorded << " recorded";
  }
};

gpu::HostCounts counted(const std::function<void()>& work) {
  const gpu::HostCounts before = gpu::host_counts();
  work();
  gpu::HostCounts counts = gpu::host_counts();
  for (size_t kind = 0; kind < counts.done.size(); ++kind) counts.done[kind] -= before.done[kind];
  counts.recorded -= before.recorded, counts.calls -= before.calls;
  return counts;
}

Work work_of(const LearnerOptions& options) {
  const auto comm = make_serial_communicator();
  Learner gpu = on_gpu(options);
  gpu.iterate(*comm, 0, 1);
  const gpu::HostCounts recording = counted([&] { gpu.iterate(*comm, 1, 2); });
  return {recording, counted([&] { gpu.iterate(*comm, 2, 3); })};
}

LearnerOptions preset(const std::string& task) {
  TrainOptions train;
  LearnerOptions options{task};
  OptionTable table;
  table.section("", "", train);
  table.section("ppo", "", options.ppo);
  table.section("policy", "", options.policy);
  table.apply_ini(std::string(task_preset(task)), "preset");
  options.plan = {train.num_envs, train.num_steps_per_env, 0, 1, 1, options.ppo.num_mini_batches};
  return options;
}

std::string text(const Work& a, const Work& b) { return testing::PrintToString(a) + "\n" + testing::PrintToString(b); }

int64_t done(const Work& work, gpu::HostWork kind) { return work.launching.done[static_cast<size_t>(kind)]; }

// With more mini-batches, the same recordings are launched more often.
TEST(GpuWork, IsRecordedOnceForAllMiniBatches) {
  LearnerOptions options = preset("CartPole-v1");
  options.ppo.num_learning_epochs = 1, options.ppo.num_mini_batches = options.plan.num_mini_batches = 4;
  const Work few = work_of(options);
  options.ppo.num_learning_epochs = 5, options.ppo.num_mini_batches = options.plan.num_mini_batches = 8;
  const Work many = work_of(options);
  constexpr int64_t mini_batches = 5 * 8 - 1 * 4;
  EXPECT_EQ(many.recording.recorded, few.recording.recorded) << text(few, many);
  EXPECT_EQ(many.launching.recorded, 0) << text(few, many);
  EXPECT_EQ(many.launching.calls - few.launching.calls, mini_batches) << text(few, many);
  EXPECT_LE(few.launching.calls, 3 + 4 + 3) << "3 recordings, 4 mini-batches and 3 events; " << text(few, many);
  // Kernels of a mini-batch: rows; forward 2 x (inputs, 3 biases); loss; backward 2 x 13 for the biases; the loss's
  // sums and the gradient's norm in at most 5 stages each; the preparation and the Adam step. Products of each network:
  // 3 forward and 5 backward.
  EXPECT_LE(done(many, gpu::HostWork::kernel) - done(few, gpu::HostWork::kernel),
            mini_batches * (1 + 8 + 1 + 26 + 10 + 2))
      << text(few, many);
  EXPECT_EQ(done(many, gpu::HostWork::product) - done(few, gpu::HostWork::product), mini_batches * 2 * 8)
      << text(few, many);
  EXPECT_EQ(done(many, gpu::HostWork::copy), done(few, gpu::HostWork::copy)) << text(few, many);
  // Other kernels, apart from mini-batches and steps: values of the rollout and of last observations; advantages; sums
  // of these, of episodes and of the state's fingerprint, in at most 5 stages each; the fingerprint's sum and the check
  // for finite numbers; the start of the update.
  EXPECT_LE(done(few, gpu::HostWork::kernel),
            4 * (1 + 8 + 1 + 26 + 10 + 2) + options.plan.num_steps * (1 + 3 + 2) + 2 * 4 + 1 + 3 * 5 + 2 + 1)
      << text(few, many);
}

// Compares with the same number of samples in half as many steps.
TEST(GpuWork, AStepTakesTheActorsKernelsAndTwoMore) {
  LearnerOptions options = preset("CartPole-v1");
  options.ppo.num_learning_epochs = 1;
  const Work many = work_of(options);
  options.plan.num_steps /= 2, options.plan.num_envs *= 2;
  const Work few = work_of(options);
  const int64_t steps = options.plan.num_steps;
  EXPECT_EQ(done(many, gpu::HostWork::kernel) - done(few, gpu::HostWork::kernel), steps * (1 + 3 + 2))
      << text(few, many);
  EXPECT_EQ(done(many, gpu::HostWork::product) - done(few, gpu::HostWork::product), steps * 3) << text(few, many);
  EXPECT_EQ(done(many, gpu::HostWork::copy), done(few, gpu::HostWork::copy)) << text(few, many);
}

#endif

// Off-policy learners with updates from transition 128 on, of a ring that is soon full. `distributional`: their critics
// are residual blocks that learn distributions, from normalised rewards.
template <class Learner>
LearnerOptions off_policy_options(bool distributional = false) {
  LearnerOptions o{"Pendulum-v1"};
  o.policy.actor_hidden_dims = {16, 8}, o.policy.critic_hidden_dims = {12, 8};
  o.policy.distribution = "squashed_gaussian", o.policy.state_dependent_std = std::is_same_v<Learner, Sac>;
  const auto set = [&](auto& options) {
    options.batch_size = 100, options.replay_size = 16 * 20, options.learning_starts = 128, options.n_step = 2;
    options.obs_normalization = true;
    if (distributional) {
      options.residual_critics = options.reward_normalization = true;
      options.atoms = 13, options.value_min = -8, options.value_max = 4;
      o.policy.critic_hidden_dims = {12, 12};
    }
    o.plan = Learner::plan(options, {.num_envs = 16, .num_steps = 12}, task_spec(o.task));
  };
  if constexpr (std::is_same_v<Learner, Sac>) {
    set(o.sac.emplace());
  } else {
    set(o.td3.emplace());
  }
  return o;
}

template <class Learner>
class GpuOffPolicy : public GpuTest {
 protected:
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};
using OffPolicyLearners = testing::Types<Sac, Td3>;
TYPED_TEST_SUITE(GpuOffPolicy, OffPolicyLearners);

TYPED_TEST(GpuOffPolicy, LearnsAsOnTheHost) {
  for (const bool distributional : {false, true})
    expect_learns_as_on_the_host(off_policy_options<TypeParam>(distributional), *this->comm, *this->comm, 4,
                                 [](Learner&, Learner&) {});
}

TYPED_TEST(GpuOffPolicy, ContinuesFromItsState) {
  expect_continues_from_its_state(off_policy_options<TypeParam>(true), *this->comm, 3, 5);
}

}  // namespace
}  // namespace drl
