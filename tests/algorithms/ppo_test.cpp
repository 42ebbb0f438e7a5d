#include "algorithms/ppo/ppo.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "../support/algorithm_state.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/mentions.hpp"
#include "../support/random_env.hpp"
#include "../support/test_engine.hpp"
#include "base/check.hpp"
#include "envs/make_env.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

// Three environments with three steps per rollout. The observation is 10 t + environment (t counts from 0 at the
// start), and the reward is 1. At step 1 environment 1 terminates and environment 2 is truncated; their last
// observations are 50 and 60, and their next episodes start at 1000. With `privileged` only the critic observes this,
// and the actor observes -1.
class ScriptedEnv final : public VecEnv {
 public:
  explicit ScriptedEnv(bool privileged = false) : spec_(gaussian_task(1, 1)) {
    spec_.critic_obs_dim = privileged;
    spec_.truncates = true;
  }
  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return 3; }
  void reset(Queue&, const StepRow& row, const Start&) override {
    for (int k = 0; k < 3; ++k) observe(k, static_cast<float>(k), row.next_obs, row.next_critic_obs);
  }
  void step(Queue&, LifetimeStep lifetime, int64_t begin, int64_t count, const StepRow& row) override {
    const auto step = static_cast<int64_t>(lifetime.value());
    for (auto k = static_cast<int>(begin); k < begin + count; ++k) {
      const bool ends = step % 3 == 1 && k > 0;
      row.reward[k] = reward;
      row.terminated[k] = ends && k == 1;
      row.truncated[k] = ends && k == 2;
      observe(k, ends ? 1000 : static_cast<float>(10 * (step + 1) + k), row.next_obs, row.next_critic_obs);
      const int64_t at = ends ? row.take_last_row(k, 3, row.truncated[k]) : -1;
      if (at >= 0) observe(at, 40 + 10 * static_cast<float>(k), row.last_obs, row.last_critic_obs);
    }
  }
  void take_episode_sums(Queue&, double* out, double*) override {
    for (double x : {2.0, 10.0, 7.0, 0.0}) *out++ = x;
  }
  void visit_state(StateVisitor&) override {}

  float reward = 1;

 private:
  void observe(int64_t row, float x, float* obs, float* critic_obs) const {
    obs[row] = spec_.critic_obs_dim ? -1 : x;
    if (spec_.critic_obs_dim) critic_obs[row] = x;
  }

  TaskSpec spec_;
};

// V(s) = s, and the policy's mean is 0. In updates (forward passes with a tape) both are shifted. The backward pass
// returns `mean_gradient` for any loss.
class ScriptedNets final : public Nets {
 public:
  using Nets::Nets;
  int64_t tile() const override { return 16; }
  std::unique_ptr<Tape> make_tape(NetId) override { return std::make_unique<Count>(); }
  void forward(NetId net, const Weights&, const Rows& rows, float* out, Tape* tape) override {
    for (int64_t i = 0; i < rows.count; ++i)
      out[i] = (net == 0 ? 0 : rows.data[rows.index ? rows.index[i] : i]) + (tape ? shift[net] : 0);
    if (tape) static_cast<Count*>(tape)->rows = static_cast<float>(rows.count);
  }
  void backward(NetId net, const Weights&, Tape& tape, const float*, float* grad, float*) override {
    const float rows = static_cast<Count&>(tape).rows;
    grad[layout().weight(net, 0).offset] += rows * mean_gradient[net][0];
    grad[layout().bias(net, 0).offset] += rows * mean_gradient[net][1];
  }
  std::string description() const override { return "scripted"; }

  float shift[2] = {0, 0};                       // for actor and critic
  float mean_gradient[2][2] = {{0, 0}, {0, 0}};  // [weight, bias] for each

 private:
  struct Count final : Tape {
    float rows = 0;
  };
};

// PPO on the scripted environments: 3 environments x 3 steps, by default 1 epoch of 3 mini-batches. The standard
// deviation is 1, so the KL of a shifted policy is shift^2 / 2. With a shift of kFarAway the ratio is 0 and only the
// entropy has a gradient.
struct Script {
  static constexpr float kFarAway = 100;
  explicit Script(bool privileged = false) : env(privileged) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {};
    policy.std_min = policy.std_max = 1;
    options.gamma = 0.5;
    options.lam = 0;
    options.entropy_coef = 0;
    options.num_learning_epochs = 1;
    options.num_mini_batches = 3;
  }
  void start() {
    spec = policy_spec(env.spec(), policy, options.normalizer());
    nets.emplace(spec.layout);
    ppo.emplace(LearnerParts{*queue, policy, Ppo::plan(options, {3, 3, 0, 1, 1}, env.spec()), 1, spec, *nets, env},
                options);
  }
  void iterate(int64_t iteration = 0) {
    if (!ppo) start();
    ppo->iterate(iteration, *comm);
  }
  std::vector<float> numbers(float* RolloutView::*member) const {
    return {ppo->rollout().*member, ppo->rollout().*member + 9};
  }
  // [weight, bias, std, critic's weight, bias]
  std::vector<float> parameters() {
    std::vector<float> all;
    for (const ParamSlice& s : spec.layout.slices())
      all.push_back(ppo->host_parameters()[static_cast<size_t>(s.offset)]);
    return all;
  }

  PolicyOptions policy;
  PpoOptions options;
  ScriptedEnv env;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec;
  std::optional<ScriptedNets> nets;
  std::optional<Ppo> ppo;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

// With lambda = 0 the advantage is the TD error r + 0.5 V(next) - V(now), where V is the observation.
void expect_scripted_advantages(Script& script) {
  script.iterate();
  const std::vector<float> expected = {
      1 + 5.0f - 0,   1 + 5.5f - 1,
      1 + 6.0f - 2,  // step 0: V(next) = 10, 11, 12
      1 + 10.0f - 10, 1 + 0 - 11,
      1 + 30.0f - 12,  // step 1: continues to 20; terminated; truncated at 60, not 1000
      1 + 15.0f - 20, 1 + 15.5f - 1000, 1 + 16.0f - 1000};
  EXPECT_EQ(script.numbers(&RolloutView::advantage), expected);
}

TEST(Ppo, TruncatedEpisodesBootstrapFromTheirLastObservationAndTerminatedOnesDoNot) {
  Script script;
  expect_scripted_advantages(script);
}

TEST(Ppo, TheCriticUsesItsPrivilegedObservationsEverywhere) {
  Script script(true);
  expect_scripted_advantages(script);
  script.iterate(1);
  EXPECT_EQ(script.numbers(&RolloutView::value)[1], 31);  // they are also copied to the next rollout
}

TEST(Ppo, RewardScaleActsOnRewardsOnly) {
  Script script;
  script.options.reward_scale = 3;
  script.iterate();
  EXPECT_EQ(script.numbers(&RolloutView::advantage)[0], 3 + 5.0f);
  EXPECT_EQ(script.numbers(&RolloutView::advantage)[5], 3 + 30.0f - 12);
  EXPECT_EQ(script.ppo->stats().episodes.reward, 10);  // reported rewards are not scaled
}

// With gamma = 0.5 the discounted returns are 1, 1.5, 1.75 for environment 0, and 1, 1.5, 1 for the two whose episodes
// end at step 1. Their variance is 1/12, so a reward of 1 is normalised to sqrt(12) from then on.
TEST(Ppo, RewardsAreNormalisedByTheirDiscountedReturns) {
  Script script;
  script.options.reward_normalization = true;
  script.iterate(0);
  EXPECT_EQ(script.numbers(&RolloutView::advantage)[0], 1 + 5.0f) << "no moments have been merged yet";
  const AlgorithmState state(*script.ppo);
  EXPECT_EQ(state.numbers<double>("reward_normalizer/count")[0], 9);
  EXPECT_EQ(state.numbers<double>("reward_normalizer/mean")[0], 1.25);
  EXPECT_NEAR(state.numbers<double>("reward_normalizer/variance")[0], 1 / 12.0, 1e-15);
  EXPECT_EQ(state.numbers<float>("reward_normalizer/discounted_return"), (std::vector<float>{1.75f, 1, 1}));
  EXPECT_EQ(state.fields.at("reward_normalizer/discounted_return").sharding, Sharding::per_env);
  script.iterate(1);
  EXPECT_NEAR(script.numbers(&RolloutView::advantage)[0], std::sqrt(12.0) + 0.5 * 40 - 30, 1e-5);
  EXPECT_EQ(script.ppo->stats().episodes.reward, 10) << "reported rewards must not be normalised";
}

TEST(Ppo, NormalisedRewardsAreClipped) {
  for (const auto& [clip, expected] : {std::pair{2.0, 2.0}, {0.0, std::sqrt(12.0)}}) {
    Script script;
    script.options.reward_normalization = true;
    script.options.reward_normalization_clip = clip;
    script.options.reward_scale = 3;
    script.iterate(0), script.iterate(1);
    EXPECT_NEAR(script.numbers(&RolloutView::advantage)[0], 3 * expected + 0.5 * 40 - 30, 1e-5);
  }
}

double mean_of(const std::vector<float>& x) {
  double sum = 0;
  for (float v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
double variance_of(const std::vector<float>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (float v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size());
}

TEST(Ppo, ReportsTheExplainedVariance) {
  Script script;
  script.options.lam = 0.9;
  script.iterate();
  const double advantage = variance_of(script.numbers(&RolloutView::advantage)),
               target = variance_of(script.numbers(&RolloutView::return_target));
  EXPECT_NEAR(metric(*script.ppo, "explained_variance"), 1 - advantage / target, 1e-9);
}

// In the update the policy is shifted by 0.1, so the ratio for an action a is exp(0.1 a - 0.005). Values are not
// shifted, so the value loss is the mean square of the advantages. Advantages are normalised with the unbiased standard
// deviation, as in torch.std.
TEST(Ppo, StatsAreMeansOverSamples) {
  Script script;
  script.start();
  script.nets->shift[0] = 0.1f;
  script.options.clip_param = 0.2;
  script.iterate();
  const std::vector<float> advantage = script.numbers(&RolloutView::advantage);
  const double mean = mean_of(advantage), variance = variance_of(advantage);
  const auto* action = reinterpret_cast<const float*>(script.ppo->rollout().action);
  double surrogate = 0, clipped = 0;
  for (size_t i = 0; i < 9; ++i) {
    const double ratio = std::exp(0.1 * action[i] - 0.005), limited = std::clamp(ratio, 0.8, 1.2);
    const double a = (advantage[i] - mean) / std::sqrt(variance * 9 / 8);
    surrogate += std::max(-a * ratio, -a * limited) / 9;
    clipped += (ratio != limited) / 9.0;
  }
  const Ppo& ppo = *script.ppo;
  EXPECT_NEAR(metric(ppo, "surrogate_loss"), surrogate, 1e-6);
  EXPECT_NEAR(metric(ppo, "value_loss"), variance + mean * mean, 1e-6 * variance);
  EXPECT_NEAR(metric(ppo, "entropy"), 0.5 * std::log(2 * std::acos(-1.0) * std::exp(1.0)), 1e-6);
  EXPECT_NEAR(metric(ppo, "kl"), 0.005, 1e-7);
  EXPECT_NEAR(metric(ppo, "clip_fraction"), clipped, 1e-6);
  EXPECT_EQ(metric(ppo, "action_std"), 1);
  EXPECT_EQ(ppo.stats().episodes.count, 2);
  EXPECT_EQ(ppo.stats().episodes.length, 7);
  EXPECT_EQ(script.ppo->env_steps_per_iteration(), 9);
}

// As long as the policy is the old one, a mini-batch's surrogate loss is the negative sum of its normalised advantages.
TEST(Ppo, AdvantagesAreNormalisedOverTheRolloutOrEachMiniBatchOrNotAtAll) {
  for (const auto& [normalize, per_mini_batch] : {std::pair{true, false}, {true, true}, {false, false}}) {
    Script script;
    script.options.normalize_advantage = normalize;
    script.options.normalize_advantage_per_mini_batch = per_mini_batch;
    script.start();
    std::vector<double> losses;
    Listener comm([&](std::span<const float> sums) { losses.push_back(double{sums[5 * 4 + kSurrogate]}); });
    script.ppo->iterate(0, comm);
    ASSERT_EQ(losses.size(), 3u);
    double all = 0, largest = 0;
    for (double loss : losses) all += loss, largest = std::max(largest, std::abs(loss));
    EXPECT_NEAR(all, normalize ? 0 : -9 * mean_of(script.numbers(&RolloutView::advantage)), 1e-3);
    EXPECT_EQ(largest < 1e-5, per_mini_batch) << largest;
  }
}

// Values are shifted by 1, so the loss is (A - 1)^2, or (A - value_clip)^2 if that is larger.
TEST(Ppo, ValueClipIsInfiniteWhenSwitchedOff) {
  for (bool use : {true, false}) {
    Script script;
    script.options.value_clip = 0.5;
    script.options.use_clipped_value_loss = use;
    script.start();
    script.nets->shift[1] = 1;
    script.iterate();
    double expected = 0;
    for (double a : script.numbers(&RolloutView::advantage))
      expected += std::max((a - 1) * (a - 1), use ? (a - 0.5) * (a - 0.5) : 0) / 9;
    EXPECT_NEAR(metric(*script.ppo, "value_loss"), expected, 1e-6 * expected) << use;
  }
}

TEST(Ppo, AdaptiveLearningRateDoesNotChangeOnTheFirstMiniBatchOfAnIteration) {
  Script script;
  script.options.num_learning_epochs = 2;
  script.start();
  script.nets->shift[0] = std::sqrt(2.0f);  // KL 1
  script.iterate(0);                        // six mini-batches
  EXPECT_NEAR(metric(*script.ppo, "learning_rate"), 1e-3 / std::pow(1.5, 5), 1e-12);
  script.nets->shift[0] = 0.01f;  // KL 0.00005
  script.iterate(1);
  EXPECT_NEAR(metric(*script.ppo, "learning_rate"), 1e-3, 1e-12);
}

TEST(Ppo, TheLearningRateCanBeFixedOrFallLinearly) {
  Script fixed;
  fixed.options.schedule = "fixed";
  fixed.start();
  fixed.nets->shift[0] = 1;
  fixed.iterate(5);
  EXPECT_EQ(metric(*fixed.ppo, "learning_rate"), 1e-3);
  Script linear;
  linear.options.schedule = "linear";
  linear.options.schedule_iterations = 10;
  for (const auto& [iteration, rate] : {std::pair{0, 1e-3}, {5, 0.5e-3}, {10, 0.0}, {20, 0.0}}) {
    linear.iterate(iteration);
    EXPECT_DOUBLE_EQ(metric(*linear.ppo, "learning_rate"), rate) << iteration;
  }
}

// With 10 iterations in the schedule, the rate of iteration 10 is the last one above 0.
TEST(Schedule, WarnsOfIterationsWithoutALearningRate) {
  UpdateOptions options;
  options.schedule = "linear";
  options.schedule_iterations = 10;
  ASSERT_GT(scheduled_inputs(options, 9).learning_rate, 0);
  ASSERT_EQ(scheduled_inputs(options, 10).learning_rate, 0);
  EXPECT_TRUE(options.warnings("ppo", 0, 10).empty());
  EXPECT_TRUE(options.warnings("ppo", 15, 15).empty()) << "no iteration is left";
  expect_mentions(options.warnings("ppo", 0, 30).at(0), {"11 to 30", "--ppo.schedule_iterations 30"});
  expect_mentions(options.warnings("grpo", 15, 30).at(0), {"16 to 30", "--grpo.schedule_iterations 30"});
  for (const char* endless : {"fixed", "adaptive"}) {
    options.schedule = endless;
    EXPECT_TRUE(options.warnings("ppo", 0, 30).empty());
  }
}

TEST(Ppo, TheLearningRateOfTheOptionsCanReplaceThatOfTheState) {
  Script script;
  script.options.learning_rate = 2e-5;
  script.start();
  const AlgorithmState state(*script.ppo);
  const double loaded = 0.5;
  state.fields.at("optimizer/learning_rate").write(std::as_bytes(std::span(&loaded, 1)));
  EXPECT_EQ(state.numbers<double>("optimizer/learning_rate")[0], loaded);
  script.ppo->restart_learning_rate();
  EXPECT_EQ(state.numbers<double>("optimizer/learning_rate")[0], 2e-5);
  script.iterate();
  EXPECT_LT(metric(*script.ppo, "learning_rate"), 1e-4);
}

// One mini-batch with the gradients (3, 0, 4) of the actor and (0.3, 0.4) of the critic. The 4 belongs to the logarithm
// of the standard deviation; with the shift kFarAway it comes from the entropy alone.
struct OneGradient : Script {
  explicit OneGradient(const std::string& clip = "separate") {
    options.grad_clip = clip;
    options.num_mini_batches = 1;
    options.adam_eps = 1;
    options.learning_rate = 0.1;
    options.entropy_coef = -4;
    policy.std_min = 1e-3, policy.std_max = 100;
    start();
    nets->shift[0] = kFarAway;
    nets->mean_gradient[0][0] = 3;
    nets->mean_gradient[1][0] = 0.3f, nets->mean_gradient[1][1] = 0.4f;
  }
  const double clipped[5] = {0.6, 0, 0.8, 0.3, 0.4};  // the actor's is scaled to norm 1; the critic's is below it
};

// With Adam's epsilon 1 the first step is rate * g / (|g| + 1), which depends on the length of g.
TEST(Ppo, ActorAndCriticAreClippedSeparately) {
  OneGradient script;
  const std::vector<float> before = script.parameters();
  script.iterate();
  const std::vector<float> after = script.parameters();
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(after[i] - before[i], -0.1 * script.clipped[i] / (script.clipped[i] + 1), 1e-6) << "parameter " << i;
  EXPECT_NEAR(metric(*script.ppo, "gradient_norm"), std::hypot(5, 0.5), 1e-5);
}

TEST(Ppo, ActorAndCriticCanBeClippedJointly) {
  OneGradient script("joint");
  const std::vector<float> before = script.parameters();
  script.iterate();
  const std::vector<float> after = script.parameters();
  const double gradient[5] = {3, 0, 4, 0.3, 0.4}, length = std::hypot(5, 0.5);
  for (int i = 0; i < 5; ++i) {
    const double g = gradient[i] / length;
    EXPECT_NEAR(after[i] - before[i], -0.1 * g / (g + 1), 1e-6) << "parameter " << i;
  }
}

// Returns the gradient of the logarithm of the standard deviation in the first mini-batch of an iteration, for the
// shift kFarAway: the negative weight of the entropy.
double entropy_gradient(Script& script, int64_t iteration) {
  std::vector<double> gradients;
  const size_t at = static_cast<size_t>(slice(script.spec.layout, "policy/log_std").offset);
  Listener comm([&](std::span<const float> sums) {
    gradients.push_back(double{sums[at]} / double{sums[sums.size() - kLossColumns + kSamples]});
  });
  script.ppo->iterate(iteration, comm);
  return gradients.at(0);
}

TEST(Ppo, TheWeightOfTheEntropyChangesLinearlyToItsEnd) {
  for (bool per_mini_batch : {false, true}) {
    Script script;
    script.options.entropy_coef = 0.5, script.options.entropy_coef_end = 0.1, script.options.anneal_iterations = 10;
    script.options.normalize_advantage_per_mini_batch = per_mini_batch;
    script.start();
    script.nets->shift[0] = Script::kFarAway;
    for (const auto& [iteration, coef] : {std::pair{0, 0.5}, {5, 0.3}, {10, 0.1}, {20, 0.1}, {4, 0.34}})
      EXPECT_NEAR(entropy_gradient(script, iteration), -coef, 1e-6) << iteration;
  }
}

// The KL divergence of each mini-batch is 0.01. The desired one falls from 0.05, which would raise the rate, to 0.001.
TEST(Ppo, TheDesiredKlChangesLinearlyToItsEnd) {
  const auto rate_after = [](int64_t iteration) {
    Script script;
    script.options.desired_kl = 0.05, script.options.desired_kl_end = 0.001, script.options.anneal_iterations = 10;
    script.start();
    script.nets->shift[0] = std::sqrt(0.02f);
    script.iterate(iteration);
    return metric(*script.ppo, "learning_rate");
  };
  EXPECT_NEAR(rate_after(0), 1e-3 * 1.5 * 1.5, 1e-9);
  EXPECT_NEAR(rate_after(9), 1e-3, 1e-9) << "0.0059 is half to twice the KL";
  EXPECT_NEAR(rate_after(10), 1e-3 / 1.5 / 1.5, 1e-9);
  EXPECT_NEAR(rate_after(50), 1e-3 / 1.5 / 1.5, 1e-9);
}

TEST(Ppo, SgdSavesItsMomentumOnly) {
  Script script;
  script.options.optimizer = "sgd", script.options.momentum = 0.9, script.options.num_mini_batches = 1;
  script.start();
  script.nets->shift[0] = Script::kFarAway;
  script.nets->mean_gradient[1][0] = 0.3f;
  script.iterate();
  const AlgorithmState state(*script.ppo);
  EXPECT_FALSE(state.fields.contains("optimizer/m") || state.fields.contains("optimizer/v"));
  const std::vector<float> momentum = state.numbers<float>("optimizer/momentum");
  ASSERT_EQ(momentum.size(), 5u);
  EXPECT_NEAR(momentum[3], 0.3, 1e-6);
}

// In checkpoints, Adam's moments are one array each, without the padding between slices.
TEST(Ppo, MomentsAreSavedWithoutPadding) {
  OneGradient script;
  script.iterate();
  const AlgorithmState state(*script.ppo);
  for (const char* name : {"optimizer/m", "optimizer/v"}) {
    EXPECT_EQ(state.fields.at(name).shape, std::vector<int64_t>{5});
    const std::vector<float> moments = state.numbers<float>(name);
    for (int i = 0; i < 5; ++i) {
      const double g = script.clipped[i];
      EXPECT_NEAR(moments[i], name == std::string("optimizer/m") ? 0.1 * g : 0.001 * g * g, 1e-6) << name << " " << i;
    }
  }
  EXPECT_EQ(state.numbers<int64_t>("optimizer/steps"), std::vector<int64_t>{1});
  EXPECT_EQ(state.numbers<int64_t>("rollout/lifetime_step"), std::vector<int64_t>{3});
  EXPECT_EQ(state.numbers<float>("rollout/obs"), (std::vector<float>{30, 31, 32}));
  // The padding stays 0.
  const std::span<const float> all = script.ppo->host_parameters();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(i % 4 == 0 || all[i] == 0) << i;
}

TEST(Ppo, SymmetryNeedsATaskWithMirrorsAndNoRecurrentLayers) {
  PpoOptions options;
  options.symmetry = "loss";
  TaskSpec task = gaussian_task(2, 1);
  const auto message = [&](bool sequences) {
    BatchPlan plan{.num_envs = 4, .num_steps = 4};
    plan.sequences = sequences;
    return caught_usage_error([&] { Ppo::plan(options, plan, task); });
  };
  expect_mentions(message(false), {"--ppo.symmetry loss", "Gaussian", "Cartpole"});
  task.mirror = {{{0, 1}, {1, -1}}, {}, {{0, -1}}};
  EXPECT_EQ(message(false), "");
  expect_mentions(message(true), {"--ppo.symmetry loss", "--policy.rnn_type none"});
}

TEST(Ppo, StdStaysWithinItsBounds) {
  for (const auto& [type, slope, bound] : {std::tuple{"scalar", 1.0, 0.3},
                                           {"scalar", -1.0, 2.0},
                                           {"log", 1.0, std::log(0.3)},
                                           {"log", -1.0, std::log(2.0)}}) {
    Script script;
    script.policy.std_type = type;
    script.policy.std_min = 0.3;
    script.policy.std_max = 2;
    script.options.schedule = "fixed";
    script.options.learning_rate = 1;
    script.options.entropy_coef = -slope;
    script.start();
    script.nets->shift[0] = Script::kFarAway;
    script.iterate();
    EXPECT_FLOAT_EQ(script.parameters()[2], static_cast<float>(bound)) << type << " " << slope;
  }
}

TEST(Ppo, ContradictoryOptionsAreUsageErrors) {
  Script script;
  script.policy.std_min = 2;
  EXPECT_THROW(script.start(), UsageError);
  Script contradiction;
  contradiction.options.normalize_advantage = false;
  contradiction.options.normalize_advantage_per_mini_batch = true;
  EXPECT_THROW(contradiction.start(), UsageError);
  Script uneven;
  uneven.options.num_mini_batches = 2;
  EXPECT_THROW(uneven.start(), UsageError);
}

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const SharedError& error) {
    return error.what();
  }
  return "";
}

TEST(Ppo, ValuesThatAreNotFiniteAreSharedErrorsWithTheRank) {
  Script script;
  script.env.reward = NAN;
  expect_mentions(error_of([&] { script.iterate(); }),
                  {"rank 0", "not finite", "ppo.learning_rate", "ppo.reward_scale"});
  Script diverged;
  diverged.start();
  diverged.nets->mean_gradient[1][1] = INFINITY;
  expect_mentions(error_of([&] { diverged.iterate(); }), {"gradient", "not finite", "ppo.learning_rate"});
}

// Records the normaliser of each forward pass from observations.
class WatchedNets final : public Nets {
 public:
  explicit WatchedNets(std::unique_ptr<Nets> nets) : Nets(nets->layout()), nets_(std::move(nets)) {}
  int64_t tile() const override { return nets_->tile(); }
  std::unique_ptr<Tape> make_tape(NetId net) override { return nets_->make_tape(net); }
  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    if (rows.normalizer.inv_std) seen.push_back(rows.normalizer.inv_std[1]);
    nets_->forward(net, weights, rows, out, tape);
  }
  void backward(NetId net, const Weights& weights, Tape& tape, const float* d_out, float* grad, float* d_in) override {
    nets_->backward(net, weights, tape, d_out, grad, d_in);
  }
  std::string description() const override { return nets_->description(); }
  std::vector<float> seen;

 private:
  std::unique_ptr<Nets> nets_;
};

// A learner with 64 environments of a task x 32 steps, on one of the host's instruction sets.
struct Learner {
  explicit Learner(const std::string& task, int epochs = 5, int mini_batches = 4, int shards = 1,
                   Isa isa = available_isas().back(), bool every_option = false, const std::string& rnn = "none")
      : queue(make_host_queue(isa)), env(make_env(task, {64, 0, 1, true}, *queue)) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {8};
    options.obs_normalization = true;
    options.num_learning_epochs = epochs;
    options.num_mini_batches = mini_batches;
    policy.rnn_type = rnn, policy.rnn_hidden_dim = 6, policy.rnn_num_layers = 2;
    if (every_option) {
      policy.activation = "silu", policy.layer_norm = true;
      options.reward_normalization = options.normalize_advantage_per_mini_batch = true;
      options.grad_clip = "joint";
      options.rnd.weight = 2, options.rnd.state_normalization = options.rnd.reward_normalization = true;
      options.rnd.num_outputs = 3, options.rnd.predictor_hidden_dims = options.rnd.target_hidden_dims = {8};
    }
    const PolicySpec spec = policy_spec(env->spec(), policy, options.normalizer());
    nets.emplace(make_torch_nets(*queue, spec.layout, 1));
    BatchPlan plan{64, 32, 0, 1, shards, mini_batches};
    plan.sequences = policy.is_recurrent();
    LearnerParts parts{*queue, policy, plan, 1, spec, *nets, *env};
    parts.engine = &engine;
    ppo.emplace(parts, options);
  }
  void iterate(int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) ppo->iterate(i, *comm);
  }
  PolicyOptions policy;
  PpoOptions options;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> env;
  std::optional<WatchedNets> nets;
  TestEngine engine{[this](const ParamLayout& layout) { return make_torch_nets(*queue, layout, 1); }};
  std::optional<Ppo> ppo;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

class PpoOn : public testing::TestWithParam<const char*> {};

// If the normaliser changed between collection and update, the first ratio would not be 1.
TEST_P(PpoOn, NormaliserIsFrozenDuringAnIterationAndTheFirstRatioIsOne) {
  Learner run(GetParam(), 1, 1), more(GetParam());
  float before = 1;
  int64_t truncations = 0;
  for (int iteration = 0; iteration < 8; ++iteration) {
    run.nets->seen.clear();
    run.iterate(iteration, iteration + 1);
    ASSERT_EQ(run.nets->seen.size(),
              32u + 2 + 2 * 2);  // collection; values of the rollout and of last observations; two tiles of the update
    for (float seen : run.nets->seen) EXPECT_EQ(seen, run.nets->seen[0]);
    EXPECT_EQ(run.nets->seen[0] == before, iteration == 0);  // first the identity, then a different one each time
    before = run.nets->seen[0];
    EXPECT_EQ(metric(*run.ppo, "clip_fraction"), 0);
    EXPECT_NEAR(metric(*run.ppo, "kl"), 0, 1e-6);
    more.iterate(iteration, iteration + 1);
    EXPECT_GT(metric(*more.ppo, "kl"), 1e-5) << "the policy must differ in later mini-batches";
    const RolloutView& r = run.ppo->rollout();
    truncations += std::count(r.truncated, r.truncated + r.samples(), 1);
  }
  EXPECT_GT(truncations, 0) << "no last observation was evaluated";
}

// The visited state is complete: a learner that loads it continues bit-identically.
TEST_P(PpoOn, ContinuesFromItsState) {
  for (const auto& [every_option, rnn] : {std::pair{false, "none"}, {true, "none"}, {true, "gru"}, {false, "lstm"}}) {
    const auto learner = [&] { return Learner(GetParam(), 5, 4, 1, available_isas().back(), every_option, rnn); };
    Learner whole = learner(), first = learner(), second = learner();
    whole.iterate(0, 5);
    first.iterate(0, 3);
    AlgorithmState(*second.ppo).write(AlgorithmState(*first.ppo).bytes());
    second.ppo->state_changed();
    second.iterate(3, 5);
    EXPECT_EQ(AlgorithmState(*second.ppo).bytes(), AlgorithmState(*whole.ppo).bytes());
    EXPECT_EQ(second.ppo->slots().field_fingerprints(), whole.ppo->slots().field_fingerprints());
    EXPECT_NE(second.ppo->slots().fingerprints()[0], first.ppo->slots().fingerprints()[0]);
  }
}

TEST_P(PpoOn, LearningIsBitIdenticalOnEveryInstructionSet) {
  for (const auto& [every_option, rnn] : {std::pair{false, "none"}, {true, "none"}, {true, "gru"}, {false, "lstm"}}) {
    std::map<std::string, std::vector<std::byte>> expected;
    for (Isa isa : available_isas()) {
      Learner learner(GetParam(), 2, 4, 2, isa, every_option, rnn);
      learner.iterate(0, 4);
      const auto bytes = AlgorithmState(*learner.ppo).bytes();
      if (expected.empty()) expected = bytes;
      EXPECT_EQ(bytes, expected) << name_of(isa);
    }
  }
}

// With a single mini-batch, the number of shards changes only the order of sums. With several, it also changes which
// samples are in which mini-batch.
TEST_P(PpoOn, ShardsOnlyChangeTheCompositionOfMiniBatches) {
  const auto parameters = [](int shards, int mini_batches) {
    Learner learner(GetParam(), 1, mini_batches, shards);
    learner.iterate(0, 1);
    const std::span<const float> all = learner.ppo->host_parameters();
    return std::vector<float>(all.begin(), all.end());
  };
  const std::vector<float> one = parameters(1, 1), four = parameters(4, 1);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(four[i], one[i], 1e-5) << i;
  EXPECT_NE(parameters(4, 4), parameters(1, 4));
}

INSTANTIATE_TEST_SUITE_P(Tasks, PpoOn, testing::Values("Cartpole", "CartPole-v1"), [](const auto& info) {
  return std::string(info.param) == "Cartpole" ? "Gaussian" : "Categorical";
});

// A smoke test of the whole algorithm: episodes become longer.
TEST(Ppo, LearnsCartPole) {
  Learner run("CartPole-v1");
  double first = 0, last = 0;
  for (int iteration = 0; iteration < 30; ++iteration) {
    run.iterate(iteration, iteration + 1);
    const EpisodeSums& episodes = run.ppo->stats().episodes;
    if (iteration == 1) first = episodes.length / episodes.count;
    last = episodes.length / episodes.count;
  }
  EXPECT_GT(last, 2 * first);
}

}  // namespace
}  // namespace drl
