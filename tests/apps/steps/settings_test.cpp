#include <gtest/gtest.h>

#include "../../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "report/page/run_groups.hpp"
#include "steps.hpp"

namespace drl {
namespace {

const std::vector<std::string> kWords = {"/opt/drl_train", "--task", "CartPole-v1", "--seed", "3"};

// Of each option the uppermost that names it: command line, --config, the resumed run, the task's preset.
TEST(Settings, ApplyInTheOrderOfPrecedence) {
  Settings settings(kWords);
  EXPECT_EQ(settings.program, "/opt/drl_train");
  settings.apply("seed = 4\nnum_envs = 40\n", "seed = 5\nnum_envs = 50\nmax_iterations = 7\n");
  EXPECT_EQ(settings.options.train.seed, 3);
  EXPECT_EQ(settings.options.train.num_envs, 40);
  EXPECT_EQ(settings.options.train.max_iterations, 7);
  EXPECT_NE(task_preset("CartPole-v1").find("num_steps_per_env = 64\n"), std::string_view::npos);
  EXPECT_EQ(settings.options.train.num_steps_per_env, 64);
}

TEST(Settings, ATaskOfTheConfigFileBringsItsPreset) {
  Settings settings({"drl_train"});
  settings.apply("task = CartPole-v1\n");
  EXPECT_EQ(settings.options.train.num_steps_per_env, 64);
}

TEST(Settings, ReadAConfigFileAndWarnOfCommandsInIt) {
  const TempFolder folder;
  spill(folder / "my.ini", "num_envs = 40\nafter_checkpoint = rm\n");
  const Settings settings(kWords);
  std::string said;
  log::set_writer([&](std::string_view line) { said += line; });
  EXPECT_EQ(settings.read_config(folder / "my.ini"), "num_envs = 40\nafter_checkpoint = rm\n");
  EXPECT_EQ(settings.read_config(""), "");
  log::set_writer({});
  EXPECT_EQ(said, "warning: " + (folder / "my.ini").string() +
                      ":2: after_checkpoint has no effect (a file shall not make a run execute commands): give it on "
                      "the command line\n");
  EXPECT_THROW(settings.read_config(folder / "other.ini"), UsageError);
  EXPECT_THROW(settings.read_config(folder.path()), UsageError);
}

// What runs may differ in and still be drawn as one curve: the report has the names in a list of its own. A new option
// with Effect::none belongs into it (report/page/run_groups.cpp).
TEST(Settings, TheReportKnowsTheOptionsThatChangeNoNumbers) {
  const Settings settings(kWords);
  for (const Option& option : settings.table.items()) {
    if (option.where != Where::anywhere || option.hidden) continue;  // in no options.ini
    EXPECT_EQ(changes_no_numbers(option.name), option.effect == Effect::none) << option.name;
  }
}

TEST(Settings, NeedATask) {
  EXPECT_THROW(require_task(""), UsageError);
  EXPECT_NO_THROW(require_task("CartPole-v1"));
}

}  // namespace
}  // namespace drl
