// Presets as drl_train applies them: a task's, then what an algorithm changes in it.
#include <gtest/gtest.h>

#include "envs/make_env.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

TEST(Presets, OfEachTaskSuitEachAlgorithm) {
  for (const std::string& task : task_names())
    for (const std::string& algorithm : algorithm_names()) {
      SCOPED_TRACE(task + " by " + algorithm);
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
}

TEST(Presets, ChangeNothingOfTasksThatAnAlgorithmDoesNotKnow) {
  for (const auto& kind : all_algorithms()) EXPECT_EQ(kind->preset("of a user"), "");
}

}  // namespace
}  // namespace drl
