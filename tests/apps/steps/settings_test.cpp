#include <gtest/gtest.h>

#include "../../support/mentions.hpp"
#include "../../support/temp_folder.hpp"
#include "apps/banner.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "report/page/run_groups.hpp"
#include "steps.hpp"

namespace drl {
namespace {

const std::vector<std::string> kWords = {"/opt/drl_train", "--task", "CartPole-v1", "--seed", "3"};

// Precedence: command line, --config, the resumed run, the task's preset.
TEST(Settings, FollowThePrecedence) {
  const auto plan = resolve(Settings(kWords), {.config = "seed = 4\nnum_envs = 40\n",
                                               .run_ini = "seed = 5\nnum_envs = 50\nmax_iterations = 7\n"});
  EXPECT_EQ(plan->program, "/opt/drl_train");
  EXPECT_EQ(plan->options.train.seed, 3);
  EXPECT_EQ(plan->options.train.num_envs, 40);
  EXPECT_EQ(plan->options.train.max_iterations, 7);
  EXPECT_NE(task_preset("CartPole-v1").find("num_steps_per_env = 64\n"), std::string_view::npos);
  EXPECT_EQ(plan->options.train.num_steps_per_env, 64);
}

TEST(Settings, ApplyThePresetOfATaskInAFile) {
  const Settings typed({"drl_train"});
  for (const RunTexts& texts :
       {RunTexts{.config = "task = CartPole-v1\n"}, RunTexts{.run_ini = "task = CartPole-v1\n"}})
    EXPECT_EQ(resolve(typed, texts)->options.train.num_steps_per_env, 64);
}

TEST(Settings, OfAResumedRunKeepItsTask) {
  const auto plan = resolve(Settings({"drl_train"}), {.config = "task =\n", .run_ini = "task = Acrobot-v1\n"});
  EXPECT_EQ(plan->options.train.task, "Acrobot-v1");
  EXPECT_THROW(resolve(Settings(kWords), {.run_ini = "task = Pendulum-v1\n"}), UsageError);
  EXPECT_THROW(resolve(Settings({"drl_train"}), {.config = "task = CartPole-v1\n", .run_ini = "task = Acrobot-v1\n"}),
               UsageError);
}

// The files may set the algorithm, whose preset applies.
TEST(Settings, ApplyThePresetOfTheAlgorithm) {
  const auto plan = resolve(Settings(kWords), {.config = "algorithm = grpo\n"});
  EXPECT_EQ(plan->options.algorithm().name(), "grpo");
  EXPECT_EQ(plan->options.train.num_envs, 64);
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
  EXPECT_THROW(settings.read_config("/dev/zero"), UsageError);
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

// The options in a file of --print_config are not all chosen by the user.
TEST(Settings, KnowWhichOptionsTheUserHasChosen) {
  const Settings typed({"drl_train", "--task", "CartPole-v1", "--seed", "0"});
  const auto names = [&](const std::string& config) {
    const auto plan = resolve(typed, {.config = config});
    std::vector<std::string> result;
    for (const NamedValue& option : plan->chosen)
      if (!contains(result, option.name)) result.push_back(option.name);
    return result;
  };
  const std::vector<std::string> of_command_line = names("");
  EXPECT_TRUE(contains(of_command_line, "seed"));
  EXPECT_FALSE(contains(of_command_line, "ppo.gamma"));
  EXPECT_EQ(names(Settings(kWords).table.to_ini()), of_command_line);
  std::vector<std::string> with_gamma = of_command_line;
  with_gamma.push_back("ppo.gamma");
  EXPECT_EQ(names("[ppo]\ngamma = 0.5\nlam = 0.95\n"), with_gamma) << "0.95 is the default of lam";
}

std::vector<std::string> effects(const std::vector<std::string>& options, int64_t done = 0) {
  return warnings_of_effects(*test::settings_of(options), test::plain_workplace(), {}, done);
}

TEST(Effects, OfAPlainStartNeedNoWarning) { EXPECT_EQ(effects({}), std::vector<std::string>{}); }

TEST(Effects, AreMissingForOptionsThatDoNotFitTheRun) {
  const struct {
    std::vector<std::string> options;
    std::vector<std::string_view> mentioned;
  } cases[] = {
      {{"--ppo.desired_kl", "0.02"}, {"--ppo.desired_kl", "--ppo.schedule is linear", "adaptive"}},
      {{"--ppo.schedule", "fixed", "--ppo.schedule_iterations", "9"}, {"--ppo.schedule_iterations", "fixed"}},
      {{"--grpo.kl_coef", "1"}, {"--grpo.kl_coef", "--algorithm grpo"}},
      {{"--cuda_graphs=false", "--deterministic"}, {"--cuda_graphs, --deterministic", "CPU"}},
      {{"--time_margin", "5"}, {"--time_margin", "Slurm"}},
      {{"--device", "cpu", "--gpu_ids", "0"}, {"--gpu_ids", "--device is cpu"}},
      {{"--policy.std_min", "0.1"}, {"--policy.std_min", "CartPole-v1", "discrete"}},
      {{"--policy.init", "uniform", "--init_from", "x.h5"}, {"--policy.init", "checkpoint"}},
      {{"--load_run", "a", "--run_name", "b"}, {"--run_name", "--load_run"}},
      {{"--fresh"}, {"--fresh", "--run_name"}},
      {{"--policy.activation", "relu", "--policy.actor_hidden_dims=none", "--policy.critic_hidden_dims=none"},
       {"--policy.activation", "no hidden layers"}},
      {{"--ppo.rnd.weight", "1", "--ppo.rnd.state", "critic"}, {"--ppo.rnd.state", "observations"}},
      {{"--ppo.rnd.state", "policy"}, {"--ppo.rnd.state", "--ppo.rnd.weight is 0"}},
      {{"--ppo.symmetry", "augment", "--ppo.mirror_loss_coeff", "1"},
       {"--ppo.mirror_loss_coeff", "--ppo.symmetry is augment", "loss or both"}},
      {{"--ppo.schedule", "fixed", "--ppo.anneal_iterations", "9"}, {"--ppo.anneal_iterations", "changes"}},
  };
  for (const auto& [options, mentioned] : cases) {
    const std::vector<std::string> all = effects(options);
    ASSERT_EQ(all.size(), 1u) << options[0];
    for (const std::string_view part : mentioned) expect_mentions(all[0], {part});
  }
}

#ifdef DRL_ROBOTS

struct RobotEffects : testing::Test {
  static void SetUpTestSuite() { load_task_library(DRL_ROBOTS); }
};

TEST_F(RobotEffects, AreMissingForOptionsThatDoNotFitTheEnvironments) {
  const std::vector<std::string> rough = {"--task", "Go1-Velocity-Rough"}, picture = {"--env.terrain_file", "p.png"};
  const struct {
    std::vector<std::string> options;
    std::vector<std::string_view> mentioned;  // nothing: no warning
  } cases[] = {
      {{"--env.terrain_file_height", "3"}, {"--env.terrain_file_height", "--env.terrain_file is none"}},
      {{"--env.terrain", "flat", "--env.terrain_seed", "3"}, {"--env.terrain_seed", "--env.terrain is flat", "boxes"}},
      {{"--env.terrain", "stairs", "--env.terrain_slope", "0.2"}, {"--env.terrain_slope", "--env.terrain is stairs"}},
      {{"--env.terrain", "waves", "--env.terrain_stair", "0.2"}, {"--env.terrain_stair", "--env.terrain is waves"}},
      {{"--env.terrain", "stairs", "--env.terrain_stair", "0.2"}, {}},
      {{"--env.terrain_rows", "1", "--env.terrain_curriculum=false"}, {"--env.terrain_curriculum", "rows is 1"}},
      {{"--env.dr.when", "lifetime"}, {"--env.dr.when", "--env.dr"}},
      {{"--env.dr.when", "lifetime", "--env.dr.body_mass", "0.8,1.2"}, {}},
      {{"--env.device", "cpu"}, {"--env.device", "CPU"}},
      {{"--env.dr.motor_network_of", "*"}, {"--env.dr.motor_network_of", "--env.dr.motor_network is none"}},
      {{"--task", "G1-Tracking", "--env.sampling", "start", "--env.uniform_ratio", "0.5"},
       {"--env.uniform_ratio", "--env.sampling is start", "adaptive"}},
  };
  for (const auto& [options, mentioned] : cases) {
    std::vector<std::string> words = rough;
    words.insert(words.end(), options.begin(), options.end());
    const std::vector<std::string> all = effects(words);
    ASSERT_EQ(all.size(), mentioned.empty() ? 0u : 1u) << join(options, " ");
    for (const std::string_view part : mentioned) expect_mentions(all[0], {part});
  }
}

TEST_F(RobotEffects, ThoseOfThePresetAreNotTheUsers) {
  EXPECT_EQ(effects({"--task", "G1-Tracking", "--env.sampling", "start"}), std::vector<std::string>{});
}

TEST_F(RobotEffects, NumbersBeyondTheLimitOfAnotherOptionAreErrors) {
  const auto usable = [](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"drl_train", "--task", "Go1-Velocity-Rough"};
    words.insert(words.end(), options.begin(), options.end());
    resolve(Settings(words), {})->require_usable();
  };
  const std::vector<std::string> wrong[] = {{"--env.terrain_level_min", "50", "--env.terrain_level_max", "60"},
                                            {"--env.terrain_level_max", "10"},  // of 10 rows, from 0
                                            {"--env.terrain_level_min", "6"},   // the highest level is 5
                                            {"--env.faster_after", "10001"}};
  for (const std::vector<std::string>& options : wrong)
    expect_mentions(error_from<UsageError>([&] { usable(options); }), {options[0], options[1]});
  EXPECT_NO_THROW(usable({"--env.terrain_level_max", "9", "--env.terrain_level_min", "9"}));
  EXPECT_NO_THROW(usable({"--env.terrain_rows", "3"})) << "the highest level is then the last row";
}

#endif

TEST(Effects, AreDeclaredByEveryOption) {
  for (const std::string& task : task_names()) {
    const RunPlan plan(Settings({"drl_train", "--task", task}), {}, {});
    for (const Option& option : plan.table.items())
      EXPECT_TRUE(option.declares_effect) << option.name << " declares neither always nor a condition";
  }
}

// settings_of gives --num_steps_per_env and --policy.critic_hidden_dims.
TEST(Effects, DependOnTheAlgorithm) {
  const std::vector<std::string> all = effects({"--algorithm", "grpo", "--grpo.grad_clip", "joint"});
  ASSERT_EQ(all.size(), 2u);
  expect_mentions(all[0], {"--num_steps_per_env", "GRPO", "episodes"});
  expect_mentions(all[1], {"--policy.critic_hidden_dims", "--grpo.grad_clip", "GRPO", "critic"});
}

TEST(Effects, OfTheLearningRateEndWithItsSchedule) {
  const std::vector<std::string> all = effects({"--ppo.schedule_iterations", "50", "--max_iterations", "70"}, 60);
  ASSERT_EQ(all.size(), 1u);
  expect_mentions(all[0], {"61 to 70", "--ppo.schedule_iterations 70"});
}

// Every condition must be about an option or a circumstance, which a misspelt name is not.
TEST(Effects, AreKnownForAllOptions) {
  for (const std::string& task : task_names())
    for (const char* algorithm : {"ppo", "grpo"}) {
      std::vector<std::string> words = {"--task", task, "--algorithm", algorithm};
      const RunPlan plan(Settings({"drl_train", "--task", task}), {}, {});
      for (const Option& option : plan.table.items())
        if (!contains({"task", "algorithm"}, option.name))
          words.insert(words.end(), {"--" + option.name + "=" + (option.value().empty() ? "x" : option.value())});
      EXPECT_NO_THROW(effects(words));
    }
}

TEST(Settings, RequireATask) {
  EXPECT_THROW(resolve(Settings({"drl_train"}), {})->require_usable(), UsageError);
  EXPECT_NO_THROW(resolve(Settings(kWords), {})->require_usable());
}

}  // namespace
}  // namespace drl
