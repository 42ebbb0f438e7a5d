// Data-parallel learning on GPUs, 1, 2 and 4 ranks: as the CPU's ranks learn, with equal replicas.
#include <cmath>
#include <cstring>

#include "algorithm_state.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/torch/torch_nets.hpp"
#include "envs/make_env.hpp"
#include "learn/gpu_ppo.hpp"
#include "nccl_rig.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kEnvs = 64, kSteps = 16;  // environments of all ranks together
constexpr uint64_t kSeed = 5;

struct Training {
  explicit Training(const std::string& task_name) : task(task_spec(task_name)) {
    ppo.num_learning_epochs = 2;
    ppo.obs_normalization = true;
    policy.actor_hidden_dims = policy.critic_hidden_dims = {16, 16};
    const int64_t share = kEnvs / world().size();
    plan = {share, kSteps, world().rank(), world().size(), 4, ppo.num_mini_batches};
    envs = {share, world().rank() * share, kSeed, true};
    network = network_spec(task, policy);
  }
  TaskSpec task;
  PpoOptions ppo;
  PolicyOptions policy;
  BatchPlan plan;
  EnvConfig envs;
  NetworkSpec network;
};

class GpuParallel : public NcclTest, public testing::WithParamInterface<std::string> {};

TEST_P(GpuParallel, RanksLearnAsThoseOfTheCpuDo) {
  Training setup(GetParam());
  const auto envs = make_env(GetParam(), setup.envs);
  const auto engine = make_torch_engine(setup.network, 1);
  Ppo cpu(setup.ppo, setup.policy, setup.plan, kSeed, *envs, *engine);

  const auto comm = connect();
  const auto gpu_envs = make_gpu_env(GetParam(), setup.envs, *stream);
  const auto gpu_engine = make_gpu_engine(setup.network, *stream);
  GpuPpo gpu(setup.ppo, setup.policy, setup.plan, kSeed, true, *gpu_envs, *gpu_engine, *stream);

  State cpu_state(cpu), gpu_state(gpu);
  for (int64_t i = 0; i < 3; ++i) {  // kernel by kernel, captured, replayed
    std::vector<double> mine(static_cast<size_t>(world().size())), same = mine;
    mine[static_cast<size_t>(world().rank())] = same[static_cast<size_t>(world().rank())] = 1.0 + world().rank();
    cpu.iterate(i, world(), mine);
    gpu.iterate(i, *comm, same);
    EXPECT_EQ(same, mine) << "every rank's rider reaches all";
    const IterationStats &a = gpu.stats(), &b = cpu.stats();
    EXPECT_NEAR(a.value_loss, b.value_loss, 1e-2 * b.value_loss);
    EXPECT_NEAR(a.kl, b.kl, 2e-2 * b.kl + 1e-7);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-2 * b.gradient_norm);
    EXPECT_EQ(a.learning_rate, b.learning_rate);
    EXPECT_EQ(a.episodes.count, b.episodes.count);

    const std::span<const float> params = gpu.parameters();
    double difference = 0;
    for (size_t k = 0; k < params.size(); ++k)
      difference = std::max(difference, std::abs(static_cast<double>(params[k]) - cpu.parameters()[k]));
    EXPECT_LT(difference, 1e-3) << "after iteration " << i;
    // Every replica has the same bits.
    const std::vector<std::byte> all = world().gather(std::as_bytes(params), 0);
    for (size_t at = 0; at < all.size(); at += params.size_bytes())
      EXPECT_EQ(std::memcmp(&all[at], params.data(), params.size_bytes()), 0);

    // What differs by rounding shall not add up to other actions.
    gpu.state_needed();
    gpu_state.copy_from(cpu_state);
    gpu.state_changed();
  }
  EXPECT_EQ(comm->stats().all_reduces_f64, 3);
  EXPECT_EQ(comm->stats().all_reduces_f32, 3 * 2 * 4);
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuParallel, testing::Values("CartPole-v1", "Pendulum-v1"), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace drl
