#include "algorithms/rollout.hpp"

#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"

namespace drl {
namespace {

using namespace test;

// With a step limit L, an episode of any age is truncated at most once in the first L steps, and then every L steps.
TEST(Rollout, HasRoomForAllPossibleLastObservations) {
  const auto queue = host_queue();
  const auto last_rows = [&](int step_limit, bool truncates, bool every_end) {
    TaskSpec task = gaussian_task(2, 1);
    task.step_limit = step_limit, task.truncates = truncates;
    return Rollout(*queue, task, 12, 3, every_end).view().last_rows;
  };
  EXPECT_EQ(last_rows(0, false, false), 0);
  EXPECT_EQ(last_rows(100, false, false), 1);
  EXPECT_EQ(last_rows(5, false, false), 3);  // after steps 1, 6 and 11
  EXPECT_EQ(last_rows(1, false, false), 12);
  EXPECT_EQ(last_rows(100, true, false), 12);
  EXPECT_EQ(last_rows(100, false, true), 12);
}

// Step t reads row t of the actions and writes row t of rewards and ends, and row t + 1 of observations.
TEST(Rollout, AStepReadsAndWritesItsRows) {
  const auto queue = host_queue();
  for (bool discrete : {false, true}) {
    TaskSpec task = discrete ? categorical_task(2, 5) : gaussian_task(2, 5);
    task.critic_obs_dim = 4;
    Rollout rollout(*queue, task, 3, 7, true);
    const RolloutView& r = rollout.view();
    const StepRow row = rollout.row(1);
    EXPECT_EQ(row.action, discrete ? static_cast<const void*>(r.action + 7 * 4) : r.env_action);
    EXPECT_EQ(row.next_obs, r.obs + 2 * 7 * 2);
    EXPECT_EQ(row.next_critic_obs, r.critic_obs + 2 * 7 * 4);
    EXPECT_EQ(row.reward, r.reward + 7);
    EXPECT_EQ(row.terminated, r.terminated + 7);
    EXPECT_EQ(row.truncated, r.truncated + 7);
    EXPECT_TRUE(row.every_end);
    EXPECT_EQ(rollout.start_row().next_obs, r.obs);
    r.obs[3 * 7 * 2 + 13] = 5, r.critic_obs[3 * 7 * 4 + 27] = 6, r.last_count[6] = 3;
    rollout.roll_over();
    rollout.begin();
    EXPECT_EQ(r.obs[13], 5);
    EXPECT_EQ(r.critic_obs[27], 6);
    EXPECT_EQ(r.last_count[6], 0);
  }
}

}  // namespace
}  // namespace drl
