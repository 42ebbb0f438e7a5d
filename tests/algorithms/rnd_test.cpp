// Compares random network distillation with an independent implementation in libtorch, in double.
#include "algorithms/ppo/rnd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../support/algorithm_state.hpp"
#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/random_env.hpp"
#include "../support/test_engine.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "nets/fused/fused_nets.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kObs = 5, kCriticObs = 7, kOutputs = 3;

// PPO on random environments, whose observations and rewards do not depend on the actions. Two learners of the same
// options see the same, so the difference of their rewards is the intrinsic reward of the first one's.
struct Example {
  static constexpr int64_t kEnvs = 500, kSteps = 6;  // more samples than a tile has
  explicit Example(const RndOptions& rnd)
      : env(
            [] {
              TaskSpec task = gaussian_task(kObs, 2);
              task.critic_obs_dim = kCriticObs, task.dt = 0.5;
              return task;
            }(),
            kEnvs) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {4};
    options.num_learning_epochs = 2, options.num_mini_batches = 3;
    options.rnd = rnd;
    spec = policy_spec(env.spec(), policy, options.normalizer());
    nets = make_fused_nets(*queue, spec.layout, 1);
    const BatchPlan plan{kEnvs, kSteps, 0, 1, 1, options.num_mini_batches};
    LearnerParts parts{*queue, policy, plan, 1, spec, *nets, env};
    parts.engine = &engine;
    ppo.emplace(parts, options);
  }
  // Returns the parameters of both networks of random network distillation.
  at::Tensor parameters() {
    const AlgorithmState state(*ppo);
    at::Tensor flat = at::zeros({rnd_layout.size()}, at::kDouble);
    for (const ParamSlice& slice : rnd_layout.slices())
      flat.narrow(0, slice.offset, slice.count()).copy_(as_double(state.numbers<float>(slice.name)));
    return flat;
  }
  std::vector<float> rewards() const {
    const RolloutView& r = ppo->rollout();
    return {r.reward, r.reward + r.samples()};
  }

  RandomEnv env;
  PolicyOptions policy;
  PpoOptions options;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  ParamLayout rnd_layout;
  TestEngine engine{[this](const ParamLayout& layout) {
    rnd_layout = layout;
    return make_fused_nets(*queue, layout, 1);
  }};
  std::optional<Ppo> ppo;
};

RndOptions rnd_options() {
  RndOptions rnd;
  rnd.weight = 3, rnd.num_outputs = kOutputs;
  rnd.predictor_hidden_dims = {8, 6}, rnd.target_hidden_dims = {10};
  return rnd;
}

// Returns the distances of the embeddings of x.
at::Tensor distances(const ParamLayout& layout, const at::Tensor& params, const at::Tensor& x) {
  return (mlp(layout, 0, params, x) - mlp(layout, 1, params, x)).pow(2).sum(1).sqrt();
}
at::Tensor rows(const float* x, int64_t count, int64_t dim) {
  return as_double({x, static_cast<size_t>(count * dim)}).reshape({count, dim});
}

// Runs an iteration of a learner with and without random network distillation. Returns the difference of their rewards
// for steps that do not end with a truncation, whose rewards include values, and NaN for the others.
std::vector<double> intrinsic_rewards(Example& with, Example& without, int64_t iteration) {
  const auto comm = make_serial_communicator();
  with.ppo->iterate(iteration, *comm), without.ppo->iterate(iteration, *comm);
  const std::vector<float> sum = with.rewards(), reward = without.rewards();
  std::vector<double> intrinsic(sum.size());
  for (size_t i = 0; i < sum.size(); ++i)
    intrinsic[i] = with.ppo->rollout().truncated[i] ? std::nan("") : double{sum[i]} - double{reward[i]};
  return intrinsic;
}
void expect_rewards(const std::vector<double>& actual, const at::Tensor& expected) {
  double mean = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double value = expected[static_cast<int64_t>(i)].item<double>();
    if (!std::isnan(actual[i])) {
      EXPECT_NEAR(actual[i], value, 2e-6) << i;
    }
    mean += value / static_cast<double>(actual.size());
  }
  EXPECT_GT(mean, 0.05);
}

// The reward of a step belongs to the observation after it. The task's step of 0.5 s halves the weight.
TEST(Rnd, RewardsAreDistancesOfEmbeddings) {
  for (const char* state : {"policy", "critic"}) {
    RndOptions rnd = rnd_options();
    rnd.state = state;
    Example with(rnd), without({});
    const at::Tensor params = with.parameters();
    const std::vector<double> actual = intrinsic_rewards(with, without, 0);
    const RolloutView& r = with.ppo->rollout();
    const bool critic = rnd.state == "critic";
    const int64_t dim = critic ? kCriticObs : kObs;
    const at::Tensor x = rows(critic ? r.critic_obs : r.obs, r.samples() + r.num_envs, dim);
    const at::Tensor expected = 3 * 0.5 * distances(with.rnd_layout, params, x.narrow(0, Example::kEnvs, r.samples()));
    expect_rewards(actual, expected);
    EXPECT_NEAR(metric(*with.ppo, "intrinsic_reward"), expected.mean().item<double>(), 1e-6);
    EXPECT_EQ(metric(*with.ppo, "rnd_weight"), 1.5);
  }
}

// The weight changes from 3 at step 4 to 9 at step 14 (per second), so it is 3 + 6 * (t - 4) / 10 at steps 7 to 12.
TEST(Rnd, TheWeightFollowsItsSchedule) {
  RndOptions rnd = rnd_options();
  rnd.weight_schedule = "linear", rnd.initial_step = 4, rnd.final_step = 14, rnd.final_value = 9;
  Example with(rnd), without({});
  intrinsic_rewards(with, without, 0);
  const at::Tensor params = with.parameters();
  const std::vector<double> actual = intrinsic_rewards(with, without, 1);
  const at::Tensor x = rows(with.ppo->rollout().obs, 7 * Example::kEnvs, kObs).narrow(0, Example::kEnvs, 3000);
  at::Tensor expected = distances(with.rnd_layout, params, x);
  for (int t = 0; t < 6; ++t) expected.narrow(0, t * Example::kEnvs, Example::kEnvs) *= 0.5 * (3 + 0.6 * (7 + t - 4));
  expect_rewards(actual, expected);
  EXPECT_NEAR(metric(*with.ppo, "rnd_weight"), 0.5 * 7.8, 1e-12);
}

TEST(Rnd, ScheduledWeights) {
  RndWeight weight{RndWeight::step, 2, 5, 0, 10};
  EXPECT_EQ(weight.at(9), 2);
  EXPECT_EQ(weight.at(10), 5);
  weight = {RndWeight::linear, 2, 5, 10, 40};
  for (const auto& [step, expected] : {std::pair{1, 2.0}, {10, 2.0}, {20, 3.0}, {40, 5.0}, {41, 5.0}})
    EXPECT_DOUBLE_EQ(weight.at(step), expected) << step;
  weight.schedule = RndWeight::constant;
  EXPECT_EQ(weight.at(40), 2);
}

// The first rollout is not normalised. Its discounted sums d_t = 0.99 d_{t-1} + x_t go on when an episode ends, and the
// rewards of the second are divided by their standard deviation.
TEST(Rnd, RewardsAndObservationsAreNormalisedByTheRolloutsBefore) {
  RndOptions rnd = rnd_options();
  rnd.reward_normalization = rnd.state_normalization = true;
  Example with(rnd), without({});
  const at::Tensor start = with.parameters();
  intrinsic_rewards(with, without, 0);
  const at::Tensor obs = rows(with.ppo->rollout().obs + Example::kEnvs * kObs, 3000, kObs);
  at::Tensor sum = at::zeros({Example::kEnvs}, at::kDouble);
  std::vector<at::Tensor> sums;
  for (int t = 0; t < 6; ++t) {
    sum = 0.99 * sum + distances(with.rnd_layout, start, obs.narrow(0, t * Example::kEnvs, Example::kEnvs));
    sums.push_back(sum.clone());
  }
  const double variance = at::cat(sums).var(/*unbiased=*/false).item<double>();
  const AlgorithmState state(*with.ppo);
  EXPECT_NEAR(state.numbers<double>("rnd/reward_normalizer/variance")[0], variance, 1e-5 * variance);
  EXPECT_EQ(state.fields.at("rnd/reward_normalizer/discounted_return").sharding, Sharding::per_env);
  const at::Tensor params = with.parameters();
  std::vector<double> mean = state.numbers<double>("rnd/state_normalizer/mean"),
                      squares = state.numbers<double>("rnd/state_normalizer/variance");
  const std::vector<double> actual = intrinsic_rewards(with, without, 1);
  const at::Tensor x = rows(with.ppo->rollout().obs, 7 * Example::kEnvs, kObs).narrow(0, Example::kEnvs, 3000),
                   mu = at::from_blob(mean.data(), {kObs}, at::kDouble),
                   std = at::from_blob(squares.data(), {kObs}, at::kDouble).sqrt();
  expect_rewards(actual, 1.5 * distances(with.rnd_layout, params, (x - mu) / (std + 0.01)) / std::sqrt(variance));
}

// The second iteration of the predictor: Adam of PyTorch's paper on the gradient of mse_loss, from autograd.
TEST(Rnd, ThePredictorTakesAdamStepsOnTheMeanSquaredError) {
  RndOptions rnd = rnd_options();
  rnd.learning_rate = 0.01;
  Example s(rnd);
  const int64_t trained = s.rnd_layout.weight(1, 0).offset;  // the target's parameters come next
  at::Tensor expected = s.parameters(), m = at::zeros_like(expected), v = m.clone();
  const at::Tensor target = expected.narrow(0, trained, expected.size(0) - trained).clone();
  int step = 0, iteration = 0;
  double losses = 0;
  Listener comm([&](std::span<const float>) {
    std::vector<int32_t> batch(1000);
    const BatchPlan plan{Example::kEnvs, Example::kSteps, 0, 1, 1, 3};
    for (size_t i = 0; i < batch.size(); ++i)
      batch[i] = MiniBatches{plan, 1}.rows<float>(iteration, static_cast<uint32_t>(step % 6), static_cast<int64_t>(i));
    const at::Tensor x = rows(s.ppo->rollout().obs, 3000, kObs).index_select(0, as_index(batch));
    const at::Tensor params = expected.clone().set_requires_grad(true);
    const at::Tensor loss = at::mse_loss(mlp(s.rnd_layout, 0, params, x), mlp(s.rnd_layout, 1, params, x).detach());
    loss.backward();
    losses += step >= 6 ? loss.item<double>() : 0;
    const at::Tensor g = params.grad();
    ++step;
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    expected = expected - 0.01 * (m / (1 - std::pow(0.9, step))) / ((v / (1 - std::pow(0.999, step))).sqrt() + 1e-8);
  });
  for (; iteration < 2; ++iteration) s.ppo->iterate(iteration, comm);
  ASSERT_EQ(step, 12);
  const at::Tensor actual = s.parameters(), difference = (actual - expected).abs();
  EXPECT_LT(difference.max().item<double>(), 2e-5);
  EXPECT_GT((expected - Example(rnd).parameters()).abs().max().item<double>(), 0.05) << "the predictor must move";
  EXPECT_TRUE(actual.narrow(0, trained, actual.size(0) - trained).equal(target)) << "the target never changes";
  EXPECT_NEAR(metric(*s.ppo, "rnd_loss"), losses / 6, 1e-5);
  const std::vector<float> moments = AlgorithmState(*s.ppo).numbers<float>("rnd/optimizer/m");
  for (const ParamSlice& slice : {s.rnd_layout.bias(0, 2)})  // the last of the predictor
    expect_close(std::span(moments).last(static_cast<size_t>(slice.count())), m.narrow(0, slice.offset, slice.count()),
                 1e-4, slice.name);
}

}  // namespace
}  // namespace drl
