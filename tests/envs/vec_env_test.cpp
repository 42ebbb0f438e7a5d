#include "envs/vec_env.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../support/all_state.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "device/reduce.hpp"
#include "drl/lanes/philox.hpp"
#include "envs/make_env.hpp"
#include "scalar_env.hpp"
#include "simulators.hpp"
#include "tasks/builtin_tasks.hpp"

// Counts allocations. Not inlined, since the compiler would otherwise pair malloc with delete and warn.
static std::atomic<long> allocations{0};
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace drl {
namespace {

constexpr float kUntouched = -12345.0f;

float random01(int64_t index, int64_t step, int dimension) {
  return uniform01(
      random_bits(99, Purpose::benchmark, static_cast<uint64_t>(index), static_cast<uint64_t>(step))[dimension]);
}

// Draws actions that depend only on the global index and the step: choices, or numbers within the bounds.
void draw_actions(const ActionSpace& space, int64_t first, int64_t n, int64_t step, int32_t* choices, float* numbers) {
  for (int64_t k = 0; k < n; ++k) {
    if (space.discrete)
      choices[k] = static_cast<int32_t>(random01(first + k, step, 0) * static_cast<float>(space.size));
    for (int d = 0; d < space.size && !space.discrete; ++d)
      numbers[k * space.size + d] = space.low[d] + (space.high[d] - space.low[d]) * random01(first + k, step, d);
  }
}

// A VecEnv for an instruction set, with one StepRow whose arrays end with a guard element, and actions that depend only
// on the global index and the step. Stores the last observations of all episodes that end in a step.
class Rig {
 public:
  Rig(const std::string& task, const EnvConfig& config, Isa isa = available_isas().back())
      : config(config), queue(make_host_queue(isa)), env(make_env(task, config, *queue)) {
    const TaskSpec& spec = env->spec();
    n = config.num_envs, obs_dim = spec.obs_dim;
    obs.assign(n * obs_dim + 1, kUntouched);
    final_obs.assign(n * obs_dim + 1, kUntouched);
    reward.assign(n + 1, kUntouched);
    terminated.assign(n + 1, 77);
    truncated.assign(n + 1, 77);
    last_count.resize(n);
    numbers.resize(n);
    values.resize(n * spec.action.size);
    row.next_obs = obs.data();
    env->reset(*queue, row, {});
    row.action = spec.action.discrete ? static_cast<const void*>(numbers.data()) : values.data();
    row.reward = reward.data();
    row.terminated = terminated.data();
    row.truncated = truncated.data();
    row.last_obs = final_obs.data();
    row.last_count = last_count.data();
    row.last_rows = 1;
    row.every_end = true;
  }

  void choose_actions(int64_t step) {
    draw_actions(env->spec().action, config.first_global_index, n, step, numbers.data(), values.data());
  }
  void take_actions(int64_t step) {
    std::fill(last_count.begin(), last_count.end(), 0);
    env->step(*queue, {&step}, 0, n, row);
  }
  void step(int64_t step) {
    choose_actions(step);
    take_actions(step);
  }
  EpisodeSums episodes() {
    std::vector<double> sums(episode_columns(env->spec())), scratch(sum_scratch(*queue, sums.size()));
    env->take_episode_sums(*queue, sums.data(), scratch.data());
    return read_episodes(sums.data(), env->spec());
  }
  std::vector<float> obs_of(int64_t k) const { return {&obs[k * obs_dim], &obs[(k + 1) * obs_dim]}; }
  std::vector<float> final_obs_of(int64_t k) const { return {&final_obs[k * obs_dim], &final_obs[(k + 1) * obs_dim]}; }

  EnvConfig config;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> env;
  int64_t n = 0, obs_dim = 0;
  std::vector<float> obs, final_obs, reward, values;
  std::vector<int32_t> numbers, last_count;
  std::vector<uint8_t> terminated, truncated;
  StepRow row;
};

class EveryTask : public testing::TestWithParam<std::string> {};
// Returns the built-in tasks and the simulator of examples/own_simulator.
const std::vector<std::string>& all_tasks() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = task_names();
    all.emplace_back("Arm");
    register_test_simulators();
    return all;
  }();
  return names;
}
INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, testing::ValuesIn(all_tasks()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

TEST_P(EveryTask, TrajectoriesDependOnlyOnSeedAndGlobalIndex) {
  const int64_t n = 67, steps = 300;  // 67 covers full packs, a partial one, and single environments
  Rig all(GetParam(), {.num_envs = n, .first_global_index = 5, .seed = 3});
  std::vector<std::unique_ptr<Rig>> parts;
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 16}, {16, 1}, {17, 33}, {50, 17}}) {
    parts.push_back(
        std::make_unique<Rig>(GetParam(), EnvConfig{.num_envs = count, .first_global_index = 5 + first, .seed = 3}));
  }
  for (int64_t t = 0; t < steps; ++t) {
    all.step(t);
    for (auto& part : parts) {
      part->step(t);
      const int64_t first = part->config.first_global_index - 5;
      for (int64_t k = 0; k < part->n; ++k) {
        ASSERT_EQ(part->obs_of(k), all.obs_of(first + k)) << "step " << t << " environment " << first + k;
        ASSERT_EQ(part->final_obs_of(k), all.final_obs_of(first + k));
        ASSERT_EQ(part->reward[k], all.reward[first + k]);
        ASSERT_EQ(part->terminated[k], all.terminated[first + k]);
        ASSERT_EQ(part->truncated[k], all.truncated[first + k]);
      }
    }
  }
}

TEST_P(EveryTask, SeedsAndEnvironmentsDiffer) {
  Rig one(GetParam(), {.num_envs = 8, .seed = 1}), two(GetParam(), {.num_envs = 8, .seed = 2});
  for (int64_t k = 0; k < 8; ++k) {
    EXPECT_NE(one.obs_of(k), two.obs_of(k));
    for (int64_t other = 0; other < k; ++other) EXPECT_NE(one.obs_of(k), one.obs_of(other));
  }
}

TEST_P(EveryTask, WritesOnlyItsRowsAndResetWritesOnlyObservations) {
  Rig rig(GetParam(), {.num_envs = 19, .seed = 1});
  EXPECT_EQ(rig.reward[0], kUntouched);
  EXPECT_EQ(rig.terminated[0], 77);
  for (int64_t t = 0; t < 1100; ++t) rig.step(t);
  EXPECT_EQ(rig.obs.back(), kUntouched);
  EXPECT_EQ(rig.final_obs.back(), kUntouched);
  EXPECT_EQ(rig.reward.back(), kUntouched);
  EXPECT_EQ(rig.terminated.back(), 77);
  EXPECT_EQ(rig.truncated.back(), 77);
  for (size_t i = 0; i + 1 < rig.obs.size(); ++i) EXPECT_NE(rig.obs[i], kUntouched);
}

TEST_P(EveryTask, RestoredStateContinuesBitIdentically) {
  Rig first(GetParam(), {.num_envs = 37, .seed = 4, .random_start_ages = true});
  for (int64_t t = 0; t < 450; ++t) first.step(t);
  first.episodes();
  Rig second(GetParam(), {.num_envs = 37, .seed = 4});
  AllState(*second.env).write(AllState(*first.env).bytes());
  for (int64_t t = 450; t < 1500; ++t) {
    first.step(t);
    second.step(t);
    ASSERT_EQ(first.obs, second.obs) << t;
    ASSERT_EQ(first.reward, second.reward) << t;
    ASSERT_EQ(first.truncated, second.truncated) << t;
  }
  const EpisodeSums a = first.episodes(), b = second.episodes();
  EXPECT_GT(a.count, 0);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.reward, b.reward);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.terms, b.terms);
}

TEST_P(EveryTask, StateIsListedPerEnvironment) {
  Rig rig(GetParam(), {.num_envs = 5});
  const auto all = AllState(*rig.env).fields;
  for (const char* name : {"env/age", "env/episode_reward", "env/stale"}) EXPECT_TRUE(all.contains(name)) << name;
  const StateList list = list_state([&](StateVisitor& visitor) { rig.env->visit_state(visitor); });
  EXPECT_EQ(all.size(), list.size()) << "two fields have the same name";
  for (const StateField& field : list) {
    EXPECT_EQ(field.shape.at(0), 5) << field.name;
    EXPECT_EQ(field.sharding, Sharding::per_env) << field.name;
  }
}

// Groups are formed by global index, on any rank. Starts are equal within a group, and differ between groups and steps.
TEST_P(EveryTask, GroupsStartFromTheSameState) {
  constexpr int64_t kEnvs = 24, kGroup = 4;
  Rig all(GetParam(), {kEnvs, 0, 5, true}), part(GetParam(), {8, 16, 5, true});
  std::set<std::vector<float>> starts;
  for (int64_t step : {0, 1, 500}) {
    for (Rig* rig : {&all, &part}) rig->env->reset(*rig->queue, rig->row, {{&step}, kGroup});
    for (int64_t k = 0; k < kEnvs; ++k) EXPECT_EQ(all.obs_of(k), all.obs_of(k / kGroup * kGroup)) << k;
    for (int64_t k = 0; k < 8; ++k) EXPECT_EQ(part.obs_of(k), all.obs_of(16 + k)) << k;
    for (int64_t k = 0; k < kEnvs; ++k) starts.insert(all.obs_of(k));
  }
  EXPECT_EQ(starts.size(), 3u * kEnvs / kGroup);
  EXPECT_THROW(Rig(GetParam(), {4, 2, 5}).env->reset(*all.queue, all.row, {{}, kGroup}), Error);
}

// After each reset with groups, only the first episode of each environment is counted, from age 0.
TEST_P(EveryTask, GroupsCountOnlyTheFirstEpisode) {
  Rig rig(GetParam(), {16, 0, 5, true});
  const int64_t limit = rig.env->spec().step_limit;
  for (int64_t first : {int64_t{0}, 2 * limit}) {
    rig.env->reset(*rig.queue, rig.row, {{&first}, 2});
    std::vector<bool> ended(16);
    double reward = 0, length = 0;
    for (int64_t step = first; step < first + 2 * limit; ++step) {
      rig.step(step);
      for (size_t k = 0; k < 16; ++k) {
        if (ended[k]) continue;
        reward += static_cast<double>(rig.reward[k]), length += 1;
        ended[k] = rig.terminated[k] || rig.truncated[k];
      }
    }
    const EpisodeSums sums = rig.episodes();
    EXPECT_EQ(sums.count, 16);
    EXPECT_EQ(sums.length, length);
    EXPECT_NEAR(sums.reward, reward, 1e-4 * std::abs(reward));
  }
}

// Adds up returns and lengths from the rows, environment by environment.
TEST_P(EveryTask, EpisodeSumsAgreeWithTheRows) {
  const int64_t n = 21;
  Rig rig(GetParam(), {.num_envs = n, .seed = 6});
  EpisodeSums expected;
  std::vector<double> reward(n), length(n);
  const int limit = rig.env->spec().step_limit;
  for (int64_t t = 0; t < 1100; ++t) {
    rig.step(t);
    for (int64_t k = 0; k < n; ++k) {
      reward[k] += rig.reward[k];
      length[k] += 1;
      EXPECT_FALSE(rig.terminated[k] && rig.truncated[k]);
      EXPECT_EQ(rig.truncated[k], length[k] == limit && !rig.terminated[k]);
      if (!rig.terminated[k] && !rig.truncated[k]) continue;
      expected.count += 1;
      expected.reward += reward[k];
      expected.length += length[k];
      reward[k] = length[k] = 0;
    }
  }
  const EpisodeSums sums = rig.episodes();
  ASSERT_GT(expected.count, 0);
  EXPECT_EQ(sums.count, expected.count);
  EXPECT_EQ(sums.length, expected.length);
  EXPECT_NEAR(sums.reward / expected.reward, 1, 1e-5);
  EXPECT_EQ(sums.terms.size(), rig.env->spec().reward_terms.size());
  double terms = 0;
  for (double term : sums.terms) terms += term;
  if (!sums.terms.empty()) {
    EXPECT_NEAR(terms / expected.reward, 1, 1e-5);
  }
  EXPECT_EQ(rig.episodes().count, 0);
}

TEST_P(EveryTask, StepAllocatesNothing) {
  Rig rig(GetParam(), {.num_envs = 40, .seed = 1});
  const long before = allocations;
  for (int64_t t = 0; t < 1100; ++t) rig.step(t);
  EXPECT_EQ(allocations - before, 0);
}

TEST_P(EveryTask, RandomStartAgesSpreadTheTimeLimitsAndDoNotCount) {
  const int64_t n = 2000;
  Rig rig(GetParam(), {.num_envs = n, .seed = 8, .random_start_ages = true});
  const std::vector<int32_t> ages = AllState(*rig.env).numbers<int32_t>("env/age");
  const int limit = rig.env->spec().step_limit;
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    EXPECT_GE(ages[k], 0);
    EXPECT_LT(ages[k], limit);
    sum += ages[k];
  }
  EXPECT_NEAR(sum / n, (limit - 1) / 2.0, 5 * 0.29 * limit / std::sqrt(n));  // uniform, within five deviations
  // The first episode of an environment ends at its limit or before and is not counted; the second one is counted.
  std::vector<int> ended(n);
  double counted = 0;
  for (int t = 0; t < limit + 50; ++t) {
    rig.step(t);
    for (int64_t k = 0; k < n; ++k) {
      if (rig.truncated[k] && ended[k] == 0) {
        EXPECT_EQ(ages[k] + t + 1, limit);
      }
      if (rig.terminated[k] || rig.truncated[k]) counted += ended[k]++ > 0;
    }
  }
  EXPECT_EQ(rig.episodes().count, counted);
}

// Also checks auto-reset.
template <template <class> class Task>
void expect_bits_of_scalar_code(Isa isa) {
  Stepped s(Task<float>::name, {.num_envs = 35, .first_global_index = 100, .seed = 11}, 1100, isa, true);
  const auto choose = [](const Stepped& of, int64_t t) {
    draw_actions(of.envs->spec().action, of.first, of.n, t, reinterpret_cast<int32_t*>(of.r.action) + t * of.n,
                 of.r.env_action);
  };
  expect_bits_of_scalar_code<Task<float>>(s, 11, 1100, choose, [](const auto&, int64_t) {});
}
TEST(TaskEnvs, AreBitIdenticalToScalarCode) {
  for (Isa isa : available_isas()) {
    SCOPED_TRACE(name_of(isa));
    expect_bits_of_scalar_code<Cartpole>(isa);
    expect_bits_of_scalar_code<CartPoleV1>(isa);
    expect_bits_of_scalar_code<PendulumV1>(isa);
    expect_bits_of_scalar_code<AcrobotV1>(isa);
    expect_bits_of_scalar_code<MountainCarV0>(isa);
    expect_bits_of_scalar_code<MountainCarContinuousV0>(isa);
  }
  EXPECT_EQ(all_tasks().size(), 6u + 1) << "add the new built-in task to this test";
}

// Stepping ranges in any order equals stepping all environments at once.
TEST_P(EveryTask, RangesMayBeSteppedOneByOne) {
  Rig whole(GetParam(), {.num_envs = 50, .seed = 9}), cut(GetParam(), {.num_envs = 50, .seed = 9});
  for (int64_t t = 0; t < 600; ++t) {
    whole.step(t);
    cut.choose_actions(t);
    for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{33, 17}, {0, 1}, {1, 32}})
      cut.env->step(*cut.queue, {&t}, begin, count, cut.row);
    ASSERT_EQ(whole.obs, cut.obs) << t;
    ASSERT_EQ(whole.reward, cut.reward) << t;
  }
}

// The last observation of the k-th truncated episode goes to row k. Those of terminated episodes are not stored.
TEST(TaskEnvs, StoreLastObservationsOfTruncatedEpisodes) {
  const int64_t n = 3, rows = 3;
  Rig rig("Pendulum-v1", {.num_envs = n, .seed = 4});  // never terminates; 200 steps an episode
  std::vector<float> last(rows * n * 3, kUntouched), before;
  rig.row.last_obs = last.data(), rig.row.last_rows = rows, rig.row.every_end = false;
  for (int64_t t = 0; t < 400; ++t) {
    rig.choose_actions(t);
    rig.env->step(*rig.queue, {&t}, 0, n, rig.row);
  }
  EXPECT_EQ(rig.last_count, std::vector<int32_t>(n, 2));
  Rig slow("Pendulum-v1", {.num_envs = n, .seed = 4});
  for (int64_t t = 0; t < 200; ++t) slow.step(t);
  EXPECT_EQ(std::vector<float>(last.begin(), last.begin() + n * 3),
            std::vector<float>(slow.final_obs.begin(), slow.final_obs.end() - 1));
  EXPECT_TRUE(std::all_of(last.begin() + 2 * n * 3, last.end(), [](float x) { return x == kUntouched; }));
}

// Two cars take their last step before the limit. The first reaches its goal in this step.
TEST(TaskEnvs, AnEpisodeThatTerminatesAtTheLimitIsNotTruncated) {
  Rig rig("MountainCar-v0", {.num_envs = 2});
  const AllState state(*rig.env);
  auto bytes = state.bytes();
  const auto set = [&](const std::string& name, auto first, auto second) {
    const decltype(first) values[] = {first, second};
    std::memcpy(bytes.at(name).data(), values, sizeof(values));
  };
  set("env/state/position", 0.45f, -0.5f);
  set("env/state/velocity", 0.07f, 0.0f);
  set("env/age", int32_t{199}, int32_t{199});
  state.write(bytes);
  rig.numbers = {2, 1};
  rig.take_actions(0);
  EXPECT_EQ(rig.terminated[0], 1);
  EXPECT_EQ(rig.truncated[0], 0);
  EXPECT_EQ(rig.terminated[1], 0);
  EXPECT_EQ(rig.truncated[1], 1);
}

// A reset distribution of Gymnasium or Isaac Lab: uniform in [low, high].
struct Range {
  double low, high;
};
void expect_uniform_resets(const std::string& task, const std::map<std::string, Range>& ranges) {
  const int64_t n = 4000;
  Rig rig(task, {.num_envs = n, .seed = 2});
  for (const auto& [name, range] : ranges) {
    const std::vector<float> x = AllState(*rig.env).numbers<float>("env/state/" + name);
    const double width = range.high - range.low, sum = std::accumulate(x.begin(), x.end(), 0.0);
    const auto [least, most] = std::ranges::minmax(x);
    EXPECT_GE(least, range.low - 1e-6) << task << " " << name;
    EXPECT_LE(most, range.high + 1e-6) << task << " " << name;
    EXPECT_LE(least, range.low + 0.01 * width) << task << " " << name;
    EXPECT_GE(most, range.high - 0.01 * width) << task << " " << name;
    EXPECT_NEAR(sum / n, (range.low + range.high) / 2, 5 * 0.29 * width / std::sqrt(n)) << task << " " << name;
  }
}
TEST(Resets, FollowTheDistributionsOfTheReference) {
  const double pi = 3.14159265358979;
  const Range small{-0.05, 0.05}, tenth{-0.1, 0.1}, zero{0, 0}, valley{-0.6, -0.4}, quarter{-pi / 4, pi / 4};
  expect_uniform_resets("CartPole-v1", {{"x", small}, {"x_dot", small}, {"theta", small}, {"theta_dot", small}});
  expect_uniform_resets("Pendulum-v1", {{"theta", {-pi, pi}}, {"theta_dot", {-1, 1}}});
  expect_uniform_resets("Acrobot-v1",
                        {{"theta1", tenth}, {"theta2", tenth}, {"theta1_dot", tenth}, {"theta2_dot", tenth}});
  expect_uniform_resets("MountainCar-v0", {{"position", valley}, {"velocity", zero}});
  expect_uniform_resets("MountainCarContinuous-v0", {{"position", valley}, {"velocity", zero}});
  expect_uniform_resets("Cartpole",
                        {{"x", {-1, 1}}, {"theta", quarter}, {"x_dot", {-0.5, 0.5}}, {"theta_dot", quarter}});
}

TEST(Tasks, HaveTheSpecsOfTheReference) {
  const auto expect = [](const char* name, int obs, bool discrete, int size, int limit, float bound) {
    const TaskSpec spec = task_spec(name);
    EXPECT_EQ(spec.name, name);
    EXPECT_EQ(spec.obs_dim, obs);
    EXPECT_EQ(spec.action.discrete, discrete);
    EXPECT_EQ(spec.action.size, size);
    EXPECT_EQ(spec.step_limit, limit);
    if (discrete) return;
    EXPECT_EQ(spec.action.low, std::vector<float>{-bound});
    EXPECT_EQ(spec.action.high, std::vector<float>{bound});
  };
  expect("Cartpole", 4, false, 1, 300, 4);
  expect("CartPole-v1", 4, true, 2, 500, 0);
  expect("Pendulum-v1", 3, false, 1, 200, 2);
  expect("Acrobot-v1", 6, true, 3, 500, 0);
  expect("MountainCar-v0", 2, true, 3, 200, 0);
  expect("MountainCarContinuous-v0", 2, false, 1, 999, 1);
  EXPECT_NEAR(task_spec("Cartpole").dt * task_spec("Cartpole").step_limit, 5, 1e-12);
}

TEST(Tasks, AnUnknownNameIsAUsageErrorWithTheClosestMatch) {
  const auto message = [](const std::string& name) {
    return error_from<UsageError>([&] { make_env(name, {}, *make_host_queue(Isa{})); });
  };
  expect_mentions(message("CartPole-v2"), {"CartPole-v2", "mean CartPole-v1?"});
  expect_mentions(message("acrobot-v1"), {"acrobot-v1", "mean Acrobot-v1?"});
  expect_mentions(message("Isaac-Cartpole-Direct-v0"), {"Isaac-Cartpole-Direct-v0", "nearest is Cartpole"});
  expect_mentions(message("Spaceship"), {"Spaceship", "CartPole-v1", "--task_library"});
  EXPECT_THROW(task_spec("Spaceship"), UsageError);
  EXPECT_THROW(task_preset("Spaceship"), UsageError);
}

TEST(Tasks, EachHasAPreset) {
  for (const std::string& task : task_names()) {
    if (!task_origin(task).empty()) continue;  // a task of the tests
    EXPECT_NE(task_preset(task).find("num_envs"), std::string_view::npos) << task;
    EXPECT_NE(task_preset(task).find("[ppo]"), std::string_view::npos) << task;
  }
}

}  // namespace
}  // namespace drl
