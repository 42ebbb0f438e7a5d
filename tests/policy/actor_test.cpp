#include "policy/actor.hpp"

#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "nets/fused/fused_nets.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kRows = 40;

// A policy of one layer, whose outputs are easily computed by hand.
PolicySpec linear(const TaskSpec& task, const std::string& std_type = "log") {
  PolicyOptions options;
  options.actor_hidden_dims = options.critic_hidden_dims = {};
  options.std_type = std_type;
  return policy_spec(task, options);
}

struct Acting {
  Acting(const TaskSpec& task, const std::string& std_type, Isa isa)
      : spec(linear(task, std_type)), queue(make_host_queue(isa)), nets(make_fused_nets(*queue, spec.layout, 1)) {
    params.resize(static_cast<size_t>(spec.layout.size()));
    Random random(3);
    obs = uniforms(random, kRows * task.obs_dim, -2, 2), mean = uniforms(random, task.obs_dim, -1, 1);
    inv_std = uniforms(random, task.obs_dim, 0.5, 2);
    fill_uniform(params, random, -0.4, 0.4);
    if (spec.std >= 0) std::fill_n(params.begin() + spec.std_offset(), task.action.size, 0.5f);
    actor.emplace(*queue, *nets, spec, params.data(), NormalizerView{mean.data(), inv_std.data(), 1.5f});
  }
  // Returns outputs [kRows, outputs], actions and their log-probabilities, one after the other.
  std::vector<float> act(ActionChoice choice) {
    const auto rows = static_cast<size_t>(kRows);
    std::vector<float> out(rows * static_cast<size_t>(spec.actor_net().outputs())), env_action(out.size()),
        log_prob(rows), all;
    std::vector<std::byte> action(4 * out.size());
    const ActionRow row{obs.data(), out.data(), action.data(), env_action.data(), log_prob.data()};
    for (const int64_t begin : {0, 16}) actor->act(row, {choice, 9, 0}, {nullptr, 4}, begin, begin ? 24 : 16);
    for (const auto* part : {&out, &env_action, &log_prob}) all.insert(all.end(), part->begin(), part->end());
    return all;
  }

  PolicySpec spec;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Nets> nets;
  std::vector<float> params, obs, mean, inv_std;
  std::optional<Actor> actor;
};

// The outputs are weight * normalised observation + bias, and the most probable actions are the means, clipped to the
// bounds.
TEST(Actor, NormalizesObservationsAndClipsActions) {
  Acting a(gaussian_task(3, 2, 0.3f), "log", available_isas().back());
  const std::vector<float> all = a.act(ActionChoice::most_probable);
  const ParamSlice &weight = a.spec.layout.weight(a.spec.actor, 0), &bias = a.spec.layout.bias(a.spec.actor, 0);
  int clipped = 0;
  for (size_t i = 0; i < kRows; ++i)
    for (size_t o = 0; o < 2; ++o) {
      double expected = a.params[static_cast<size_t>(bias.offset) + o];
      for (size_t k = 0; k < 3; ++k)
        expected += double{a.params[static_cast<size_t>(weight.offset) + 3 * o + k]} *
                    std::clamp((double{a.obs[3 * i + k]} - a.mean[k]) * a.inv_std[k], -1.5, 1.5);
      EXPECT_NEAR(all[2 * i + o], expected, 1e-5);
      EXPECT_EQ(all[2 * kRows + 2 * i + o], std::clamp(all[2 * i + o], -0.3f, 0.3f));
      clipped += std::abs(expected) > 0.3;
    }
  EXPECT_GT(clipped, 10);
}

// The parameter is the logarithm of the standard deviation, or the standard deviation itself. begin() takes it over,
// and it stays as it is while the parameters change.
TEST(Actor, KeepsTheStdOfTheLastBegin) {
  for (const char* type : {"log", "scalar"}) {
    const PolicySpec spec = linear(gaussian_task(1, 3, 2.5f), type);
    EXPECT_EQ(slice(spec.layout, spec.log_std ? "policy/log_std" : "policy/std").offset, spec.std_offset());
    in_every_way([&](const Loops& loops) {
      const std::unique_ptr<Nets> nets = make_fused_nets(loops.queue(), spec.layout, 1);
      std::vector<float> params(static_cast<size_t>(spec.layout.size()), spec.log_std ? std::log(0.5f) : 0.5f);
      Actor actor(loops.queue(), *nets, spec, params.data(), {});
      const auto& gaussian = std::get<Gaussian>(actor.distribution());
      EXPECT_EQ(gaussian.low[2], -2.5f);
      EXPECT_EQ(gaussian.high[2], 2.5f);
      actor.begin();
      for (float& p : params) p += 1;
      std::vector<float> std(actor.std().begin(), actor.std().end());
      for (float x : std) EXPECT_NEAR(x, 0.5, 1e-6);
      return std;
    });
  }
}

// With one observation x and the weights (1, 0.5), the mean is x and the logarithm of the standard deviation x / 2. The
// logarithm stays within those of its bounds, 0.5 and 1.5.
TEST(Actor, SamplesWithTheStdOfTheObservation) {
  PolicyOptions options;
  options.actor_hidden_dims = options.critic_hidden_dims = {};
  options.state_dependent_std = true, options.std_min = 0.5, options.std_max = 1.5;
  const TaskSpec task = gaussian_task(1, 1);
  const PolicySpec spec = policy_spec(task, options);
  EXPECT_EQ(spec.actor_net().outputs(), 2);
  EXPECT_EQ(spec.std, -1);
  constexpr int64_t envs = 40000;
  for (const auto& [x, std] : {std::pair{0.0f, 1.0}, {0.4f, std::exp(0.2)}, {3.0f, 1.5}, {-3.0f, 0.5}}) {
    const std::vector<float> all = in_every_way([&, x = x](const Loops& loops) {
      const std::unique_ptr<Nets> nets = make_fused_nets(loops.queue(), spec.layout, 1);
      std::vector<float> params(static_cast<size_t>(spec.layout.size()));
      const auto at = static_cast<size_t>(spec.layout.weight(spec.actor, 0).offset);
      params[at] = 1, params[at + 1] = 0.5f;
      Actor actor(loops.queue(), *nets, spec, params.data(), {});
      std::vector<float> obs(envs, x), out(2 * envs), actions(2 * envs), log_prob(envs);
      const ActionRow row{obs.data(), out.data(), reinterpret_cast<std::byte*>(actions.data()), actions.data() + envs,
                          log_prob.data()};
      actor.act(row, {ActionChoice::sample, 9, 0}, {nullptr, 4}, 0, envs);
      actions.insert(actions.end(), log_prob.begin(), log_prob.end());
      return actions;  // sampled, clipped to infinite bounds, and their log-probabilities
    });
    double sum = 0, squares = 0;
    for (size_t i = 0; i < envs; ++i) {
      sum += all[i] - x, squares += (all[i] - x) * (all[i] - x);
      EXPECT_NEAR(all[2 * envs + i], gaussian_log_prob(all[i], x, std), 1e-4);
    }
    EXPECT_NEAR(sum / envs, 0, 5 * std / std::sqrt(envs)) << x;
    EXPECT_NEAR(std::sqrt(squares / envs), std, 5 * std / std::sqrt(2 * envs)) << x;
  }
}

TEST(Actor, HasTheDistributionOfItsActions) {
  TaskSpec task = categorical_task(1, 5);
  task.action.heads = {2, 3};
  Acting a(task, "log", available_isas().back());
  const auto& categorical = std::get<Categorical>(a.actor->distribution());
  EXPECT_EQ(categorical.size, 5);
  EXPECT_EQ(categorical.heads, 2);
  ASSERT_NE(categorical.counts, nullptr);
  EXPECT_EQ(categorical.counts[1], 3);
  EXPECT_EQ(a.actor->std().size(), 0u);
}

// New parameters take effect with repack().
TEST(Actor, ActsWithTheRepackedParameters) {
  Acting a(gaussian_task(3, 2), "log", available_isas().back());
  const std::vector<float> before = a.act(ActionChoice::most_probable);
  for (float& p : a.params) p *= 2;
  a.actor->repack();
  const std::vector<float> after = a.act(ActionChoice::most_probable);
  for (size_t i = 0; i < 2 * kRows; ++i) EXPECT_NEAR(after[i], 2 * before[i], 1e-5);
}

}  // namespace
}  // namespace drl
