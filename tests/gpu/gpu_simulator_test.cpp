// Tests environments that the host steps for a learner on a GPU: examples/own_simulator, and robots in lanes.
#include <cstdlib>
#include <string>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "comm/communicator.hpp"
#include "envs/task_libraries.hpp"
#include "envs/wrapped_envs.hpp"
#include "learner_rig.hpp"
#include "simulators.hpp"

namespace drl {
namespace {

using namespace test;

LearnerOptions options_of(bool grpo) {
  LearnerOptions o{"Arm"};
  if (grpo) {
    o.grpo.emplace();
    o.grpo->group_size = 8;
  }
  UpdateOptions& update = o.update();
  update.num_learning_epochs = 2;
  update.num_mini_batches = 4;
  update.obs_normalization = !grpo;
  o.policy.actor_hidden_dims = {16, 8};
  o.policy.critic_hidden_dims = {12};
  o.plan = {48, grpo ? 100 : 24, 0, 1, 1, update.num_mini_batches};
  return o;
}

class GpuSimulator : public GpuTest, public testing::WithParamInterface<bool> {
 protected:
  static void SetUpTestSuite() { register_test_simulators(); }
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

TEST_P(GpuSimulator, LearnsAsOnTheHost) {
  double episodes = 0;
  const auto check = [&](Learner& gpu, Learner& host) {
    EXPECT_FALSE(host.envs->steps_on_host());
    EXPECT_TRUE(gpu.envs->steps_on_host());
    EXPECT_EQ(host.envs->host_speeds(), "");
    expect_mentions(gpu.envs->host_speeds(), {"steps/s", "1 thread"});
    episodes += host.learner->stats().episodes.count;
  };
  expect_learns_as_on_the_host(options_of(GetParam()), *comm, *comm, 8, check);
  EXPECT_GT(episodes, 20);
}

// Expects that a rollout on a GPU queue is bit-identical to one on a host queue for the same actions, both for whole
// steps and for announced halves.
void expect_rows_equal_the_hosts(const std::string& task) {
  constexpr int64_t kEnvs = 70, kSteps = 130;
  const auto collect = [&](std::unique_ptr<Queue> queue, int64_t half, bool announced, bool every_end) {
    const auto envs = make_env(task, {kEnvs, 3, 9, true, {}, 2}, *queue);
    const int obs = envs->spec().obs_dim;
    const Rollout rollout(*queue, envs->spec(), kSteps, kEnvs, every_end);
    const RolloutView& r = rollout.view();
    Array<int64_t> first(*queue, 1);
    const int64_t forty = 40;
    queue->copy(first.data(), &forty, 1);
    envs->reset(*queue, rollout.start_row(), {});
    for (int64_t t = 0; t < kSteps; ++t) {
      std::vector<float> actions;
      for (int64_t k = 0; k < envs->spec().action.size * kEnvs; ++k)
        actions.push_back(static_cast<float>(std::sin(3. * k + 2. * t)));
      queue->copy(r.env_action, actions.data(), actions.size());
      queue->synchronize();
      const std::pair<int64_t, int64_t> parts[] = {{0, half}, {half, kEnvs - half}};
      for (const auto& [begin, count] : parts)
        if (announced) envs->announce_step(*queue, {first.data(), t}, begin, count, rollout.row(t));
      for (const auto& [begin, count] : parts)
        if (count > 0) envs->step(*queue, {first.data(), t}, begin, count, rollout.row(t));
    }
    const size_t columns = episode_columns(envs->spec());
    Array<double> sums(*queue, columns), scratch(*queue, sum_scratch(*queue, static_cast<int>(columns)));
    envs->take_episode_sums(*queue, sums.data(), scratch.data());
    std::vector<double> all = to_host(*queue, sums);
    EXPECT_GT(all[0], 0);
    const auto add = [&](const auto* from, int64_t count) {
      const auto numbers = to_host(*queue, from, static_cast<size_t>(count));
      all.insert(all.end(), numbers.begin(), numbers.end());
    };
    add(r.obs, (kSteps + 1) * kEnvs * obs), add(r.reward, kSteps * kEnvs);
    add(r.terminated, kSteps * kEnvs), add(r.truncated, kSteps * kEnvs);
    const std::vector<int32_t> counts = to_host(*queue, r.last_count, kEnvs);
    all.insert(all.end(), counts.begin(), counts.end());
    for (int64_t env = 0; env < kEnvs; ++env)
      for (int64_t k = 0; k < std::min<int64_t>(counts[static_cast<size_t>(env)], r.last_rows); ++k)
        add(r.last_obs + (k * kEnvs + env) * obs, obs);
    return all;
  };
  for (bool every_end : {false, true}) {
    const std::vector<double> host = collect(make_host_queue(isa_of("auto")), kEnvs, false, every_end);
    EXPECT_EQ(collect(make_gpu_queue(isa_of("auto")), kEnvs, false, every_end), host);
    EXPECT_EQ(collect(make_gpu_queue(isa_of("auto")), 32, true, every_end), host);
  }
}
TEST_F(GpuSimulator, RowsEqualTheHosts) { expect_rows_equal_the_hosts("Arm"); }
#if defined(DRL_TEST_ROBOTS)
TEST_F(GpuSimulator, RowsOfRobotsInLanesEqualTheHosts) {
  setenv("DRL_MODELS", source("src/robots/models").c_str(), 1);
  load_task_library(built("tests/robots/liblanes_robots.so"));
  expect_rows_equal_the_hosts("Carrier");
}
#endif

// Only the update is recorded, not the collection.
TEST_P(GpuSimulator, RecordingsAreBitIdenticalToSingleLaunches) {
  expect_recordings_equal_single_launches(options_of(GetParam()), *comm, 5);
}

TEST_P(GpuSimulator, ContinuesFromItsState) { expect_continues_from_its_state(options_of(GetParam()), *comm, 3, 5); }

INSTANTIATE_TEST_SUITE_P(Algorithms, GpuSimulator, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Grpo" : "Ppo"; });

// Records the order of announced and executed steps. "a32+18@1" announces step 1 of environments [32, 32 + 18), and
// "s32@1" executes it. While one half is stepped, the other half's actions are enqueued.
class Watched final : public WrappedEnvs {
 public:
  using WrappedEnvs::WrappedEnvs;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    calls += "a" + std::to_string(begin) + "+" + std::to_string(count) + "@" + std::to_string(step.offset) + " ";
    wrapped().announce_step(queue, step, begin, count, row);
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    calls += "s" + std::to_string(begin) + "@" + std::to_string(step.offset) + " ";
    wrapped().step(queue, step, begin, count, row);
  }
  std::string calls;
};

TEST_F(GpuSimulator, StepsOneHalfWhileTheGpuChoosesTheOthersActions) {
  const auto queue = make_gpu_queue(isa_of("auto"));
  const PolicySpec spec = policy_spec(task_spec("Arm"), {});
  const auto nets = make_gpu_nets(*queue, spec.layout, 200);
  Watched envs(make_env("Arm", {50, 0, 1, true}, *queue));
  Rollout rollout(*queue, envs.spec(), 3, 50);
  Array<float> params(*queue, static_cast<size_t>(spec.layout.size()));
  Array<int64_t> first(*queue, 1);
  Actor actor(*queue, *nets, spec, params.data(), {});
  Collector collector(actor, envs, rollout, {ActionChoice::sample, 1, 0});
  envs.reset(*queue, rollout.start_row(), {});
  collector.collect(first.data());
  EXPECT_EQ(envs.calls, "a0+32@0 a32+18@0 s0@0 a0+32@1 s32@0 a32+18@1 s0@1 a0+32@2 s32@1 a32+18@2 s0@2 s32@2 ");
}

#if defined(DRL_GPU_RUNTIME)

// The second iteration records the update, and the third launches the recording with one call per mini-batch.
TEST_F(GpuSimulator, TheUpdateIsRecorded) {
  const auto launched = [&](int epochs) {
    LearnerOptions options = options_of(false);
    options.ppo.num_learning_epochs = epochs;
    Learner gpu = on_gpu(options);
    gpu.iterate(*comm, 0, 1);
    const int64_t before = gpu::host_counts().recorded;
    gpu.iterate(*comm, 1, 2);
    EXPECT_GT(gpu::host_counts().recorded, before);
    const int64_t recorded = gpu::host_counts().recorded, calls = gpu::host_counts().calls;
    gpu.iterate(*comm, 2, 3);
    EXPECT_EQ(gpu::host_counts().recorded, recorded);
    return gpu::host_counts().calls - calls;
  };
  // The tolerance is for work at the end of episodes.
  EXPECT_NEAR(static_cast<double>(launched(6) - launched(1)), 5 * 4, 8);
}

#endif

}  // namespace
}  // namespace drl
