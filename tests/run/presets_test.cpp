// Applies presets as drl_train does: that of the task, then that of the algorithm for the task.
#include <gtest/gtest.h>

#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

// Expects that the presets give a valid batch plan.
void expect_valid_presets(const std::string& task, const std::string& algorithm) {
  SCOPED_TRACE(task + " with " + algorithm);
  Options options;
  OptionTable table;
  options.add_to(table);
  table.set("algorithm", algorithm);
  table.apply_ini(task_preset(task), task);
  ASSERT_EQ(options.algorithm().name(), algorithm);
  table.apply_ini(options.algorithm().preset(task), algorithm);
  const BatchPlan asked{options.train.num_envs, options.train.num_steps_per_env, 0, 1, 1};
  const BatchPlan plan = options.algorithm().plan(asked, task_spec(task));
  EXPECT_EQ(plan.num_envs, asked.num_envs);
  EXPECT_EQ(plan.num_mini_batches, options.algorithm().update_options().num_mini_batches);
}

TEST(Presets, AreValidForEveryTaskAndAlgorithm) {
  for (const std::string& task : task_names())
    for (const std::string& algorithm : algorithm_names()) expect_valid_presets(task, algorithm);
}

#if defined(DRL_ROBOTS)
TEST(Presets, AreValidForEveryRobotWithPpo) {
  load_task_libraries({DRL_ROBOTS});
  for (const std::string& task : task_names()) expect_valid_presets(task, "ppo");
}
#endif

TEST(Presets, OfAlgorithmsAreEmptyForUnknownTasks) {
  for (const auto& kind : all_algorithms()) EXPECT_EQ(kind->preset("of a user"), "");
}

}  // namespace
}  // namespace drl
