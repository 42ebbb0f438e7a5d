#include "run/lost_states.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "watched_envs.hpp"

namespace drl {
namespace {

std::string file_of(const TempFolder& run, int rank = 0) {
  return (run / "lost_states" / ("rank_" + std::to_string(rank) + ".h5")).string();
}

float number(const LostState& state, const std::string& name) {
  const auto found = std::ranges::find(state.fields, name, &Tensor::name);
  return found == state.fields.end() ? NAN : *reinterpret_cast<const float*>(found->data.data());
}

// The x of the state before a step, the action, and the places of the rollout.
struct Lost {
  int64_t environment, iteration, step;
  float x;
  int32_t action;
};

void expect_lost(const LostState& state, const Lost& expected) {
  EXPECT_EQ(state.task, "Breaking");
  EXPECT_EQ(state.options, "the options");
  EXPECT_EQ(state.environment, Watched::kFirst + expected.environment);
  EXPECT_EQ(state.iteration, expected.iteration);
  EXPECT_EQ(state.step, expected.step);
  EXPECT_EQ(number(state, "env/state/x"), expected.x);
  EXPECT_EQ(*reinterpret_cast<const float*>(state.observation.data.data()), expected.x * expected.x);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(state.action.data.data()), expected.action);
  const float lifetime = number(state, "env/state/lifetime");
  EXPECT_TRUE(1 <= lifetime && lifetime < 2) << lifetime;
}

// The step from the state must have the outcome that the task defines.
void expect_outcome(const LostState& state, const Lost& lost, const EnvConfig& config, const std::string& file) {
  OneEnv env("Breaking", config, state.environment, state.isa);
  restore(env, state, file);
  env.clear_sums();
  const OneEnv::Outcome after = env.step(state.step, state.action.data.data());
  EXPECT_TRUE(after.lost && after.terminated);
  const auto field = [&](const std::string& name) {
    return *static_cast<const float*>(std::ranges::find(env.state(), name, &StateField::name)->data);
  };
  EXPECT_EQ(field("env/state/x"), lost.action == 2 ? 1e30f : lost.action == 3 ? -1 : lost.x + 1);
  EXPECT_EQ(std::isnan(field("env/state/lifetime")), lost.action == 1);
  EXPECT_EQ(std::isinf(after.observation[0]), lost.action == 2);
  EXPECT_EQ(std::isnan(after.critic_observation[0]), lost.action == 3);
  EXPECT_EQ(after.episode_reward, lost.action == 4 ? INFINITY : 1);
}

TEST(LostStates, AreThoseBeforeTheStep) {
  const TempFolder run;
  Watched envs(run, 3, 4);
  EXPECT_FALSE(std::filesystem::exists(file_of(run)));
  envs.roll_out({{0, 4, 0}, {0, 0, 0}, {1, 0, 0}, {0, 2, 0}});  // environment 2 ends without being lost
  envs.roll_out({{3, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 1}});  // environment 0 has one step behind it
  const Lost all[] = {{0, 1, 2, 2, 1}, {1, 1, 0, 0, 4}, {1, 1, 3, 2, 2}, {0, 2, 4, 1, 3}, {2, 2, 7, 3, 1}};
  const Checkpoint states = read_lost_states(file_of(run));
  for (size_t k = 0; k < std::size(all); ++k) {
    SCOPED_TRACE(k);
    const LostState state = lost_state(states, "file", static_cast<int64_t>(k));
    EXPECT_EQ(state.of, std::ssize(all));
    expect_lost(state, all[k]);
    expect_outcome(state, all[k], envs.config(), "file");
  }
}

// A start that repeats an iteration finds the same states again.
TEST(LostStates, AreAddedToThoseOfEarlierStarts) {
  const TempFolder run;
  Watched(run, 2, 1).roll_out({{0, 4}});
  for (int start = 0; start < 2; ++start) {
    Watched later(run, 2, 1);
    later.begin_with(1);
    later.roll_out({{2, 0}});
    const Checkpoint states = read_lost_states(file_of(run));
    expect_lost(lost_state(states, "file", 0), {1, 1, 0, 0, 4});
    expect_lost(lost_state(states, "file", 1), {0, 2, 0, 0, 2});
    EXPECT_EQ(lost_state(states, "file", 1).of, 2);
  }
}

// Three ranks share the hundred: 34, 33 and 33.
TEST(LostStates, AreAtMostAHundredInARun) {
  const TempFolder run;
  for (const int rank : {0, 1, 2}) {
    Watched envs(run, 32, 1, rank, 3);
    for (int iteration = 0; iteration < 3; ++iteration) envs.roll_out({std::vector<int32_t>(32, 1)});
    EXPECT_EQ(lost_state(read_lost_states(file_of(run, rank)), "file", 0).of, rank == 0 ? 34 : 33);
  }
}

TEST(LostStates, ThatCannotBeWrittenAreOneError) {
  const TempFolder run;
  std::filesystem::create_directories(run / "lost_states");
  spill(file_of(run), "something else");
  Watched envs(run, 1, 1);
  testing::internal::CaptureStderr();
  for (int iteration = 0; iteration < 3; ++iteration) envs.roll_out({{1}});
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  expect_mentions(errors, {file_of(run), "HDF5", "goes on"});
  EXPECT_EQ(slurp(file_of(run)), "something else");
}

TEST(LostStates, OfAnotherTaskAreRefused) {
  const TempFolder run;
  Watched envs(run, 1, 1);
  envs.roll_out({{1}});
  const LostState state = lost_state(read_lost_states(file_of(run)), "file", 0);
  for (const char* task : {"Robot", "Ladder", "CartPole-v1"}) {
    OneEnv other(task, {}, 0, state.isa);
    EXPECT_THROW(restore(other, state, "file"), UsageError) << task;
  }
}

TEST(LostStates, HaveAnIndex) {
  const TempFolder run;
  Watched(run, 2, 1).roll_out({{1, 1}});
  const Checkpoint states = read_lost_states(file_of(run));
  for (const int64_t index : {-1, 2, 100}) EXPECT_THROW(lost_state(states, "file", index), UsageError) << index;
}

}  // namespace
}  // namespace drl
