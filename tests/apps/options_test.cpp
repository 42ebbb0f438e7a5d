// Tests help, presets, config files and the precedence of options.
#include <filesystem>
#include <regex>
#include <set>

#include "programs.hpp"

namespace drl::test {
namespace {

const Words kTasks = "Acrobot-v1 Cartpole CartPole-v1 MountainCarContinuous-v0 MountainCar-v0 Pendulum-v1"_words;

std::string print_config(const Words& options) {
  const Result result = expect_exit(run_program(Words{kTrain, "--print_config"} + options), 0);
  EXPECT_EQ(result.err, "");
  return result.out;
}

// Returns the value of `key`, which occurs in only one section.
std::string value_of(const std::string& config, const std::string& key) {
  std::smatch match;
  const std::regex line("(^|\n)" + key + " = (\\S*)");
  return std::regex_search(config, match, line) ? match[2].str() : "";
}

// Returns the full names of all options, such as "ppo.gamma".
std::set<std::string> names_in(const std::string& config) {
  std::set<std::string> names;
  std::string section;
  for (const std::string& line : split(config, '\n')) {
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1) + ".";
    if (const size_t equals = line.find(" = "); equals != std::string::npos && line[0] != '#')
      names.insert(section + line.substr(0, equals));
  }
  return names;
}

// Lists drl's own tasks first, then those of the library that is installed beside it.
TEST(Tasks, AreListedWithTheirSizesAndTheirLibraryOnce) {
  const Result result = expect_exit(run_program({kTrain, "--list_tasks"}), 0);
  std::vector<std::string> names;
  for (const std::string& line : split(result.out, '\n')) {
    EXPECT_LE(line.starts_with("#") ? 0 : line.size(), 120) << line;
    if (!line.empty() && line[0] != '#') names.push_back(line.substr(0, line.find(' ')));
  }
  std::vector<std::string> expected = kTasks;
#if defined(DRL_MUJOCO)
  expected = expected +
             "Ant-v5 AnymalC-Velocity-Flat BerkeleyHumanoid-Velocity-Flat G1-Tracking G1-Velocity-Flat "
             "G1-Velocity-Rough Go1-Velocity-Flat Go1-Velocity-Rough Go2-Velocity-Flat H1-Velocity-Flat "
             "HalfCheetah-v5 Hopper-v5 Humanoid-v5 HumanoidStandup-v5 InvertedDoublePendulum-v5 "
             "InvertedPendulum-v5 PushCube Pusher-v5 Reacher-v5 Reorient Spot-Velocity-Flat Swimmer-v5 "
             "Walker2d-v5"_words;
  const std::string library = built("lib/drl/tasks/drl_robots.so");
  EXPECT_EQ(result.out.find(library), result.out.rfind(library)) << result.out;
  expect_mentions(result.out, {library});
#endif
  EXPECT_EQ(names, expected);
  const size_t cartpole = result.out.find("CartPole-v1 ");
  ASSERT_NE(cartpole, std::string::npos);
  expect_mentions(result.out.substr(cartpole, result.out.find('\n', cartpole) - cartpole),
                  {" 4 observations", " 2 choices", "pole"});
}

TEST(Tasks, PresetsRun) {
  for (const std::string& task : kTasks) {
    const TempFolder folder;
    const Result result =
        run_program({kTrain, "--task", task, "--max_iterations", "1", "--runs_dir", folder.path(), "--quiet"});
    EXPECT_EQ(result.exit_code, 0) << task << ": " << result.err;
    EXPECT_EQ(result.out + result.err, "") << "--quiet prints nothing without errors";
  }
}

// Returns a section of a config without the options that only one schedule of the learning rate uses.
std::string section_of(const std::string& config, const std::string& name) {
  const size_t begin = config.find("[" + name + "]");
  return std::regex_replace(config.substr(begin, config.find("\n[", begin) - begin),
                            std::regex("(schedule_iterations|desired_kl) = [^\n]*"), "");
}

struct TrainerDefaults {
  const char *file, *task, *other_task;   // both tasks have the same kind of actions
  Words options = "--num_envs 32"_words;  // so that an update takes place soon, and not for long
};

// The other trainers' hyperparameters do not depend on the task, whatever its preset is.
TEST(ExampleConfigs, OfOtherTrainersReplaceAllThatPresetsSetAndTrain) {
  for (const auto& [name, task, other_task, options] :
       {TrainerDefaults{"rsl_rl", "Pendulum-v1", "Cartpole"},
        {"cleanrl", "Pendulum-v1", "MountainCarContinuous-v0"},
        {"cleanrl_discrete", "CartPole-v1", "Acrobot-v1"},
        {"purejaxrl", "Pendulum-v1", "Cartpole"},
        {"fastsac", "Pendulum-v1", "MountainCarContinuous-v0",
         "--num_envs_total 32 --num_steps_per_env 4 --sac.learning_starts 200 --sac.batch_size 64"_words},
        {"simba", "Pendulum-v1", "MountainCarContinuous-v0",
         "--num_envs 32 --num_steps_per_env 4 --sac.learning_starts 200"_words}}) {
    const std::string file = fs::path(source("examples/configs")) / (name + std::string(".ini"));
    const std::string config = print_config({"--config", file, "--task", task}),
                      other = print_config({"--config", file, "--task", other_task});
    for (const std::string& section : {value_of(config, "algorithm"), std::string("policy")})
      EXPECT_EQ(section_of(config, section), section_of(other, section));
    EXPECT_EQ(value_of(config, "num_steps_per_env"), value_of(other, "num_steps_per_env")) << name;
    const Runs runs(task);
    const Words start = {kTrain, "--config", file, "--task", task, "--runs_dir", runs.path(), "--run_name", "r"};
    const Result result = run_program(start + "--max_iterations 2 --quiet"_words + options);
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    EXPECT_EQ(result.out + result.err, "") << name;
    EXPECT_EQ(newest_checkpoint(runs.run("r")), 2) << name;
  }
}

// mjlab weighs a quadruped's and a humanoid's terms alike, except for those of the body's rotation and self-contacts.
TEST(ExampleConfigs, OfMjlabReplacesAllThatPresetsSet) {
  const std::string file = fs::path(source("examples/configs")) / "mjlab_velocity.ini";
  const std::string go1 = print_config({"--config", file, "--task", "Go1-Velocity-Flat"}),
                    g1 = print_config({"--config", file, "--task", "G1-Velocity-Flat"});
  for (const char* section : {"ppo", "policy"}) EXPECT_EQ(section_of(go1, section), section_of(g1, section));
  const std::regex robots_own("(body_ang_vel|angular_momentum|self_collisions) = [^\n]*\n");
  const auto weights = [&](const std::string& config) {
    return std::regex_replace(section_of(config, "env.reward"), robots_own, "");
  };
  EXPECT_EQ(weights(go1), weights(g1));
  EXPECT_EQ(value_of(go1, "num_steps_per_env"), value_of(g1, "num_steps_per_env"));
}

TEST(Config, IsAcceptedAsPrinted) {
  const TempFolder folder;
  const std::string file = folder / "my.ini";
  for (const Words& options : {Words{}, "--task Cartpole"_words,
                               "--task Pendulum-v1 --num_envs 48 --ppo.gamma 0.123456789012345 --target_reward -3.5 "
                               "--policy.actor_hidden_dims none"_words}) {
    const std::string config = print_config(options);
    spill(file, config);
    EXPECT_EQ(print_config({"--config", file}), config);
  }
}

TEST(Config, AcceptsTheOptionsOfARun) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --max_iterations 1 --ppo.gamma 0.5"_words), 0);
  EXPECT_EQ(print_config({"--config", runs.run("r") / "options.ini"}), slurp(runs.run("r") / "options.ini"));
  expect_exit(
      run_program({kTrain, "--config", runs.run("r") / "options.ini", "--runs_dir", runs.path(), "--run_name", "s"}),
      0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("s"), 1)), datasets(checkpoint_file(runs.run("r"), 1)));
}

TEST(CommandLine, ExplainsOptionsOfIsaacLab) {
  const Runs runs;
  const Result result = expect_exit(runs.train("--headless --distributed --num_gpus 1 --max_iterations 1"_words), 0);
  EXPECT_EQ(count_lines(result.err), 3u) << result.err;
  expect_mentions(result.err, {"--headless", "--distributed", "--num_gpus"});
}

TEST(CommandLine, AnswersHabitsOfOtherTrainers) {
  const struct {
    std::vector<std::string> typed;
    std::string answer;
  } habits[] = {
      {{"--video"}, "--video_interval 50"},
      {{"agent.max_iterations=100"}, "--max_iterations 100"},
      {{"agent.algorithm.learning_rate=1e-3"}, "--ppo.learning_rate 1e-3"},
      {{"--lr", "1e-3"}, "--ppo.learning_rate"},
      {{"--algo=ppo"}, "--algorithm"},
      {{"--total-timesteps", "100000", "--num_envs=1000", "--num_steps_per_env", "30"}, "--max_iterations 4 "},
      {{"--total_timesteps=1e5", "--task", "Nothing"}, "--max_iterations N"},
      {{"--gpus", "4"}, "--ranks"},
      {{"--epochs", "10"}, "--max_iterations"},
      {{"--experiment_name", "x"}, "--run_name"},
      {{"--env.max_episode_steps", "200"}, "step limit"},
      {{"--max-episode-steps=200"}, "step limit"},
      {{"--env.episode_length_s", "20"}, "step limit"},
      {{"--logger", "wandb"}, "metrics.csv"},
      {{"--logger=wandb"}, "metrics.csv"}};
  for (const auto& [typed, answer] : habits)
    expect_error(run_program(Words{kTrain, "--task", "Cartpole"} + typed),
                 {typed[0].substr(0, typed[0].find('=')), answer});
  expect_exit(run_program({kTrain, "--task", "Cartpole", "--num_gpus", "4"}), 2, {"--ranks 4"});
}

TEST(Tasks, HaveTheNamesOfOtherProjectsIfTheyAreTheSame) {
  const std::string ours = print_config("--task Cartpole"_words);
  for (const char* theirs : {"Isaac-Cartpole-v0", "Isaac-Cartpole-Play-v0"})
    EXPECT_EQ(print_config({"--task", theirs}), ours);
  expect_mentions(ours, {"task = Cartpole"});
  const Runs runs;
  const Result trained = run_program({kTrain, "--task", "Isaac-Cartpole-v0", "--num_envs", "16", "--max_iterations",
                                      "1", "--quiet", "--runs_dir", runs.path(), "--run_name", "r"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 1) << "in the directory of Cartpole";
  expect_exit(run_program({kEval, "--task", "Isaac-Cartpole-v0", "--agent", "zero", "--episodes", "1"}), 0);
}

TEST(Tasks, OfOtherProjectsThatDifferAreAnErrorThatNamesTheNearestAndTheDifference) {
  std::vector<Words> names = {{"Isaac-Cartpole-Direct-v0", "Cartpole", "order of observations"},
                              {"Mjlab-Cartpole-Swingup", "Cartpole", "upright"}};
#if defined(DRL_MUJOCO)
  names.push_back({"Isaac-Velocity-Flat-Unitree-Go1-v0", "Go1-Velocity-Flat", "mjlab"});
  names.push_back({"Isaac-Ant-v0", "Ant-v5", "Gymnasium"});
  names.push_back({"Mjlab-Velocity-Rough-Unitree-Go1", "Go1-Velocity-Rough", "ground"});
  names.push_back({"PushCube-v1", "PushCube", "EmbodiChain"});
#endif
  for (const Words& name : names)
    expect_error(run_program({kTrain, "--task", name[0]}), {name[0], "--task " + name[1], name[2]});
}

TEST(CommandLine, AListOfGpusMayHaveSeveralWords) {
  for (const Words& typed : {"--gpu-ids 0 2"_words, {"--gpu_ids", "0", "2", "--seed", "3"}})
    EXPECT_EQ(value_of(print_config(typed), "gpu_ids"), "0,2");
}

TEST(NumEnvsTotal, IsDividedOverTheRanks) {
  const Runs runs;
  const auto train = [&](const Words& more) {
    return run_program(Words{kTrain, "--task", "Cartpole", "--max_iterations", "1", "--num_steps_per_env", "4",
                             "--ppo.num_mini_batches", "2", "--runs_dir", runs.path()} +
                       more);
  };
  const Result two = expect_exit(train("--ranks 2 --num_envs_total 64 --run_name two"_words), 0);
  expect_mentions(two.out, {"32 per rank", "64 in total"});
  expect_mentions(expect_exit(train("--load_run two --max_iterations 2 --ranks 1"_words), 0).out,
                  {"64 per rank", "64 in total"});
  expect_exit(train("--ranks 2 --num_envs_total 33"_words), 2,
              {"--num_envs_total 33", "2 ranks", "--num_envs_total 32 or 34"});
  expect_exit(train("--ranks 2 --num_envs_total 64 --ppo.num_mini_batches 5"_words), 2,
              {"--num_envs 32 ", "--num_envs_total is 64", "use --num_envs_total 60 or 70"});
  expect_mentions(train("--num_envs 16 --num_envs_total 32"_words).err, {"--num_envs", "no effect"});
}

TEST(CommandLine, AListMayHaveBrackets) {
  expect_mentions(print_config("--policy.actor_hidden_dims [64,32]"_words), {"actor_hidden_dims = 64,32"});
}

TEST(Help, OfAllListsEveryOptionOnceWithin80Columns) {
  std::set<std::string> expected = names_in(print_config({}));
  expected.insert({"check",           "config",    "ranks",  "threads",  "max_restarts", "spare_nodes",  "on_straggler",
                   "quiet",           "preflight", "help",   "version",  "list_tasks",   "print_config", "task_library",
                   "runs_dir",        "run_name",  "resume", "load_run", "checkpoint",   "init_from",    "fresh",
                   "after_checkpoint"});
  const Result result = expect_exit(run_program({kTrain, "--help", "all"}), 0);
  EXPECT_EQ(result.err, "");
  std::multiset<std::string> found;
  const std::regex option("^  (-. \\[ )?--([a-z0-9_.]+)");
  bool in_options = false;
  for (const std::string& line : split(result.out, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
    in_options |= line.starts_with("Options");
    std::smatch match;
    if (in_options && std::regex_search(line, match, option)) found.insert(match[2]);
  }
  EXPECT_EQ(found, std::multiset<std::string>(expected.begin(), expected.end()));
}

TEST(Help, OfASectionListsItsOptions) {
  const std::string ppo = expect_exit(run_program({kTrain, "--help", "ppo"}), 0).out,
                    env = expect_exit(run_program({kTrain, "--task", "Pendulum-v1", "--help=env"}), 0).out;
  expect_mentions(ppo, {"--ppo.gamma", "--ppo.rnd"});
  expect_mentions(env, {"--env.delay.action"});
  for (const std::string& text : {ppo, env})
    for (const char* other : {"  --num_envs", "  --policy.", "  --grpo."})
      EXPECT_EQ(text.find(other), std::string::npos) << other;
  expect_error(run_program({kTrain, "--help", "pppo"}), {"pppo", "ppo", "all"});
}

TEST(Help, OfOtherProgramsFitsIn80Columns) {
  for (const std::string& program : {kEval, kCheckpointProgram}) {
    const Result result = expect_exit(run_program({program, "--help"}), 0);
    for (const std::string& line : split(result.out, '\n')) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Help, ShowsThePreset) {
  const std::string preset = print_config("--task Pendulum-v1"_words),
                    help = run_program({kTrain, "--help", "--task", "Pendulum-v1"}).out;
  for (const char* name : {"num_envs", "max_iterations"})
    EXPECT_NE(help.find(std::string("  --") + name + " " + value_of(preset, name) + " "), std::string::npos) << help;
}

}  // namespace
}  // namespace drl::test
