#include "algorithms/collector.hpp"

#include <gtest/gtest.h>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "envs/make_env.hpp"
#include "nets/torch/torch_nets.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kEnvs = 1500, kSteps = 3, kFirstEnv = 100;  // more environments than a tile
constexpr uint64_t kSeed = 1;

struct Collection {
  Collection(const std::string& task, ActionChoice choice, Isa isa = available_isas().back())
      : queue(make_host_queue(isa)),
        env(make_env(task, {kEnvs, kFirstEnv, kSeed, true}, *queue)),
        spec(policy_spec(env->spec(), {})),
        nets(make_torch_nets(*queue, spec.layout, 1)),
        params(static_cast<size_t>(spec.layout.size())),
        actor(*queue, *nets, spec, params.data(), {}),
        rollout(*queue, env->spec(), kSteps, kEnvs),
        collector(actor, *env, rollout, {choice, kSeed, kFirstEnv}) {
    initialize_parameters(spec, {}, kSeed, params);
    actor.repack();
    env->reset(*queue, rollout.start_row(), {});
    collector.collect(&first_step);
  }
  template <class T = float>
  std::vector<T> numbers(const void* from, int64_t count) const {
    return {static_cast<const T*>(from), static_cast<const T*>(from) + count};
  }

  int64_t first_step = 7;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> env;
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::vector<float> params;
  Actor actor;
  Rollout rollout;
  Collector collector;
  const RolloutView& r = rollout.view();
};

class CollectorOn : public testing::TestWithParam<const char*> {};

// Each row's policy outputs must be the actor's outputs for that row's observations. Its actions must be the policy's
// samples for the environments' global indices and lifetime step.
TEST_P(CollectorOn, EveryRowHasItsPolicyOutputsAndActions) {
  Collection c(GetParam(), ActionChoice::sample);
  const RolloutView& r = c.r;
  const at::Tensor obs = as_double({r.obs, static_cast<size_t>(r.samples() * r.obs_dim)}).reshape({-1, r.obs_dim});
  expect_close({r.policy_out, static_cast<size_t>(r.samples() * r.out_size)},
               mlp(c.spec.layout, c.spec.actor, as_double(c.params), obs), 1e-5, "policy_out");
  for (float std : c.actor.std()) EXPECT_FLOAT_EQ(std, 1);
  std::vector<float> env_action(static_cast<size_t>(kEnvs * r.out_size));
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        using Action = typename Policy::Action;
        const auto* action = reinterpret_cast<const Action*>(r.action);
        std::vector<Action> expected(static_cast<size_t>(kEnvs * policy.action_size()));
        for (int64_t t = 0; t < kSteps; ++t)
          for (int64_t i = 0; i < kEnvs; ++i) {
            const ActionNoise noise{kSeed, kFirstEnv, static_cast<uint64_t>(7 + t)};
            const float log_prob = policy.template sample<float>(noise, r.policy_out + t * kEnvs * r.out_size, i,
                                                                 expected.data(), env_action.data());
            ASSERT_EQ(r.log_prob[t * kEnvs + i], log_prob);
            ASSERT_EQ(action[(t * kEnvs + i) * policy.action_size()], expected[i * policy.action_size()]);
          }
      },
      c.actor.distribution());
  EXPECT_EQ(c.first_step, 7);
}

TEST_P(CollectorOn, ChoosesTheMostProbableActions) {
  const Collection c(GetParam(), ActionChoice::most_probable);
  const auto* out = c.r.policy_out;
  if (std::string(GetParam()) == "Cartpole")
    EXPECT_EQ(c.numbers(c.r.action, c.r.samples()), c.numbers(out, c.r.samples()));
  else
    for (int64_t i = 0; i < c.r.samples(); ++i)
      EXPECT_EQ(reinterpret_cast<const int32_t*>(c.r.action)[i], out[2 * i + 1] > out[2 * i]);
}

TEST_P(CollectorOn, IsBitIdenticalOnEveryInstructionSet) {
  std::vector<float> expected;
  for (Isa isa : available_isas()) {
    const Collection c(GetParam(), ActionChoice::sample, isa);
    std::vector<float> all = c.numbers(c.r.obs, (c.r.samples() + kEnvs) * c.r.obs_dim);
    for (const float* numbers : {c.r.log_prob, c.r.reward}) all.insert(all.end(), numbers, numbers + c.r.samples());
    if (expected.empty()) expected = all;
    EXPECT_EQ(all, expected) << name_of(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, CollectorOn, testing::Values("Cartpole", "CartPole-v1"), [](const auto& info) {
  return std::string(info.param) == "Cartpole" ? "Gaussian" : "Categorical";
});

}  // namespace
}  // namespace drl
