// Compares GRPO's gradient and loss sums of a mini-batch with autograd of an independent implementation in libtorch.
#include <gtest/gtest.h>

#include <optional>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/libtorch_policy.hpp"
#include "../support/random_env.hpp"
#include "../support/set_options.hpp"
#include "algorithms/grpo/grpo.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, options;  // those that differ from Example's: "policy.activation=tanh ..."
  TaskSpec task;
  int64_t steps = 5, envs = 500;
};

struct Example {
  explicit Example(const Case& c) : env(c.task, c.envs) {
    policy.actor_hidden_dims = {16, 24};
    policy.init_std = 0.8;
    options.num_learning_epochs = 2;
    options.schedule = "fixed";
    options.learning_rate = 0.01;
    options.clip_param = 0.03, options.entropy_coef = 0.02;
    options.entropy_coef_end = 0.1, options.anneal_iterations = 4;  // 0.04 at iteration 1
    options.reference_interval = 0;
    options.obs_normalization = true;
    OptionTable table;
    table.section("policy", "", policy);
    table.section("grpo", "", options);
    set_options(table, c.options);
    spec = policy_spec(env.spec(), policy, options.normalizer(), false);
    nets = make_torch_nets(*queue, spec.layout, 1);
    grpo.emplace(LearnerParts{*queue, policy, BatchPlan{c.envs, c.steps, 0, 1, 1, 1}, 1, spec, *nets, env}, options);
  }
  RandomEnv env;
  PolicyOptions policy;
  GrpoOptions options;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::optional<Grpo> grpo;
};

// The loss and its gradient with libtorch. The mini-batch is the whole rollout; the parameters are the current ones,
// those at the time the actions were chosen, and the reference policy's.
struct Autograd : LibtorchPolicy {
  Autograd(Example& s, const at::Tensor& old_params, const at::Tensor& reference_params)
      : LibtorchPolicy{s.spec, s.env.spec().action, s.grpo->rollout()} {
    const GrpoOptions& o = s.options;
    const at::Tensor obs = normalized(rows(r.obs, r.obs_dim), s.grpo->host_normalizers().obs);
    flat = as_double(s.grpo->host_parameters()).set_requires_grad(true);
    const auto terms_of = [&](const at::Tensor& params) {
      return evaluate(mlp(spec.layout, spec.actor, params, obs), actions(), params, old_params);
    };
    const auto [log_prob, kl, entropy] = terms_of(flat);
    const at::Tensor reference = terms_of(reference_params).log_prob;

    // [T, N]: 1 up to the step that ends the first episode.
    const at::Tensor goes_on = 1 - flags(r.terminated) - flags(r.truncated);
    const at::Tensor played = at::cat({at::ones({1, r.num_envs}, at::kDouble), goes_on.slice(0, 0, -1).cumprod(0)});
    const at::Tensor returns =
        (rows(r.reward, 1).reshape({r.num_steps, r.num_envs}) * played).sum(0).reshape({-1, o.group_size});
    const at::Tensor advantage = ((returns - returns.mean(1, true)) / (returns.std(1, true, true) + 1e-4))
                                     .reshape({1, r.num_envs})
                                     .expand({r.num_steps, r.num_envs})
                                     .reshape({-1});
    const at::Tensor weight = played.reshape({-1});

    const at::Tensor ratio = (log_prob - rows(r.log_prob, 1).squeeze(1)).exp();
    const at::Tensor limited = ratio.clamp(1 - o.clip_param, 1 + o.clip_param);
    const at::Tensor surrogate = -at::min(advantage * ratio, advantage * limited);
    const at::Tensor k3 = (reference - log_prob).exp() - (reference - log_prob) - 1;
    for (const at::Tensor& x : {at::ones_like(weight), kl, surrogate, entropy, (ratio != limited).to(at::kDouble), k3})
      sums.push_back((x * weight).sum().item<double>());
    ((surrogate + o.kl_coef * k3 - 0.04 * entropy) * weight).sum().backward();
  }

  at::Tensor flags(const uint8_t* x) const {
    return at::from_blob(const_cast<uint8_t*>(x), {r.num_steps, r.num_envs}, at::kByte).to(at::kDouble);
  }
  at::Tensor flat;
  std::vector<double> sums;  // the number of samples, the KL, and then the order of GrpoColumn
};

class GrpoGradientOf : public testing::TestWithParam<Case> {};

// Compares in the second pass over the second rollout. There the policy differs from the one that acted, and more from
// the reference, and observations are normalised.
TEST_P(GrpoGradientOf, EqualsAutogradOfTheSameLoss) {
  const Case& c = GetParam();
  Example s(c);
  at::Tensor first_params, old_params;
  int reductions = 0;
  Listener comm([&](std::span<const float> gradient_and_tail) {
    if (++reductions != 4) return;
    const size_t size = s.grpo->host_parameters().size();
    const std::span<const float> tail = gradient_and_tail.subspan(size);
    const Autograd expected(s, old_params, s.options.kl_coef > 0 ? first_params : old_params);
    expect_close_in_each_slice(s.spec.layout, gradient_and_tail.first(size), expected.flat.grad());
    const double n = expected.sums[kSamples];
    EXPECT_EQ(tail[kSamples], n);
    EXPECT_LT(n, 0.8 * static_cast<double>(c.steps * c.envs)) << "too few steps are after the end of an episode";
    for (int column = kKl; column < GrpoColumn::count; ++column) {
      if (column == GrpoColumn::clipped) continue;
      if (column == GrpoColumn::reference_kl && s.options.kl_coef == 0) continue;
      EXPECT_NEAR(tail[column], expected.sums[static_cast<size_t>(column)], 1e-5 * n) << column;
    }
    EXPECT_NEAR(tail[GrpoColumn::clipped], expected.sums[GrpoColumn::clipped],
                1);  // one ratio may be within rounding of the clip range
    EXPECT_GT(tail[GrpoColumn::clipped], 0.05 * n);
    EXPECT_LT(tail[GrpoColumn::clipped], 0.95 * n);
  });
  first_params = as_double(s.grpo->host_parameters()).clone();
  for (int iteration : {0, 1}) {
    old_params = as_double(s.grpo->host_parameters()).clone();
    s.grpo->iterate(iteration, comm);
  }
  EXPECT_EQ(reductions, 4);
}

// The numbers of samples are around the tile size of 1024.
INSTANTIATE_TEST_SUITE_P(
    Networks, GrpoGradientOf,
    testing::Values(Case{"GaussianElu", "grpo.group_size=4 grpo.kl_coef=0.5", gaussian_task(5, 3)},
                    Case{"GaussianTanhScalar",
                         "policy.activation=tanh policy.std_type=scalar grpo.group_size=2 grpo.kl_coef=0.1",
                         gaussian_task(5, 1), 4, 256},
                    Case{"GaussianReluNoReference", "policy.activation=relu grpo.group_size=41 grpo.kl_coef=0",
                         gaussian_task(5, 2), 5, 205},
                    Case{"CategoricalElu", "grpo.group_size=3 grpo.kl_coef=0.5", categorical_task(5, 3), 3, 684},
                    Case{"CategoricalTanh", "policy.activation=tanh grpo.group_size=16 grpo.kl_coef=0.2",
                         categorical_task(5, 2), 20, 32}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
