// Applies presets as drl_train does: that of the task, then that of the algorithm for the task.
#include "algorithms/presets.hpp"

#include <gtest/gtest.h>

#include "../support/paths.hpp"
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
  for (const Preset& preset : presets(task, algorithm)) table.apply_ini(preset.text, preset.source);
  ASSERT_EQ(options.algorithm().name(), algorithm);
  const BatchPlan asked{options.train.num_envs, options.train.num_steps_per_env, 0, 1, 1};
  const BatchPlan plan = options.algorithm().plan(asked, task_spec(task));
  EXPECT_EQ(plan.num_envs, asked.num_envs);
  options.algorithm().policy(task_spec(task), options.policy);  // throws if it cannot learn the task
  if (algorithm == "distill") return;  // it takes a gradient step for each segment of the rollout
  const bool is_off_policy = plan.replay_rows > 0;
  EXPECT_EQ(std::to_string(is_off_policy ? plan.replay_rows : plan.num_mini_batches),
            table.find(algorithm + (is_off_policy ? ".batch_size" : ".num_mini_batches")).value());
}

// Returns the known tasks, except those that other suites of this program have registered.
std::vector<std::string> tasks_of_drl() {
  std::vector<std::string> names = task_names();
  std::erase_if(names, [](const std::string& name) { return task_origin(name) == "the tests"; });
  return names;
}

TEST(Presets, AreValidForEveryTaskAndAlgorithm) {
  for (const std::string& task : tasks_of_drl())
    for (const std::string& algorithm : algorithm_names())
      if (algorithm == "ppo" || algorithm == "grpo" || !task_spec(task).action.discrete)
        expect_valid_presets(task, algorithm);
}

TEST(Presets, AreValidForEveryRobotWithPpo) {
  const std::string robots = built("lib/drl/tasks/drl_robots.so");
  if (!std::filesystem::exists(robots)) GTEST_SKIP() << "built without MuJoCo";
  load_task_libraries({robots});
  for (const std::string& task : tasks_of_drl()) expect_valid_presets(task, "ppo");
}

// PPO has the task's own preset. GRPO's preset sets GRPO's options on top of it, e.g. 64 environments.
TEST(Presets, OfAnAlgorithmFollowThatOfTheTask) {
  const std::vector<Preset> ppo = presets("CartPole-v1", "ppo"), grpo = presets("CartPole-v1", "grpo");
  ASSERT_EQ(ppo.size(), 1u);
  EXPECT_EQ(ppo[0].text, task_preset("CartPole-v1"));
  ASSERT_EQ(grpo.size(), 2u);
  EXPECT_EQ(grpo[0].text, ppo[0].text);
  EXPECT_NE(grpo[1].text.find("[grpo]"), std::string_view::npos);
  EXPECT_EQ(presets("MountainCar-v0", "grpo").size(), 1u) << "GRPO has no preset of its own for this task";
}

}  // namespace
}  // namespace drl
