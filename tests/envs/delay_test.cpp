// Tests delays of actions and observations (--env.delay) against environments without delays: of the same actions,
// given later, and of the same observations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/stepped.hpp"
#include "../support/task_options.hpp"
#include "base/check.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

constexpr int64_t kEnvs = 37, kSteps = 460;  // more than two of Pendulum's episodes

// What one environment saw and did. Step t leads from observation t to observation t + 1; if it ends an episode, `last`
// is the ended episode's last observation, and observation t + 1 belongs to the next episode.
struct Moment {
  std::vector<float> obs, last;
  bool ended = false;
  bool operator==(const Moment&) const = default;
};
using History = std::vector<Moment>;  // [kSteps + 1]

// Environments whose actions a test chooses. Actions are numbers from 0 to 1, which are scaled to the action's bounds
// or choices.
class Played {
 public:
  Played(const std::string& task, const OptionValues& options)
      : stepped_(task, {.num_envs = kEnvs, .seed = 5, .setup = setup_with(task, options)}, kSteps,
                 available_isas().back(), true) {
    remember(0);
  }
  // `choose(env, d)` returns number d of the action of an environment.
  template <class Choose>
  void step(int64_t t, const Choose& choose) {
    const ActionSpace& space = stepped_.envs->spec().action;
    const RolloutView& r = stepped_.r;
    const int width = space.numbers();
    for (int64_t i = 0; i < kEnvs; ++i)
      for (int d = 0; d < width; ++d) {
        const float x = choose(i, d);
        const auto k = static_cast<size_t>(d);
        if (space.discrete)
          reinterpret_cast<int32_t*>(r.action)[(t * kEnvs + i) * width + d] =
              static_cast<int32_t>(x * static_cast<float>(space.size));
        else
          r.env_action[i * width + d] = space.low[k] + x * (space.high[k] - space.low[k]);
      }
    stepped_.step_with_given_actions(t);
    for (int64_t i = 0; i < kEnvs; ++i) {
      Moment& moment = histories[static_cast<size_t>(i)].back();
      moment.ended = r.terminated[t * kEnvs + i] || r.truncated[t * kEnvs + i];
      if (moment.ended) moment.last = row_of(r.last_obs, (r.last_count[i] - 1) * kEnvs + i);
    }
    remember(t + 1);
  }
  StateList state() {
    return list_state([&](StateVisitor& visitor) { stepped_.envs->visit_state(visitor); });
  }

  std::vector<History> histories = std::vector<History>(kEnvs);

 private:
  std::vector<float> row_of(const float* rows, int64_t row) const {
    return {rows + row * stepped_.r.obs_dim, rows + (row + 1) * stepped_.r.obs_dim};
  }
  void remember(int64_t t) {
    for (int64_t i = 0; i < kEnvs; ++i)
      histories[static_cast<size_t>(i)].push_back({row_of(stepped_.r.obs, t * kEnvs + i), {}, false});
  }

  Stepped stepped_;
};

float chosen(int64_t env, int64_t t, int d) {
  return uniform01(random_bits(9, Purpose::benchmark, static_cast<uint64_t>(env), static_cast<uint64_t>(t))[d]);
}
std::vector<History> play(const std::string& task, const OptionValues& options) {
  Played played(task, options);
  for (int64_t t = 0; t < kSteps; ++t) played.step(t, [&](int64_t i, int d) { return chosen(i, t, d); });
  return played.histories;
}
// Returns the steps at which an environment's episodes began, up to its last step.
std::vector<int64_t> begins(const History& history) {
  std::vector<int64_t> all{0};
  for (size_t t = 0; t + 1 < history.size(); ++t)
    if (history[t].ended) all.push_back(static_cast<int64_t>(t) + 1);
  return all;
}

class Delay : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Tasks, Delay, testing::Values("CartPole-v1", "Pendulum-v1"));

TEST_P(Delay, ActionsReachTheEnvironmentKStepsLater) {
  for (const int k : {1, 3}) {
    const std::vector<History> delayed = play(GetParam(), {{"delay.action", std::to_string(k)}});
    // The environments without a delay receive the same actions k steps later, and until then the episode's first one.
    Played plain(GetParam(), {});
    std::vector<int64_t> begin(kEnvs, 0);
    for (int64_t t = 0; t < kSteps; ++t) {
      plain.step(t, [&](int64_t i, int d) { return chosen(i, std::max(begin[static_cast<size_t>(i)], t - k), d); });
      for (int64_t i = 0; i < kEnvs; ++i)
        if (plain.histories[static_cast<size_t>(i)][static_cast<size_t>(t)].ended)
          begin[static_cast<size_t>(i)] = t + 1;
    }
    EXPECT_EQ(delayed, plain.histories) << k;
    EXPECT_GE(begins(plain.histories[0]).size(), 2u);
  }
}

TEST_P(Delay, ObservationsAreThoseOfKStepsBefore) {
  const std::vector<History> plain = play(GetParam(), {});
  for (const int k : {1, 3}) {
    const std::vector<History> delayed = play(GetParam(), {{"delay.observation", std::to_string(k)}});
    for (size_t i = 0; i < kEnvs; ++i) {
      const History &seen = delayed[i], &is = plain[i];
      int64_t begin = 0;
      for (int64_t t = 0; t <= kSteps; ++t) {
        const auto at = [&](int64_t step) { return static_cast<size_t>(std::max(begin, step)); };
        ASSERT_EQ(seen[at(t)].obs, is[at(t - k)].obs) << "environment " << i << ", step " << t;
        ASSERT_EQ(seen[at(t)].ended, is[at(t)].ended);
        if (!is[at(t)].ended) continue;
        ASSERT_EQ(seen[at(t)].last, is[at(t + 1 - k)].obs) << "last observation of an episode";
        begin = t + 1;
      }
    }
  }
}

TEST_P(Delay, EachEpisodeDrawsItsDelay) {
  const std::vector<History> plain = play(GetParam(), {}), delayed = play(GetParam(), {{"delay.observation", "0,3"}});
  std::map<int, int> episodes;  // how many have each delay
  std::set<int> of_first_environment;
  for (size_t i = 0; i < kEnvs; ++i) {
    std::vector<int64_t> begin = begins(plain[i]);
    begin.push_back(kSteps + 1);
    for (size_t e = 0; e + 1 < begin.size(); ++e) {
      if (begin[e + 1] - begin[e] < 8) continue;
      int matching = -1;
      for (int k = 0; k <= 3; ++k) {
        bool matches = true;
        for (int64_t t = begin[e]; t < begin[e + 1]; ++t)
          matches = matches && delayed[i][static_cast<size_t>(t)].obs ==
                                   plain[i][static_cast<size_t>(std::max(begin[e], t - k))].obs;
        if (matches) matching = k;
      }
      ASSERT_GE(matching, 0) << "environment " << i << ", episode " << e;
      episodes[matching] += 1;
      if (i == 0) of_first_environment.insert(matching);
    }
  }
  int total = 0;
  for (const auto& [k, count] : episodes) total += count;
  ASSERT_GE(total, 60);
  EXPECT_EQ(episodes.size(), 4u);
  for (const auto& [k, count] : episodes) EXPECT_NEAR(count, total / 4.0, 5 * std::sqrt(total * 0.1875)) << k;
}

// A step repeats the previous observation with this probability, and else shows the present one.
TEST_P(Delay, HoldsRepeatWhatWasShown) {
  const std::vector<History> plain = play(GetParam(), {}),
                             delayed = play(GetParam(), {{"delay.observation_hold", "0.3"}});
  int held = 0, steps = 0;
  for (size_t i = 0; i < kEnvs; ++i)
    for (size_t t = 1; t <= kSteps; ++t) {
      if (plain[i][t - 1].ended) continue;
      const bool is_new = delayed[i][t].obs == plain[i][t].obs;
      if (!is_new) {
        ASSERT_EQ(delayed[i][t].obs, delayed[i][t - 1].obs);
      }
      held += is_new ? 0 : 1, steps += 1;
    }
  EXPECT_NEAR(held, 0.3 * steps, 5 * std::sqrt(0.21 * steps));
}

// Each episode adds a constant to each number, uniform in its range; the other numbers stay.
TEST(SensorErrors, AreConstantInAnEpisode) {
  const std::string task = "Pendulum-v1";  // cos, sin and the speed
  const std::vector<History> plain = play(task, {}), wrong = play(task, {{"sensor_error", "theta_dot=-0.5,1"}});
  std::vector<float> errors;
  for (size_t i = 0; i < kEnvs; ++i) {
    float error = 0;
    for (size_t t = 0; t <= kSteps; ++t) {
      const std::vector<float>&is = plain[i][t].obs, &seen = wrong[i][t].obs;
      EXPECT_EQ(seen[0], is[0]);
      EXPECT_EQ(seen[1], is[1]);
      const bool begins = t == 0 || plain[i][t - 1].ended;
      if (begins) errors.push_back(error = seen[2] - is[2]);
      ASSERT_NEAR(seen[2] - is[2], error, 1e-5f) << "environment " << i << ", step " << t;
      if (plain[i][t].ended) {
        EXPECT_NEAR(wrong[i][t].last[2] - plain[i][t].last[2], error, 1e-5f);
      }
    }
  }
  float sum = 0;
  for (const float error : errors) {
    EXPECT_GE(error, -0.5001f);
    EXPECT_LE(error, 1.0001f);
    sum += error;
  }
  const auto n = static_cast<float>(errors.size());
  ASSERT_GE(n, 100);
  EXPECT_NEAR(sum / n, 0.25f, 5 * 1.5f / std::sqrt(12 * n));
}

// The state in the middle of episodes, written into other environments, leads to the same future.
TEST_P(Delay, IsPartOfTheState) {
  const OptionValues options = {{"delay.action", "0,4"},
                                {"delay.observation", "1,3"},
                                {"delay.action_hold", "0.2"},
                                {"delay.observation_hold", "0.2"},
                                {"sensor_error", "*=-0.1,0.1"}};
  Played one(GetParam(), options), other(GetParam(), options);
  const auto step_both = [&](int64_t from, int64_t to, bool both) {
    for (int64_t t = from; t < to; ++t) {
      one.step(t, [&](int64_t i, int d) { return chosen(i, t, d); });
      if (both) other.step(t, [&](int64_t i, int d) { return chosen(i, t, d); });
    }
  };
  step_both(0, 50, false);
  const StateList from = one.state(), to = other.state();
  ASSERT_EQ(from.size(), to.size());
  for (size_t k = 0; k < from.size(); ++k) to[k].write(from[k].read());
  step_both(50, kSteps, true);
  for (size_t i = 0; i < kEnvs; ++i)
    for (size_t t = 51; t <= kSteps; ++t)
      ASSERT_EQ(one.histories[i][t], other.histories[i][t - 50]) << "environment " << i << ", step " << t;
}

// Ages and delays that no run can save, such as those of a file that was changed. In an episode's first step, every
// delay shows the observation itself.
TEST_P(Delay, AgesAndDelaysOfAnyValueStayInTheArrays) {
  Played plain(GetParam(), {}), delayed(GetParam(), {{"delay.observation", "3"}});
  for (const StateField& field : delayed.state()) {
    const bool is_age = field.name == "env/delay/age";
    if (!is_age && field.name != "env/delay/observation/steps") continue;
    const std::vector<int32_t> wrong(kEnvs, is_age ? -997 : 1 << 30);
    field.write(std::as_bytes(std::span(wrong)));
  }
  for (int64_t t = 0; t < 8; ++t)
    for (Played* each : {&plain, &delayed}) each->step(t, [&](int64_t i, int d) { return chosen(i, t, d); });
  EXPECT_EQ(delayed.histories, plain.histories);
}

// Without delays, nothing wraps the environments.
TEST(Delays, AreNotThereWithoutTheOptions) {
  Played played("CartPole-v1", {});
  for (const StateField& field : played.state()) EXPECT_FALSE(field.name.starts_with("env/delay/")) << field.name;
}

TEST(Delays, RefuseRangesThatAreWrong) {
  const auto error = [](const std::string& option, const std::string& value) {
    return error_from<UsageError>([&] { setup_with("CartPole-v1", {{option, value}}); });
  };
  expect_mentions(error("delay.action", "3,1"), {"--env.delay.action", "3", "1", "greater"});
  expect_mentions(error("delay.action", "500"), {"--env.delay.action", "500"});  // the longest episode has 500 steps
  EXPECT_EQ(error("delay.action", "499"), "no error");
  expect_mentions(error("delay.observation", "-1"), {"--env.delay.observation", "-1"});
  expect_mentions(error("delay.observation", "1.5"), {"--env.delay.observation", "1.5", "whole"});
  expect_mentions(error("delay.observation", "soon"), {"--env.delay.observation", "soon"});
  expect_mentions(error("sensor_error", "spped=0,1"), {"--env.sensor_error", "spped"});
  expect_mentions(error("delay.observation", "position=1,2"), {"--env.delay.observation", "position"});
  expect_mentions(error("delay.action", "0,2,1"), {"--env.delay.action", "0,2,1"});
  expect_mentions(error("sensor_error", "x=-0.01,0.01,0.5"), {"--env.sensor_error", "x=-0.01,0.01,0.5", "0.5"});
  expect_mentions(error("sensor_error", "x=-0.01,0.01 0,1"), {"--env.sensor_error", "0.01"});
}

}  // namespace
}  // namespace drl
