#include "algorithms/ppo/ppo.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <tuple>

#include "base/check.hpp"
#include "envs/make_env.hpp"
#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

// Three environments, three steps, observation 10 t + environment (t counts from 0 at the start), reward 1. At step 1
// environment 1 terminates and environment 2 is truncated; what they observed last is 50 and 60, and their next
// episodes begin at 1000. With `privileged`, only the critic observes this, and the actor sees -1.
class ScriptedEnv final : public VecEnv {
 public:
  explicit ScriptedEnv(bool privileged = false) : spec_(gaussian_task(1, 1)) { spec_.critic_obs_dim = privileged; }
  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return 3; }
  void reset(const StepRow& row) override {
    for (int k = 0; k < 3; ++k) observe(k, static_cast<float>(k), row.next_obs, row.next_critic_obs);
  }
  void step(int64_t step, const StepRow& row) override {
    for (int k = 0; k < 3; ++k) {
      const bool ends = step % 3 == 1 && k > 0;
      row.reward[k] = reward;
      row.terminated[k] = ends && (k == 1 || both);
      row.truncated[k] = ends && k == 2;
      observe(k, ends ? 1000 : static_cast<float>(10 * (step + 1) + k), row.next_obs, row.next_critic_obs);
      if (ends) observe(k, 40 + 10 * static_cast<float>(k), row.final_obs, row.final_critic_obs);
    }
  }
  EpisodeSums take_episode_sums() override { return {2, 10, 60, 7, {}}; }
  void visit_state(StateVisitor&) override {}

  bool both = false;  // environment 2 is said to have terminated, too
  float reward = 1;

 private:
  void observe(int k, float x, float* obs, float* critic_obs) const {
    obs[k] = spec_.critic_obs_dim ? -1 : x;
    if (spec_.critic_obs_dim) critic_obs[k] = x;
  }

  TaskSpec spec_;
};

// V(s) = s. Keeps what it is given, and returns the gradient and the KL it is told.
class ScriptedEngine final : public Engine {
 public:
  explicit ScriptedEngine(const NetworkSpec& spec)
      : layout_(network_layout(spec)), gradient_(parameter_count(layout_)) {}
  const std::vector<ParamSlice>& layout() const override { return layout_; }
  std::string description() const override { return "scripted"; }

  void collect(const float*, const Normalizers&, VecEnv& envs, uint64_t, int64_t first_step, ActionChoice,
               Rollout& r) override {
    r.std[0] = 1;
    for (int64_t t = 0; t < r.num_steps; ++t) envs.step(first_step + t, r.row(t));
  }
  void values(const float*, const Normalizers&, const float* obs, int64_t rows, float* out) override {
    std::copy_n(obs, rows, out);
  }
  void gradient(const float*, const Normalizers&, const Rollout& r, const MiniBatch& batch,
                float* grad_and_tail) override {
    advantage.assign(r.advantage.begin(), r.advantage.end());
    value.assign(r.value.begin(), r.value.end());
    return_target.assign(r.return_target.begin(), r.return_target.end());
    loss = batch.loss;
    const double n = static_cast<double>(batch.rows.size());
    for (size_t i = 0; i < gradient_.size(); ++i) grad_and_tail[i] = static_cast<float>(n * gradient_[i]);
    write_tail({n, n * kl, n * 2, n * 3, n * 4, n * 0.5}, grad_and_tail + gradient_.size());
  }

  double kl = 0;
  std::vector<float>& mean_gradient() { return gradient_; }  // [weight, bias, std, critic's weight, bias]
  std::vector<float> advantage, value, return_target;
  LossSettings loss;

 private:
  std::vector<ParamSlice> layout_;
  std::vector<float> gradient_;
};

// PPO on the script: 3 environments x 3 steps, 1 x 3 mini-batches unless told otherwise.
struct Script {
  explicit Script(bool privileged = false) : env(privileged) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {};
    options.gamma = 0.5;
    options.lam = 0;
    options.num_learning_epochs = 1;
    options.num_mini_batches = 3;
  }
  void start() {
    engine.emplace(network_spec(env.spec(), policy));
    ppo.emplace(options, policy, BatchPlan{3, 3, 0, 1, 1, options.num_mini_batches}, 1, env, *engine);
  }
  void iterate(int64_t iteration = 0) {
    if (!ppo) start();
    ppo->iterate(iteration, *comm, {});
  }

  PolicyOptions policy;
  PpoOptions options;
  ScriptedEnv env;
  std::optional<ScriptedEngine> engine;
  std::optional<Ppo> ppo;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

// lambda = 0: the advantage is the TD error r + 0.5 V(next) - V(now), in which V is the observation.
void expect_scripted_advantages(Script& script) {
  script.iterate();
  const std::vector<float> expected = {
      1 + 5.0f - 0,   1 + 5.5f - 1,
      1 + 6.0f - 2,  // step 0: V(next) = 10, 11, 12
      1 + 10.0f - 10, 1 + 0 - 11,
      1 + 30.0f - 12,  // step 1: goes on to 20; terminated; truncated at 60, never 1000
      1 + 15.0f - 20, 1 + 15.5f - 1000, 1 + 16.0f - 1000};
  EXPECT_EQ(script.engine->advantage, expected);
}

TEST(Ppo, TruncatedEpisodesAreWorthTheirLastObservationAndTerminatedOnesNothing) {
  Script script;
  expect_scripted_advantages(script);
}

TEST(Ppo, TheCriticsOwnObservationsAreUsedThroughout) {
  Script script(true);
  expect_scripted_advantages(script);
  script.iterate(1);
  EXPECT_EQ(script.engine->value[1], 31);  // they roll over, too
}

TEST(Ppo, AnEpisodeThatTerminatedAtItsStepLimitIsNotBootstrapped) {
  Script script;
  script.env.both = true;
  script.iterate();
  EXPECT_EQ(script.engine->advantage[5], 1 - 12);
}

TEST(Ppo, RewardScaleActsOnRewardsOnly) {
  Script script;
  script.options.reward_scale = 3;
  script.iterate();
  EXPECT_EQ(script.engine->advantage[0], 3 + 5.0f);
  EXPECT_EQ(script.engine->advantage[5], 3 + 30.0f - 12);
  EXPECT_EQ(script.ppo->stats().episodes.reward, 10);  // what is reported stays unscaled
}

TEST(Ppo, NextRolloutBeginsWhereThisOneEnded) {
  Script script;
  script.iterate(0);
  script.iterate(1);
  EXPECT_EQ(script.engine->value[0], 30);
  EXPECT_EQ(script.engine->value[1], 31);
}

TEST(Ppo, AdvantageMomentsAndExplainedVariance) {
  Script script;
  script.options.lam = 0.9;
  script.iterate();
  const auto variance = [](const std::vector<float>& x, double& mean) {
    double sum = 0;
    mean = 0;
    for (float v : x) mean += v / 9.0;
    for (float v : x) sum += std::pow(v - mean, 2) / 9;
    return sum;
  };
  double mean = 0, ignored = 0;
  const double advantage = variance(script.engine->advantage, mean),
               target = variance(script.engine->return_target, ignored);
  EXPECT_NEAR(script.engine->loss.advantage_mean, mean, 1e-4);
  EXPECT_NEAR(script.engine->loss.advantage_inv_std, 1 / (std::sqrt(advantage * 9 / 8) + 1e-8),
              1e-8);  // unbiased, as torch.std
  EXPECT_NEAR(script.ppo->stats().explained_variance, 1 - advantage / target, 1e-9);
}

TEST(Ppo, StatsAreMeansOverSamples) {
  Script script;
  script.iterate();
  const IterationStats& stats = script.ppo->stats();
  EXPECT_EQ(stats.surrogate_loss, 2);
  EXPECT_EQ(stats.value_loss, 3);
  EXPECT_EQ(stats.entropy, 4);
  EXPECT_EQ(stats.clip_fraction, 0.5);
  EXPECT_EQ(stats.action_std, 1);
  EXPECT_EQ(stats.episodes.count, 2);
  EXPECT_EQ(stats.episodes.length, 7);
  EXPECT_EQ(script.ppo->env_steps_per_iteration(), 9);
}

TEST(Ppo, ValueClipIsInfiniteWhenItIsOff) {
  Script script;
  script.options.value_clip = 0.7;
  script.iterate();
  EXPECT_EQ(script.engine->loss.value_clip, 0.7f);
  Script off;
  off.options.use_clipped_value_loss = false;
  off.iterate();
  EXPECT_EQ(off.engine->loss.value_clip, std::numeric_limits<float>::infinity());
}

TEST(Ppo, AdaptiveLearningRateStaysOnTheFirstMiniBatchOfAnIteration) {
  Script script;
  script.options.num_learning_epochs = 2;
  script.start();
  script.engine->kl = 1;
  script.iterate(0);  // six mini-batches
  EXPECT_NEAR(script.ppo->stats().learning_rate, 1e-3 / std::pow(1.5, 5), 1e-12);
  script.engine->kl = 1e-6;
  script.iterate(1);
  EXPECT_NEAR(script.ppo->stats().learning_rate, 1e-3, 1e-12);
}

TEST(Ppo, FixedAndLinearLearningRates) {
  Script fixed;
  fixed.options.schedule = "fixed";
  fixed.start();
  fixed.engine->kl = 1;
  fixed.iterate(5);
  EXPECT_EQ(fixed.ppo->stats().learning_rate, 1e-3);
  Script linear;
  linear.options.schedule = "linear";
  linear.options.schedule_iterations = 10;
  for (const auto& [iteration, rate] : {std::pair{0, 1e-3}, {5, 0.5e-3}, {10, 0.0}, {20, 0.0}}) {
    linear.iterate(iteration);
    EXPECT_DOUBLE_EQ(linear.ppo->stats().learning_rate, rate) << iteration;
  }
}

// With Adam's epsilon 1 the first step is rate * g / (|g| + 1), in which the length of g shows. The actor's gradient
// (3, 0, 4) is clipped to length 1; the critic's (0.3, 0.4) is short enough.
TEST(Ppo, ActorAndCriticAreClippedSeparately) {
  Script script;
  script.options.num_mini_batches = 1;
  script.options.adam_eps = 1;
  script.options.learning_rate = 0.1;
  script.start();
  script.engine->mean_gradient() = {3, 0, 4, 0.3f, 0.4f};
  const std::vector<float> before(script.ppo->parameters().begin(), script.ppo->parameters().end());
  script.iterate();
  const double clipped[] = {0.6, 0, 0.8, 0.3, 0.4};
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(script.ppo->parameters()[i] - before[i], -0.1 * clipped[i] / (clipped[i] + 1), 1e-6)
        << "parameter " << i;
  EXPECT_NEAR(script.ppo->stats().gradient_norm, std::hypot(5, 0.5), 1e-5);
}

TEST(Ppo, StdStaysInItsRange) {
  for (const auto& [type, slope, bound] : {std::tuple{"scalar", 1.0f, 0.3},
                                           {"scalar", -1.0f, 2.0},
                                           {"log", 1.0f, std::log(0.3)},
                                           {"log", -1.0f, std::log(2.0)}}) {
    Script script;
    script.policy.std_type = type;
    script.policy.std_min = 0.3;
    script.policy.std_max = 2;
    script.options.schedule = "fixed";
    script.options.learning_rate = 1;
    script.start();
    script.engine->mean_gradient() = {0, 0, slope, 0, 0};
    script.iterate();
    EXPECT_FLOAT_EQ(script.ppo->parameters()[2], static_cast<float>(bound)) << type << " " << slope;
  }
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

TEST(Ppo, NumbersThatAreNotFiniteEndTheRunNamingTheRank) {
  Script script;
  script.env.reward = NAN;
  EXPECT_EQ(error_of([&] { script.iterate(); }).find("numbers are not finite on rank 0 ("), 0u);
  Script diverged;
  diverged.start();
  diverged.engine->mean_gradient()[4] = INFINITY;
  EXPECT_EQ(error_of([&] { diverged.iterate(); }).find("the gradient is not finite ("), 0u);
}

// One float64 all-reduce an iteration, one float32 all-reduce a mini-batch, and what they carry.
TEST(Ppo, CountsOfCollectives) {
  Script script;
  script.options.num_learning_epochs = 2;
  script.options.obs_normalization = true;
  script.start();
  std::vector<double> riders = {7, 8};
  for (int i = 0; i < 4; ++i) script.ppo->iterate(i, *script.comm, riders);
  EXPECT_EQ(riders, (std::vector<double>{7, 8}));
  const CommStats& stats = script.comm->stats();
  EXPECT_EQ(stats.all_reduces_f64, 4);
  EXPECT_EQ(stats.bytes_f64, 4 * 8 * (2 + 5 + 4 + 3 + 1));  // riders; advantages, returns; episodes; observations; rank
  EXPECT_EQ(stats.all_reduces_f32, 4 * 2 * 3);
  EXPECT_EQ(stats.bytes_f32, 4 * 2 * 3 * 4 * (5 + 6));  // parameters and tail
  EXPECT_EQ(stats.host_calls, 0);
}

// Notes which normaliser each call saw, and the losses of each mini-batch.
class WatchingEngine final : public LoopEngine {
 public:
  using LoopEngine::LoopEngine;
  void collect(const float* params, const Normalizers& n, VecEnv& envs, uint64_t seed, int64_t step,
               ActionChoice choice, Rollout& r) override {
    seen.push_back(n.obs.inv_std[1]);
    LoopEngine::collect(params, n, envs, seed, step, choice, r);
    truncations += std::count(r.truncated.begin(), r.truncated.end(), 1);
  }
  void values(const float* params, const Normalizers& n, const float* obs, int64_t rows, float* out) override {
    seen.push_back(n.obs.inv_std[1]);
    LoopEngine::values(params, n, obs, rows, out);
  }
  void gradient(const float* params, const Normalizers& n, const Rollout& r, const MiniBatch& batch,
                float* grad) override {
    seen.push_back(n.obs.inv_std[1]);
    LoopEngine::gradient(params, n, r, batch, grad);
    losses.push_back(read_tail(grad + parameter_count(layout())));
  }
  std::vector<float> seen;
  std::vector<LossSums> losses;
  int64_t truncations = 0;
};

struct Watched {
  explicit Watched(const std::string& task) : env(make_env(task, {16, 0, 1, true})) {
    policy.actor_hidden_dims = policy.critic_hidden_dims = {8};
    options.obs_normalization = true;
    engine.emplace(network_spec(env->spec(), policy));
    ppo.emplace(options, policy, BatchPlan{16, 32, 0, 1, 1, 4}, 1, *env, *engine);
  }
  PolicyOptions policy;
  PpoOptions options;
  std::unique_ptr<VecEnv> env;
  std::optional<WatchingEngine> engine;
  std::optional<Ppo> ppo;
  std::unique_ptr<Communicator> comm = make_serial_communicator();
};

class PpoOn : public testing::TestWithParam<const char*> {};

// A normaliser that moved between collect and update would make the first ratio another number than 1.
TEST_P(PpoOn, NormaliserIsFrozenDuringAnIterationAndTheFirstRatioIsOne) {
  Watched run(GetParam());
  float before = 1;
  for (int iteration = 0; iteration < 6; ++iteration) {
    run.engine->seen.clear();
    run.engine->losses.clear();
    run.ppo->iterate(iteration, *run.comm, {});
    ASSERT_EQ(run.engine->seen.size(),
              1u + 2 + 20);  // collect, values of the rollout and of final observations, gradients
    for (float seen : run.engine->seen) EXPECT_EQ(seen, run.engine->seen[0]);
    EXPECT_EQ(run.engine->seen[0] == before, iteration == 0);  // the identity at first, and then another one each time
    before = run.engine->seen[0];
    const LossSums& first = run.engine->losses[0];
    EXPECT_EQ(first.clipped, 0);
    EXPECT_NEAR(first.kl / first.n, 0, 1e-6);
    EXPECT_GT(run.engine->losses[19].kl / first.n, 1e-5) << "later mini-batches have moved";
  }
  EXPECT_GT(run.engine->truncations, 0) << "final observations were evaluated";
}

INSTANTIATE_TEST_SUITE_P(Tasks, PpoOn, testing::Values("Cartpole", "CartPole-v1"), [](const auto& info) {
  return std::string(info.param) == "Cartpole" ? "Gaussian" : "Categorical";
});

// Not a proof of learning, but the whole of it together: CartPole-v1's value loss falls and episodes grow longer.
TEST(Ppo, LearnsCartPole) {
  Watched run("CartPole-v1");
  double first = 0, last = 0;
  for (int iteration = 0; iteration < 30; ++iteration) {
    run.ppo->iterate(iteration, *run.comm, {});
    const EpisodeSums& episodes = run.ppo->stats().episodes;
    if (iteration == 1) first = episodes.length / episodes.count;
    last = episodes.length / episodes.count;
  }
  EXPECT_GT(last, 2 * first);
}

}  // namespace
}  // namespace drl
