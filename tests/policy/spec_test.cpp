#include "policy/spec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

using namespace test;

PolicyOptions policy(std::vector<int> actor, std::vector<int> critic, const std::string& init) {
  PolicyOptions options;
  options.actor_hidden_dims = std::move(actor);
  options.critic_hidden_dims = std::move(critic);
  options.init = init;
  options.init_std = 0.5;
  return options;
}

std::vector<float> parameters(const PolicySpec& spec, const PolicyOptions& options, uint64_t seed) {
  std::vector<float> params(static_cast<size_t>(spec.layout.size()), 77);
  initialize_parameters(spec, options, seed, params);
  return params;
}

TEST(PolicySpec, LayoutIsActorStdCritic) {
  const PolicySpec spec = policy_spec(gaussian_task(3, 2), policy({5}, {4, 6}, "uniform"));
  const std::vector<std::string> names = {"actor/0/weight", "actor/0/bias",    "actor/1/weight", "actor/1/bias",
                                          "log_std",        "critic/0/weight", "critic/0/bias",  "critic/1/weight",
                                          "critic/1/bias",  "critic/2/weight", "critic/2/bias"};
  const std::vector<std::vector<int64_t>> shapes = {{5, 3}, {5},    {2, 5}, {2},    {2}, {4, 3},
                                                    {4},    {6, 4}, {6},    {1, 6}, {1}};
  ASSERT_EQ(spec.layout.slices().size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(spec.layout.slices()[k].name, "policy/" + names[k]);
    EXPECT_EQ(spec.layout.slices()[k].shape, shapes[k]);
  }
  EXPECT_EQ(spec.layout.count(), 15 + 5 + 10 + 2 + 2 + 12 + 4 + 24 + 6 + 6 + 1);
  EXPECT_EQ(spec.std_offset(), 16 + 8 + 12 + 4);  // slices are padded to multiples of four
  EXPECT_EQ(spec.first_critic_parameter(), 44);
}

// Only the bounds that the task leaves open change.
TEST(PolicySpec, ActionLimitBoundsActionsThatHaveNone) {
  TaskSpec task = gaussian_task(3, 2);
  const float none = std::numeric_limits<float>::infinity();
  task.action.low = {-none, -1}, task.action.high = {5, none};
  PolicyOptions options = policy({}, {2}, "uniform");
  options.distribution = "squashed_gaussian";
  EXPECT_THROW(policy_spec(task, options), UsageError);
  options.action_limit = 3;
  const PolicySpec spec = policy_spec(task, options);
  EXPECT_EQ(spec.action.low, (std::vector<float>{-3, -1}));
  EXPECT_EQ(spec.action.high, (std::vector<float>{5, 3}));
}

TEST(PolicySpec, CategoricalPolicyHasNoStdAndTheCriticMayHaveItsOwnInput) {
  TaskSpec task = categorical_task(3, 4);
  task.critic_obs_dim = 7;
  const PolicySpec spec = policy_spec(task, policy({}, {2}, "uniform"));
  EXPECT_EQ(spec.std, -1);
  EXPECT_EQ(spec.layout.weight(spec.actor, 0).shape, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(spec.layout.weight(spec.critic, 0).shape, (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(spec.first_critic_parameter(), 16);
}

// A policy normalises observations only if it has a rule, and the critic's only if the critic has its own.
TEST(PolicySpec, NormalizesTheObservationsThatItHas) {
  TaskSpec task = gaussian_task(3, 1);
  EXPECT_EQ(policy_spec(task, {}).normalized(), 0);
  EXPECT_EQ(policy_spec(task, {}, NormalizerRule{}).normalized(), 3);
  EXPECT_EQ(policy_spec(task, {}, NormalizerRule{}).normalized_of_critic(), 0);
  task.critic_obs_dim = 7;
  EXPECT_EQ(policy_spec(task, {}).normalized_of_critic(), 0);
  EXPECT_EQ(policy_spec(task, {}, NormalizerRule{}).normalized_of_critic(), 7);
  EXPECT_EQ(policy_spec(task, {}, NormalizerRule{}, false).normalized_of_critic(), 0);
}

TEST(PolicySpec, UsesTheActivationFromTheOptions) {
  PolicyOptions options;
  for (const auto& [name, activation] : {std::pair{"elu", Activation::elu},
                                         {"tanh", Activation::tanh},
                                         {"relu", Activation::relu},
                                         {"silu", Activation::silu},
                                         {"swish", Activation::silu},
                                         {"gelu", Activation::gelu}}) {
    options.activation = name;
    const PolicySpec spec = policy_spec(gaussian_task(1, 1), options);
    EXPECT_EQ(spec.layout.net(spec.actor).layers.front().activation, activation);
    EXPECT_EQ(spec.layout.net(spec.critic).layers.front().activation, activation);
  }
}

// A uniform distribution in +-bound, with bound = 1/sqrt(inputs), has mean 0 and variance bound^2 / 3.
TEST(InitializeParameters, UniformWeightsHaveTheirBoundsMeanAndVariance) {
  const PolicyOptions options = policy({256}, {128}, "uniform");
  const PolicySpec spec = policy_spec(gaussian_task(16, 3), options);
  const std::vector<float> params = parameters(spec, options, 1);
  int fan_in = 0;
  for (const ParamSlice& s : spec.layout.slices()) {
    if (s.name == "policy/log_std") {
      for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(params[s.offset + i], std::log(0.5), 1e-7);
      continue;
    }
    if (s.shape.size() == 2) fan_in = static_cast<int>(s.shape[1]);  // also for the bias that follows
    const double bound = 1 / std::sqrt(fan_in), n = static_cast<double>(s.count());
    double largest = 0, sum = 0, squares = 0;
    for (int64_t i = s.offset; i < s.offset + s.count(); ++i) {
      largest = std::max(largest, std::abs(double{params[i]}));
      sum += params[i], squares += double{params[i]} * params[i];
    }
    EXPECT_LE(largest, bound * (1 + 1e-6)) << s.name;
    EXPECT_NEAR(sum / n, 0, 5 * bound / std::sqrt(3 * n)) << s.name;
    if (n < 100) continue;
    EXPECT_GT(largest, 0.95 * bound) << s.name;
    EXPECT_NEAR(squares / n, bound * bound / 3, 5 * bound * bound * std::sqrt(4.0 / 45 / n)) << s.name;
  }
}

// As in rsl_rl, beta = 1 + softplus(0) for all observations in the beginning.
TEST(InitializeParameters, TheBetaOfABetaDistributionBeginsAlikeForAllObservations) {
  PolicyOptions options = policy({8}, {8}, "uniform");
  options.distribution = "beta";
  const PolicySpec spec = policy_spec(gaussian_task(4, 3, 1), options);
  const std::vector<float> params = parameters(spec, options, 1);
  EXPECT_EQ(spec.std, -1);
  const ParamSlice &weight = spec.layout.weight(spec.actor, 1), &bias = spec.layout.bias(spec.actor, 1);
  ASSERT_EQ(weight.shape, (std::vector<int64_t>{6, 8}));
  for (int64_t i = 0; i < 48; ++i) EXPECT_EQ(params[weight.offset + i] == 0, i >= 24) << i;
  for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(params[bias.offset + k] == 0, k >= 3) << k;
}

TEST(PolicySpec, BoundedDistributionsNeedBounds) {
  for (const std::string distribution : {"beta", "squashed_gaussian"}) {
    PolicyOptions options = policy({8}, {8}, "uniform");
    options.distribution = distribution;
    TaskSpec task = gaussian_task(4, 2, 1);
    EXPECT_NO_THROW(policy_spec(task, options));
    task.actions = {{"hip", ""}, {"knee", ""}};
    for (const auto& [low, high] : {std::pair{-INFINITY, 1.0f}, {-1.0f, INFINITY}, {1.0f, 1.0f}}) {
      task.action.low[1] = low, task.action.high[1] = high;
      try {
        policy_spec(task, options);
        ADD_FAILURE() << distribution;
      } catch (const UsageError& error) {
        expect_mentions(error.what(), {"--policy.distribution " + distribution, "Gaussian", "knee"});
      }
    }
  }
}

TEST(InitializeParameters, AStateDependentStdBeginsAtInitStdForAllObservations) {
  for (const char* init : {"uniform", "orthogonal"}) {
    PolicyOptions options = policy({8}, {8}, init);
    options.state_dependent_std = true;
    const PolicySpec spec = policy_spec(gaussian_task(4, 3), options);
    const std::vector<float> params = parameters(spec, options, 1);
    const ParamSlice &weight = spec.layout.weight(spec.actor, 1), &bias = spec.layout.bias(spec.actor, 1);
    ASSERT_EQ(weight.shape, (std::vector<int64_t>{6, 8}));
    for (int64_t i = 0; i < 48; ++i) EXPECT_EQ(params[weight.offset + i] == 0, i >= 24) << i;
    for (int64_t k = 3; k < 6; ++k) EXPECT_NEAR(params[bias.offset + k], std::log(0.5), 1e-7);
  }
}

// Checks that W W^T = gain^2 I (W^T W if the matrix has more rows than columns).
void expect_orthogonal(const ParamSlice& s, const std::vector<float>& params, double gain) {
  const int64_t outputs = s.shape[0], inputs = s.shape[1];
  const auto at = [&](int64_t row, int64_t column) { return double{params[s.offset + row * inputs + column]}; };
  const int64_t count = std::min(outputs, inputs), size = std::max(outputs, inputs);
  for (int64_t a = 0; a < count; ++a)
    for (int64_t b = 0; b < count; ++b) {
      double dot = 0;
      for (int64_t k = 0; k < size; ++k) dot += outputs <= inputs ? at(a, k) * at(b, k) : at(k, a) * at(k, b);
      EXPECT_NEAR(dot, a == b ? gain * gain : 0, 1e-5 * gain * gain) << s.name << " " << a << " " << b;
    }
}

// Layer norm starts with scale 1 and shift 0.
TEST(InitializeParameters, LayerNormStartsAsTheIdentity) {
  for (const char* init : {"uniform", "orthogonal"}) {
    PolicyOptions options = policy({8, 6}, {5}, init);
    options.layer_norm = true;
    const PolicySpec spec = policy_spec(gaussian_task(3, 2), options);
    const std::vector<float> params = parameters(spec, options, 1);
    int norms = 0;
    for (const ParamSlice& s : spec.layout.slices()) {
      const bool factor = s.name.ends_with("norm/weight"), shift = s.name.ends_with("norm/bias");
      norms += factor;
      for (int64_t i = s.offset; i < s.offset + s.count(); ++i) {
        EXPECT_NE(params[i], 77);
        if (factor || shift) {
          EXPECT_EQ(params[i], factor ? 1 : 0) << s.name;
        }
      }
    }
    EXPECT_EQ(norms, 2 + 1);
  }
}

TEST(InitializeParameters, OrthogonalWeightsHaveTheirGainAndBiasesAreZero) {
  const PolicyOptions options = policy({32, 8}, {16}, "orthogonal");
  const PolicySpec spec = policy_spec(gaussian_task(10, 3), options);
  const std::vector<float> params = parameters(spec, options, 1);
  const std::vector<std::pair<std::string, double>> gains = {{"actor/0", std::sqrt(2)},
                                                             {"actor/1", std::sqrt(2)},
                                                             {"actor/2", 0.01},
                                                             {"critic/0", std::sqrt(2)},
                                                             {"critic/1", 1}};
  for (const auto& [name, gain] : gains) {
    expect_orthogonal(slice(spec.layout, "policy/" + name + "/weight"), params, gain);
    const ParamSlice& bias = slice(spec.layout, "policy/" + name + "/bias");
    for (int64_t i = 0; i < bias.count(); ++i) EXPECT_EQ(params[bias.offset + i], 0);
  }
}

TEST(InitializeParameters, DependsOnTheSeedAlone) {
  for (const char* init : {"uniform", "orthogonal"}) {
    const PolicyOptions options = policy({8}, {8}, init);
    const PolicySpec spec = policy_spec(gaussian_task(4, 2), options);
    EXPECT_EQ(parameters(spec, options, 5), parameters(spec, options, 5));
    const std::vector<float> a = parameters(spec, options, 5), b = parameters(spec, options, 6);
    const int64_t critic = spec.first_critic_parameter();
    EXPECT_NE(a[critic], b[critic]);
    // Actor and critic start with different weights although they have the same shape.
    EXPECT_NE(a[0], a[critic]);
  }
}

}  // namespace
}  // namespace drl
