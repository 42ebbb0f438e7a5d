// Compares updates of SAC and TD3 with autograd of independent implementations in libtorch, in double, and their replay
// buffer with the rollouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/algorithm_state.hpp"
#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/random_env.hpp"
#include "../support/set_options.hpp"
#include "../support/test_engine.hpp"
#include "algorithms/sac/sac.hpp"
#include "algorithms/td3/td3.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kObs = 5, kActions = 3;
constexpr int64_t kEnvs = 6, kSteps = 10;
constexpr float kBound = 2;

struct Case {
  std::string name, options;
  int critic_obs = 0;
  bool fused = true;
  int shards = 1;
};

TaskSpec task_of(const Case& c) {
  TaskSpec task = gaussian_task(kObs, kActions, kBound);
  task.critic_obs_dim = c.critic_obs;
  task.mirror = {
      .obs = {{1, 1}, {0, 1}, {2, -1}, {4, -1}, {3, -1}}, .critic_obs = {}, .action = {{0, -1}, {2, 1}, {1, 1}}};
  for (int32_t k = 0; k < c.critic_obs; ++k) task.mirror.critic_obs.push_back({c.critic_obs - 1 - k, 1});
  return task;
}

template <class Learner>
struct Example {
  static constexpr bool kIsSac = std::is_same_v<Learner, Sac>;
  explicit Example(const Case& c) : env(task_of(c), kEnvs) {
    policy.actor_hidden_dims = {16, 24}, policy.critic_hidden_dims = {32, 8};
    policy.distribution = "squashed_gaussian", policy.state_dependent_std = kIsSac;
    policy.init_std = 0.5, policy.std_min = 0.01, policy.std_max = 7;
    options.batch_size = 500, options.replay_size = 8 * kEnvs;  // older transitions make room
    options.learning_starts = 1000;                             // tests call enqueue_update themselves
    options.obs_normalization = true;
    if constexpr (kIsSac) options.initial_temperature = 0.3;
    OptionTable table;
    table.section("policy", "", policy);
    table.section(std::string(Learner::kTraits.name), "", options);
    set_options(table, c.options);
    spec = policy_spec(env.spec(), policy, options.normalizer(), /*has_critic=*/false);
    spec.separate_critic = options.critic_net(env.spec(), policy);
    nets = make_nets(c, spec.layout);
    BatchPlan plan{.num_envs = kEnvs, .num_steps = kSteps, .shards = c.shards};
    plan.replay_rows = options.batch_size;
    engine.emplace([this, c](const ParamLayout& layout) { return make_nets(c, layout); });
    LearnerParts parts{*queue, policy, plan, 1, spec, *nets, env};
    parts.engine = &*engine;
    learner.emplace(parts, options);
  }
  std::unique_ptr<Nets> make_nets(const Case& c, const ParamLayout& layout) {
    return c.fused ? make_fused_nets(*queue, layout, 1) : make_torch_nets(*queue, layout, 1);
  }

  RandomEnv env;
  PolicyOptions policy;
  typename Learner::Options options;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::optional<TestEngine> engine;
  std::optional<Learner> learner;
};

// A transition as the test has seen it.
struct Transition {
  std::vector<float> obs, next_obs, action;
  float reward;
  bool terminated, truncated;
};

// Returns each environment's transitions in the learner's last rollout.
std::vector<std::vector<Transition>> transitions(const RolloutView& r) {
  std::vector<std::vector<Transition>> all(static_cast<size_t>(r.num_envs));
  const auto row = [](const float* x, int64_t i, int64_t dim) {
    return std::vector<float>(x + i * dim, x + (i + 1) * dim);
  };
  for (int64_t env = 0; env < r.num_envs; ++env)
    for (int64_t t = 0, ends = 0; t < r.num_steps; ++t) {
      const int64_t i = t * r.num_envs + env;
      const bool truncated = r.truncated[i] != 0;
      all[static_cast<size_t>(env)].push_back(
          {row(r.obs, i, r.obs_dim),
           truncated ? row(r.last_obs, ends++ * r.num_envs + env, r.obs_dim) : row(r.obs, i + r.num_envs, r.obs_dim),
           row(reinterpret_cast<const float*>(r.action), i, kActions), r.reward[i], r.terminated[i] != 0, truncated});
    }
  return all;
}

// After 10 steps, a ring of 8 has the steps 8, 9, 2, ..., 7, and after the next 10 the steps 16, ..., 19, 12, ..., 15.
// Row 0 of a rollout is overwritten at its end, so that its observations come from the rollout before.
TEST(SacReplay, HoldsTheLastTransitionsOfEachEnvironment) {
  Example<Sac> s({"", ""});
  Listener comm([](std::span<const float>) {});
  std::vector<std::vector<Transition>> seen(kEnvs);
  for (int iteration : {0, 1}) {
    s.learner->iterate(iteration, comm);
    const auto now = transitions(s.learner->rollout());
    for (size_t env = 0; env < kEnvs; ++env) seen[env].insert(seen[env].end(), now[env].begin(), now[env].end());
  }
  const ReplayView& replay = s.learner->replay().view();
  ASSERT_EQ(s.learner->replay().filled(), 8);
  int truncations = 0;
  for (int64_t env = 0; env < kEnvs; ++env)
    for (int64_t step = 12; step < 20; ++step) {
      const Transition& t = seen[static_cast<size_t>(env)][static_cast<size_t>(step)];
      const int64_t row = env * 8 + step % 8;
      const auto expect = [&](const float* at, const std::vector<float>& numbers) {
        EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), at + row * static_cast<int64_t>(numbers.size()))) << row;
      };
      expect(replay.obs, t.obs), expect(replay.action, t.action);
      if (!t.terminated) expect(replay.next_obs, t.next_obs);
      EXPECT_EQ(replay.reward[row], t.reward);
      EXPECT_EQ(replay.end[row], t.terminated  ? ReplayEnd::terminated
                                 : t.truncated ? ReplayEnd::truncated
                                               : ReplayEnd::goes_on);
      truncations += t.truncated;
    }
  EXPECT_GT(truncations, 3);
}

// If environments start anew after a resume, the newest transitions do not lead to their observations. Episodes that
// went on then end with a truncation, so that no sum of rewards crosses the border.
TEST(SacReplay, EndsEpisodesOfEnvironmentsThatStartAnew) {
  Example<Sac> s({"", ""});
  Listener comm([](std::span<const float>) {});
  s.learner->iterate(0, comm);
  const ReplayView& replay = s.learner->replay().view();
  const auto ends = [&] {
    std::vector<uint8_t> all;
    for (int64_t env = 0; env < kEnvs; ++env) all.push_back(replay.end[env * 8 + 9 % 8]);
    return all;
  };
  const std::vector<uint8_t> before = ends();
  s.learner->state_changed();
  EXPECT_EQ(ends(), before);
  const AlgorithmState state(*s.learner);
  std::vector<float> obs = state.numbers<float>("rollout/obs");
  obs[0] += 1, obs[3 * kObs] += 1;
  state.fields.at("rollout/obs").write(std::as_bytes(std::span(obs)));
  s.learner->state_changed();
  std::vector<uint8_t> expected = before;
  for (const size_t env : {0, 3})
    if (expected[env] == ReplayEnd::goes_on) expected[env] = ReplayEnd::truncated;
  EXPECT_NE(expected, before);
  EXPECT_EQ(ends(), expected);
}

// Returns the scale of normalised rewards by the statistics in the learner's state.
double reward_scale_of(Algorithm& learner, const OffPolicyOptions& options) {
  if (!options.reward_normalization) return 1;
  const AlgorithmState state(learner);
  const double std = std::sqrt(state.numbers<double>("reward_normalizer/variance")[0] + 1e-8);
  return 1 / std::max(std, state.numbers<double>("reward_normalizer/largest")[0] / options.reward_limit);
}

// The statistics are those of the discounted sums of each environment's rewards, which start anew with each episode.
TEST(SacRewards, AreDividedByTheSpreadOfDiscountedSums) {
  Example<Sac> s({"", "sac.reward_normalization=true sac.gamma=0.8"});
  Listener comm([](std::span<const float>) {});
  std::vector<double> sums, running(kEnvs, 0.0);
  for (int iteration : {0, 1}) {
    s.learner->iterate(iteration, comm);
    const RolloutView& r = s.learner->rollout();
    for (int64_t i = 0; i < r.samples(); ++i) {
      double& sum = running[static_cast<size_t>(i % kEnvs)];
      sums.push_back(sum = 0.8 * sum + double{r.reward[i]});
      if (r.terminated[i] || r.truncated[i]) sum = 0;
    }
  }
  double mean = 0, variance = 0, largest = 0;
  const auto count = static_cast<double>(sums.size());
  for (const double x : sums) mean += x / count, largest = std::max(largest, std::abs(x));
  for (const double x : sums) variance += (x - mean) * (x - mean) / count;
  const AlgorithmState state(*s.learner);
  EXPECT_NEAR(state.numbers<double>("reward_normalizer/variance")[0], variance, 1e-5 * variance);
  EXPECT_NEAR(state.numbers<double>("reward_normalizer/largest")[0], largest, 1e-6 * largest);
  const std::vector<float> carried = state.numbers<float>("reward_normalizer/discounted_return");
  for (size_t env = 0; env < kEnvs; ++env) EXPECT_NEAR(carried[env], running[env], 1e-5);
}

// The samples of a batch by their definition: 64-bit random numbers choose an environment of the shard and a
// transition.
struct Samples {
  std::vector<int32_t> first, last;
  std::vector<bool> mirrored;
  std::vector<double> returns, discount;

  template <class Learner>
  Samples(Example<Learner>& s, int shards, int64_t update) {
    const ReplayView& replay = s.learner->replay().view();
    const auto [filled, next] = s.learner->replay().range();
    const OffPolicyOptions& o = s.options;
    const double scale = o.reward_scale * reward_scale_of(*s.learner, o);
    const auto below = [](uint64_t low, uint64_t high, int64_t bound) {
      return static_cast<int64_t>((static_cast<unsigned __int128>(high << 32 | low) * static_cast<uint64_t>(bound)) >>
                                  64);
    };
    for (int64_t j = 0; j < o.batch_size; ++j) {
      const Words4 bits = random_bits(1, Purpose::replay, static_cast<uint64_t>(j), static_cast<uint64_t>(update));
      const int64_t of_shard = kEnvs / shards, shard = j / (o.batch_size / shards);
      const int64_t env = shard * of_shard + below(bits[0], bits[1], of_shard), age = below(bits[2], bits[3], filled);
      mirrored.push_back(o.symmetry == "augment" && bits[0] % 2 == 1);
      double sum = 0, factor = 1;
      int64_t row = 0;
      for (int64_t k = age; k < std::min(age + o.n_step, filled); ++k) {
        row = env * replay.capacity + (next + replay.capacity - filled + k) % replay.capacity;
        if (k == age) first.push_back(static_cast<int32_t>(row));
        sum += factor * scale * replay.reward[row], factor *= o.gamma;
        if (replay.end[row] != ReplayEnd::goes_on) break;
      }
      last.push_back(static_cast<int32_t>(row)), returns.push_back(sum);
      discount.push_back(replay.end[row] == ReplayEnd::terminated ? 0 : factor);
    }
  }
};

at::Tensor tensor(const std::vector<double>& x) {
  return at::from_blob(const_cast<double*>(x.data()), {static_cast<int64_t>(x.size())}, at::kDouble).clone();
}

// The losses of one update, with the numbers of the learner before it.
template <class Learner>
struct Reference {
  Reference(Example<Learner>& s, int shards, int64_t update)
      : s(s), state(*s.learner), samples(s, shards, update), replay(s.learner->replay().view()) {}

  at::Tensor rows(const float* x, const std::vector<int32_t>& of, int64_t dim) const {
    const auto all = static_cast<size_t>(replay.num_envs * replay.capacity * dim);
    const Mirror& mirror = s.env.spec().mirror;
    const std::vector<MirroredNumber>& table = dim == kObs       ? mirror.obs
                                               : dim == kActions ? mirror.action
                                                                 : mirror.critic_obs;
    at::Tensor numbers = as_double({x, all}).reshape({-1, dim}).index_select(0, as_index(of)).clone();
    for (size_t i = 0; i < of.size(); ++i)
      if (samples.mirrored[i]) {
        const at::Tensor before = numbers[static_cast<int64_t>(i)].clone();
        for (int64_t k = 0; k < dim; ++k)
          numbers[static_cast<int64_t>(i)][k] =
              before[table[static_cast<size_t>(k)].source] * double{table[static_cast<size_t>(k)].sign};
      }
    return numbers;
  }
  at::Tensor flat(const ParamLayout& layout, const std::string& prefix) const {
    at::Tensor all = at::zeros({layout.size()}, at::kDouble);
    for (const ParamSlice& slice : layout.slices())
      all.narrow(0, slice.offset, slice.count()).copy_(as_double(state.numbers<float>(prefix + slice.name)));
    return all;
  }
  // Normalises with the moments in the state, epsilon 0.01 and limits of 10.
  at::Tensor normalized(const at::Tensor& x, const std::string& name) const {
    const at::Tensor mean = tensor(state.numbers<double>("normalizer/" + name + "/mean")),
                     variance = tensor(state.numbers<double>("normalizer/" + name + "/variance"));
    return ((x - mean) / (variance.sqrt() + 0.01)).clamp(-10, 10);
  }
  double temperature() const { return std::exp(double{state.numbers<float>("sac/log_temperature")[0]}); }

  // Actions drawn from the actor with the standard normals of a purpose, and their log-probabilities.
  struct Actions {
    at::Tensor action, log_prob;
  };
  at::Tensor normals(int64_t count, Purpose purpose, int64_t step) const {
    std::vector<double> z;
    for (int64_t i = 0; i < count; ++i)
      standard_normals<float>(ActionNoise{1, 0, static_cast<uint64_t>(step), purpose}, i, kActions,
                              [&](int, float x) { z.push_back(double{x}); });
    return tensor(z).reshape({-1, kActions});
  }
  at::Tensor mean(const at::Tensor& actor, const at::Tensor& obs) const {
    return mlp(s.spec.layout, s.spec.actor, actor, normalized(obs, "obs"));
  }
  Actions draw(const at::Tensor& actor, const at::Tensor& obs, Purpose purpose, int64_t step) const {
    const at::Tensor out = mlp(s.spec.layout, s.spec.actor, actor, normalized(obs, "obs")),
                     mean = out.narrow(1, 0, kActions),
                     log_std = out.narrow(1, kActions, kActions)
                                   .clamp(std::log(s.policy.std_min), std::log(s.policy.std_max));
    const at::Tensor noise = normals(obs.size(0), purpose, step), x = mean + log_std.exp() * noise, u = x.tanh();
    return {kBound * u, (-0.5 * noise.pow(2) - log_std - 0.5 * std::log(2 * std::numbers::pi) -
                         (double{kBound} * (1 - u.pow(2))).log())
                            .sum(1)};
  }
  at::Tensor value(const at::Tensor& critics, const at::Tensor& obs, const at::Tensor& action) const {
    const at::Tensor a = q(critics, 0, obs, action), b = q(critics, 1, obs, action);
    return s.options.critics == "mean" ? (a + b) / 2 : at::min(a, b);
  }
  at::Tensor outputs(const at::Tensor& critics, NetId c, const at::Tensor& obs, const at::Tensor& action) const {
    const at::Tensor x = normalized(obs, replay.critic_obs_dim > 0 ? "critic_obs" : "obs");
    return mlp(s.learner->critic_layout(), c, critics, at::cat({x, action}, 1));
  }
  at::Tensor q(const at::Tensor& critics, NetId c, const at::Tensor& obs, const at::Tensor& action) const {
    const at::Tensor out = outputs(critics, c, obs, action);
    return s.options.atoms == 1 ? out.squeeze(1) : (out.softmax(1) * atoms()).sum(1);
  }
  at::Tensor atoms() const {
    return at::linspace(s.options.value_min, s.options.value_max, s.options.atoms, at::kDouble);
  }
  // The distribution of the next value, moved and shrunk, as seen through triangles around the atoms.
  at::Tensor target_distribution(const at::Tensor& targets, const at::Tensor& obs, const Actions& next) const {
    const at::Tensor a = outputs(targets, 0, obs, next.action).softmax(1),
                     b = outputs(targets, 1, obs, next.action).softmax(1);
    const at::Tensor first = ((a * atoms()).sum(1) <= (b * atoms()).sum(1)).unsqueeze(1);
    const at::Tensor p = s.options.critics == "mean" ? (a + b) / 2 : at::where(first, a, b);
    const at::Tensor values = (tensor(samples.returns).unsqueeze(1) +
                               tensor(samples.discount).unsqueeze(1) * (atoms() - next.log_prob.unsqueeze(1)))
                                  .clamp(s.options.value_min, s.options.value_max);
    const double gap = (s.options.value_max - s.options.value_min) / (s.options.atoms - 1);
    return (p.unsqueeze(2) * (1 - (values.unsqueeze(2) - atoms()).abs() / gap).clamp_min(0)).sum(1);
  }
  static std::string path(const std::string& name) { return std::string(Learner::kTraits.name) + "/" + name; }
  // The next actions, with the log-probability times the temperature. TD3 has the target actor's with clipped noise.
  Actions next_actions(int64_t update) const {
    const at::Tensor obs = rows(replay.next_obs, samples.last, kObs);
    if constexpr (Example<Learner>::kIsSac) {
      const Actions next = draw(flat(s.spec.layout, ""), obs, Purpose::next_action, update);
      return {next.action, temperature() * next.log_prob};
    } else {
      const at::Tensor noise = (s.options.policy_noise * normals(obs.size(0), Purpose::next_action, update))
                                   .clamp(-s.options.noise_clip, s.options.noise_clip);
      const at::Tensor u = mean(flat(s.spec.layout, path("target_")), obs).tanh();
      return {kBound * (u + noise).clamp(-1, 1), at::zeros({obs.size(0)}, at::kDouble)};
    }
  }
  at::Tensor critic_gradient(int64_t update) const {
    const at::Tensor targets = flat(s.learner->critic_layout(), path("target_")),
                     critics = flat(s.learner->critic_layout(), path("")).set_requires_grad(true);
    const Actions next = next_actions(update);
    const at::Tensor obs = rows((replay.critic_obs_dim > 0 ? replay.critic_obs : replay.obs), samples.first,
                                replay.critic_dim()),
                     action = rows(replay.action, samples.first, kActions);
    const at::Tensor next_obs =
        rows((replay.critic_obs_dim > 0 ? replay.next_critic_obs : replay.next_obs), samples.last, replay.critic_dim());
    if (s.options.atoms > 1) {
      const at::Tensor target = target_distribution(targets, next_obs, next);
      for (const NetId c : {0, 1}) (-(target * outputs(critics, c, obs, action).log_softmax(1)).sum()).backward();
      return critics.grad();
    }
    const at::Tensor next_value = value(targets, next_obs, next.action);
    const at::Tensor target = tensor(samples.returns) + tensor(samples.discount) * (next_value - next.log_prob);
    ((q(critics, 0, obs, action) - target).pow(2) + (q(critics, 1, obs, action) - target).pow(2)).sum().backward();
    return critics.grad();
  }
  // Returns the gradient of the actor, and then that of the temperature's logarithm.
  std::pair<at::Tensor, double> actor_gradient(int64_t update) const {
    const at::Tensor critics = flat(s.learner->critic_layout(), path("")),
                     actor = flat(s.spec.layout, "").set_requires_grad(true);
    const at::Tensor obs = rows(replay.obs, samples.first, kObs),
                     of_critic = rows((replay.critic_obs_dim > 0 ? replay.critic_obs : replay.obs), samples.first,
                                      replay.critic_dim());
    if constexpr (Example<Learner>::kIsSac) {
      const Actions drawn = draw(actor, obs, Purpose::policy_action, update);
      (temperature() * drawn.log_prob - value(critics, of_critic, drawn.action)).sum().backward();
      const double target_entropy = s.options.target_entropy.value_or(-kActions);
      return {actor.grad(), -temperature() * (drawn.log_prob + target_entropy).sum().template item<double>()};
    } else {
      (-q(critics, 0, of_critic, kBound * mean(actor, obs).tanh())).sum().backward();
      return {actor.grad(), 0};
    }
  }

  Example<Learner>& s;
  AlgorithmState state;
  Samples samples;
  const ReplayView& replay;
};

// Expects that the parameters `now` are those that the update moved from `before` by tau towards `params`.
template <class Learner>
void expect_moved(const Example<Learner>& s, const at::Tensor& now, const at::Tensor& before,
                  const at::Tensor& params) {
  EXPECT_LT(at::max(at::abs(now - (before + s.options.tau * (params - before)))).template item<double>(), 1e-7);
}

class SacGradientOf : public testing::TestWithParam<Case> {};

// The first all-reduce of an update is that of the critics. The critics then take a step, and the target critics move
// towards them. The other all-reduces are those of the actor and the temperature, each after a step of both.
TEST_P(SacGradientOf, EqualsAutogradOfTheSameLosses) {
  Example<Sac> s(GetParam());
  Listener silent([](std::span<const float>) {});
  for (int iteration : {0, 1}) s.learner->iterate(iteration, silent);
  int reductions = 0, update = 0, steps = 0;
  const ParamLayout &critics = s.learner->critic_layout(), &actor = s.spec.layout;
  const auto part = [](std::span<const float> all, int64_t count) { return all.first(static_cast<size_t>(count)); };
  Listener comm([&](std::span<const float> sums) {
    const Reference reference(s, GetParam().shards, update);
    if (reductions++ % 3 == 0) {
      expect_close_in_each_slice(critics, part(sums, critics.size()), reference.critic_gradient(update));
      return;
    }
    const auto [gradient, of_temperature] = reference.actor_gradient(steps++);
    expect_close_in_each_slice(actor, part(sums, actor.size()), gradient);
    const size_t after = (static_cast<size_t>(actor.size() + ActorColumn::count) + 3) / 4 * 4;
    EXPECT_NEAR(sums[after], of_temperature, 1e-5 * std::abs(of_temperature));
  });
  for (; update < 2; ++update) {
    const at::Tensor targets = Reference(s, GetParam().shards, update).flat(critics, "sac/target_");
    reductions = 0;
    s.learner->enqueue_update(comm);
    const Reference after(s, GetParam().shards, update);
    expect_moved(s, after.flat(critics, "sac/target_"), targets, after.flat(critics, "sac/"));
    EXPECT_EQ(reductions, update == 0 ? 1 : 3);
  }
  EXPECT_EQ(steps, 2);
}

// Decay of 0.5 shrinks a parameter p by learning rate * 0.5 * p in a step, beside the step that Adam takes without it.
TEST(Sac, WeightDecayShrinksCritics) {
  const auto after_one_update = [](const std::string& options) {
    Example<Sac> s({"", "sac.policy_delay=2 sac.critic_learning_rate=0.01 " + options});
    Listener comm([](std::span<const float>) {});
    s.learner->iterate(0, comm);
    const std::string name = "sac/critic/0/0/weight";
    std::vector<float> before = AlgorithmState(*s.learner).numbers<float>(name);
    s.learner->enqueue_update(comm);
    return std::pair(before, AlgorithmState(*s.learner).numbers<float>(name));
  };
  const auto [before, plain] = after_one_update("");
  const auto [same, decayed] = after_one_update("sac.weight_decay=0.5");
  ASSERT_EQ(before, same);
  for (size_t k = 0; k < before.size(); ++k) EXPECT_NEAR(decayed[k] - plain[k], -0.01 * 0.5 * before[k], 1e-6);
}

// A value that is not a number must not be used as an index.
TEST(ValueDistribution, OfANumberThatIsNoneIsNone) {
  std::vector<float> p(2 * 4, 0.25f), target(4, 0), q = {0, 0};
  const float nan = std::nanf(""), discount = 1, log_prob = 0;
  Loops()(1, ProjectTargets{{4, -1, 1},
                            {{&q[0], &q[1]}, Critics::smaller},
                            {&p[0], &p[4]},
                            &nan,
                            &discount,
                            &log_prob,
                            nullptr,
                            target.data()});
  EXPECT_TRUE(std::isnan(target[0]));
}

// FastSAC's actor takes one step after several of the critics.
TEST(Sac, TakesOneStepOfTheActorIfItsDelayIsNotCompensated) {
  Example<Sac> s({"", "sac.policy_delay=3 sac.compensate_delay=false"});
  int reductions = 0;
  Listener comm([&](std::span<const float>) { ++reductions; });
  s.learner->iterate(0, comm);
  for (int update = 0; update < 6; ++update) s.learner->enqueue_update(comm);
  EXPECT_EQ(reductions, 8);
}

INSTANTIATE_TEST_SUITE_P(
    Options, SacGradientOf,
    testing::Values(Case{"Plain", "policy.activation=relu"},
                    Case{"LibtorchNetworks", "policy.activation=tanh", 0, false},
                    Case{"Mean", "sac.critics=mean sac.tau=0.3"},
                    Case{"Norm", "policy.layer_norm=true policy.activation=silu sac.target_entropy=1"},
                    Case{"CriticObservations", "sac.reward_scale=0.1", 7},
                    Case{"Steps", "sac.n_step=3 sac.gamma=0.9 policy.std_max=0.45"}, Case{"Shards", "", 0, true, 2},
                    Case{"Atoms", "sac.atoms=21 sac.value_min=-3 sac.value_max=5 sac.n_step=2"},
                    Case{"AtomsMean", "sac.atoms=4 sac.critics=mean sac.value_max=30 policy.layer_norm=true", 7},
                    Case{"Residual", "sac.residual_critics=true policy.critic_hidden_dims=24,24 sac.weight_decay=0.1"},
                    Case{"ResidualLibtorch", "sac.residual_critics=true policy.critic_hidden_dims=8,8,8 sac.atoms=11",
                         7, false},
                    Case{"Symmetry", "sac.symmetry=augment sac.n_step=2", 7},
                    Case{"Rewards", "sac.reward_normalization=true sac.reward_limit=2 sac.reward_scale=3"}),
    [](const auto& info) { return info.param.name; });

// A policy that --init_from has loaded is the target actor, too, until the first step of the actor.
TEST(Td3, TheTargetActorStartsAsALoadedPolicy) {
  Example<Td3> s({"", ""});
  const AlgorithmState state(*s.learner);
  std::vector<float> bias = state.numbers<float>("policy/actor/1/bias");
  for (float& x : bias) x += 3;
  state.fields.at("policy/actor/1/bias").write(std::as_bytes(std::span(bias)));
  s.learner->state_changed();
  EXPECT_EQ(state.numbers<float>("td3/target_policy/actor/1/bias"), bias);
}

class Td3GradientOf : public testing::TestWithParam<Case> {};

// The second update also takes a step of the actor, and moves all targets.
TEST_P(Td3GradientOf, EqualsAutogradOfTheSameLosses) {
  Example<Td3> s(GetParam());
  Listener silent([](std::span<const float>) {});
  for (int iteration : {0, 1}) s.learner->iterate(iteration, silent);
  int reductions = 0, update = 0;
  const ParamLayout &critics = s.learner->critic_layout(), &actor = s.spec.layout;
  const int64_t learned = actor.slices()[static_cast<size_t>(s.spec.std)].offset;  // the std is not
  Listener comm([&](std::span<const float> sums) {
    const Reference reference(s, 1, update);
    const bool of_critics = reductions++ != 2;
    const auto part = sums.first(static_cast<size_t>(of_critics ? critics.size() : actor.size()));
    if (of_critics) return expect_close_in_each_slice(critics, part, reference.critic_gradient(update));
    const at::Tensor gradient = reference.actor_gradient(0).first;
    for (const ParamSlice& slice : actor.slices())
      if (slice.offset != learned)
        expect_close(part.subspan(static_cast<size_t>(slice.offset), static_cast<size_t>(slice.count())),
                     gradient.narrow(0, slice.offset, slice.count()), 2e-5, slice.name);
    EXPECT_EQ(part[static_cast<size_t>(learned)], 0);
  });
  s.learner->enqueue_update(comm);
  update = 1;
  const Reference before(s, 1, update);
  const at::Tensor targets = before.flat(critics, "td3/target_"), target_actor = before.flat(actor, "td3/target_");
  s.learner->enqueue_update(comm);
  const Reference after(s, 1, update);
  expect_moved(s, after.flat(critics, "td3/target_"), targets, after.flat(critics, "td3/"));
  expect_moved(s, after.flat(actor, "td3/target_"), target_actor, after.flat(actor, ""));
  EXPECT_EQ(reductions, 3);
}

INSTANTIATE_TEST_SUITE_P(Options, Td3GradientOf,
                         testing::Values(Case{"Plain", "policy.activation=relu"},
                                         Case{"Noise", "td3.policy_noise=2 td3.noise_clip=0.7 td3.n_step=2", 7},
                                         Case{"Atoms", "td3.atoms=51"}),
                         [](const auto& info) { return info.param.name; });

// TD3 explores by noise of 10 % of the bounds, clipped to them. Its first policy hardly moves, so that the noise's
// standard deviation is that of the differences from the most probable actions, 0.2.
TEST(Td3, ExploresByNoise) {
  Example<Td3> s({"", "td3.learning_starts=0"});
  Listener comm([](std::span<const float>) {});
  s.learner->iterate(0, comm);
  const Reference reference(s, 1, 0);
  const at::Tensor before = reference.flat(s.spec.layout, "");
  const at::Tensor of_first_step = [&] {
    const RolloutView& r = s.learner->rollout();
    return as_double({r.obs, static_cast<size_t>(r.num_envs * kObs)}).reshape({-1, kObs}).clone();
  }();
  const at::Tensor expected = kBound * reference.mean(before, of_first_step).tanh();
  s.learner->iterate(1, comm);
  const RolloutView& r = s.learner->rollout();
  const auto* action = reinterpret_cast<const float*>(r.action);
  const at::Tensor noise =
      as_double({action, static_cast<size_t>(r.num_envs * kActions)}).reshape({-1, kActions}) - expected;
  EXPECT_NEAR(noise.pow(2).mean().sqrt().item<double>(), 0.2, 4 * 0.2 / std::sqrt(2.0 * kEnvs * kActions));
}

// Before learning starts, actions are uniform between the bounds: with 600 numbers, the mean and the share of each
// quarter are within four standard deviations of 0 and 1/4.
TEST(Sac, FirstActionsAreUniform) {
  Example<Sac> s({"", ""});
  Listener comm([](std::span<const float>) {});
  std::vector<float> actions;
  for (int iteration = 0; iteration < 4; ++iteration) {
    s.learner->iterate(iteration, comm);
    const auto* first = reinterpret_cast<const float*>(s.learner->rollout().action);
    actions.insert(actions.end(), first, first + kSteps * kEnvs * kActions);
  }
  std::array<double, 4> quarter{};
  double mean = 0;
  for (const float a : actions) {
    mean += double{a} / static_cast<double>(actions.size());
    quarter[static_cast<size_t>((a + kBound) / (2 * kBound) * 4)] += 1 / static_cast<double>(actions.size());
  }
  EXPECT_NEAR(mean, 0, 4 * kBound / std::sqrt(3.0 * static_cast<double>(actions.size())));
  for (const double share : quarter)
    EXPECT_NEAR(share, 0.25, 4 * std::sqrt(0.25 * 0.75 / static_cast<double>(actions.size())));
}

}  // namespace
}  // namespace drl
