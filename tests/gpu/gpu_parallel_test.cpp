// Tests that data-parallel learning on GPUs, with 1, 2 and 4 ranks, equals learning on hosts, and that all replicas are
// equal.
#include <algorithm>
#include <vector>

#include "../support/mentions.hpp"
#include "learner_rig.hpp"
#include "nccl_rig.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kEnvs = 64, kSteps = 16;  // kEnvs is the number on all ranks together

struct Case {
  std::string name, task;
  bool grpo = false, every_option = false, fused = false;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

LearnerOptions options_of(const Case& c) {
  LearnerOptions o{c.task};
  if (c.grpo) {
    o.grpo.emplace();
    o.grpo->group_size = 4, o.grpo->kl_coef = 0.1, o.grpo->reference_interval = 2;
  }
  o.update().num_learning_epochs = 2;
  o.update().obs_normalization = true;
  if (c.every_option) every_option(o);
  o.policy.actor_hidden_dims = o.policy.critic_hidden_dims = {16, 16};
  if (c.fused) {
    o.fused = FusedPrecision::fp32;
    o.policy.actor_hidden_dims = o.policy.critic_hidden_dims = {32, 32};
    o.ppo.rnd.weight = 2;  // its gradient follows in the same all-reduce
  }
  o.plan = {kEnvs / world().size(), kSteps, world().rank(), world().size(), 4, o.update().num_mini_batches};
  return o;
}

void expect_equal_on_all_ranks(Learner& learner) {
  const std::span<const std::byte> params = std::as_bytes(learner.learner->policy().params);
  const std::vector<std::byte> all = world().gather(params, 0);
  for (size_t at = 0; at < all.size(); at += params.size())
    EXPECT_TRUE(std::equal(params.begin(), params.end(), all.begin() + static_cast<ptrdiff_t>(at)))
        << "rank " << at / params.size();
}

class GpuParallelOnRanks : public NcclTest, public testing::WithParamInterface<Case> {};

// Iteration 0 launches single kernels, 1 records, and 2 and 3 launch the recordings.
TEST_P(GpuParallelOnRanks, LearnsAsOnTheHost) {
  const auto comm = connect();
  expect_learns_as_on_the_host(options_of(GetParam()), world(), *comm, 4,
                               [](Learner& gpu, Learner&) { expect_equal_on_all_ranks(gpu); });
  EXPECT_EQ(comm->stats().all_reduces_f64, 4);
  EXPECT_EQ(comm->stats().all_reduces_f32, 4 * 2 * 4);
}

TEST_P(GpuParallelOnRanks, RecordingsAreBitIdenticalToSingleLaunches) {
  expect_recordings_equal_single_launches(options_of(GetParam()), *connect(), 4);
}

// If one rank cannot record, no rank launches recordings: otherwise they would enqueue collectives in different orders.
TEST_P(GpuParallelOnRanks, IfOneRankCannotRecordAllLaunchOneKernelAtATime) {
  LearnerOptions options = options_of(GetParam());
  const auto comm = connect();
  Learner plain = on_gpu(options);
  plain.iterate(*comm, 0, 4);
  for (Fault fault : {Fault::waits_in_step, Fault::waits_in_backward}) {
    if (GetParam().fused && fault == Fault::waits_in_backward) continue;  // the engine has no separate backward pass
    options.fault = world().rank() + 1 == world().size() ? fault : Fault::none;
    Learner one_faulty = on_gpu(options);
    one_faulty.iterate(*comm, 0, 3);
#if defined(DRL_GPU_RUNTIME)
    const gpu::HostCounts before = gpu::host_counts();
#endif
    one_faulty.iterate(*comm, 3, 4);
#if defined(DRL_GPU_RUNTIME)
    int64_t all = 0;
    for (size_t kind = 0; kind < before.done.size(); ++kind) all += gpu::host_counts().done[kind] - before.done[kind];
    EXPECT_EQ(gpu::host_counts().calls - before.calls, all) << "a recording was launched";
#endif
    EXPECT_EQ(one_faulty.bytes(), plain.bytes());
  }
}

#if defined(DRL_GPU_RUNTIME)
// An error of NCCL during a recording is the run's error. It is not taken for work that cannot be recorded, about which
// the ranks would have to agree by another collective.
TEST_P(GpuParallelOnRanks, AnErrorOfNcclWhileRecordingIsReported) {
  const auto comm = connect();
  Learner learner = on_gpu(options_of(GetParam()));
  learner.iterate(*comm, 0, 1);
  gpu::host_collectives().enqueue_polls = 1;
  gpu::host_collectives().error = gpucclSystemError;
  std::string message;
  try {
    learner.iterate(*comm, 1, 2);
  } catch (const Error& error) {
    message = error.what();
  }
  gpu::host_collectives().enqueue_polls = 0;
  gpu::host_collectives().error = gpucclSuccess;
  expect_mentions(message, {"NCCL failed", "unhandled system error"});
}
#endif

INSTANTIATE_TEST_SUITE_P(Cases, GpuParallelOnRanks,
                         testing::Values(Case{"CartPoleV1", "CartPole-v1"}, Case{"Pendulum", "Pendulum-v1"},
                                         Case{"EveryOption", "Pendulum-v1", false, true},
                                         Case{"GrpoCartPoleV1", "CartPole-v1", true},
                                         Case{"Fused", "Pendulum-v1", false, false, true},
                                         Case{"FusedGrpo", "CartPole-v1", true, false, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
