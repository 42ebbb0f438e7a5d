#include <gtest/gtest.h>

#include "../../support/mentions.hpp"
#include "../../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "report/page/run_groups.hpp"
#include "steps.hpp"

namespace drl {
namespace {

const std::vector<std::string> kWords = {"/opt/drl_train", "--task", "CartPole-v1", "--seed", "3"};

// Precedence: command line, --config, the resumed run, the task's preset.
TEST(Settings, FollowThePrecedence) {
  Settings settings(kWords);
  EXPECT_EQ(settings.program, "/opt/drl_train");
  settings.apply("seed = 4\nnum_envs = 40\n", "seed = 5\nnum_envs = 50\nmax_iterations = 7\n");
  EXPECT_EQ(settings.options.train.seed, 3);
  EXPECT_EQ(settings.options.train.num_envs, 40);
  EXPECT_EQ(settings.options.train.max_iterations, 7);
  EXPECT_NE(task_preset("CartPole-v1").find("num_steps_per_env = 64\n"), std::string_view::npos);
  EXPECT_EQ(settings.options.train.num_steps_per_env, 64);
}

TEST(Settings, ApplyThePresetOfATaskInTheConfigFile) {
  Settings settings({"drl_train"});
  settings.apply("task = CartPole-v1\n");
  EXPECT_EQ(settings.options.train.num_steps_per_env, 64);
}

TEST(Settings, WarnAboutACommandInAConfigFile) {
  const TempFolder folder;
  spill(folder / "my.ini", "num_envs = 40\nafter_checkpoint = rm\n");
  const Settings settings(kWords);
  std::string messages;
  log::set_writer([&](std::string_view line) { messages += line; });
  EXPECT_EQ(settings.read_config(folder / "my.ini"), "num_envs = 40\nafter_checkpoint = rm\n");
  EXPECT_EQ(settings.read_config(""), "");
  log::set_writer({});
  expect_mentions(messages, {"warning: " + (folder / "my.ini").string() + ":2: after_checkpoint"});
  EXPECT_THROW(settings.read_config(folder / "other.ini"), UsageError);
  EXPECT_THROW(settings.read_config(folder.path()), UsageError);
}

// Runs that differ only in options with Effect::none share a curve in the report. The report has a separate list of
// these options (report/page/run_groups.cpp), which must be complete.
TEST(Settings, TheReportKnowsTheOptionsThatDoNotAffectResults) {
  const Settings settings(kWords);
  for (const Option& option : settings.table.items()) {
    if (option.where != Where::anywhere || option.hidden) continue;  // not in options.ini
    EXPECT_EQ(leaves_results_unchanged(option.name), option.effect == Effect::none) << option.name;
  }
}

TEST(Settings, RequireATask) {
  EXPECT_THROW(require_task(""), UsageError);
  EXPECT_NO_THROW(require_task("CartPole-v1"));
}

}  // namespace
}  // namespace drl
