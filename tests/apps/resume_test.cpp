// Runs that are interrupted and resumed must be bit-identical to uninterrupted ones.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <tuple>

#include "programs.hpp"

namespace drl::test {
namespace {

using Case = TrainingCase;

class Resume : public testing::TestWithParam<std::tuple<int, Case>> {
 protected:
  Result train(const std::string& run, int iterations) { return runs.train(options(run, iterations)); }
  Words options(const std::string& run, int iterations) const {
    return std::get<Case>(GetParam()).options +
           Words{"--run_name", run, "--max_iterations", std::to_string(iterations)};
  }
  // Leaves checkpoints up to iteration 14, and later rows in metrics.csv, as after a crash.
  void kill_past_iteration_14(const std::string& run) {
    Process process(runs.command(options(run, 1000000) + "--save_interval 7 --keep_checkpoints 1000000"_words));
    ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run(run)) >= 14; })) << process.err();
    runs.signal_rank(0, SIGKILL);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
    ASSERT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
    for (int iteration : checkpoints(runs.run(run)))
      if (iteration > 14) fs::remove(checkpoint_file(runs.run(run), iteration));
    ASSERT_GT(newest_checkpoint(runs.run(run)), 0);
  }
  void expect_whole(const std::string& run) const {
    EXPECT_EQ(datasets(checkpoint_file(runs.run(run), 20)), datasets(checkpoint_file(runs.run("whole"), 20)));
    EXPECT_EQ(metrics(runs.run(run)), metrics(runs.run("whole")));
    EXPECT_EQ(iterations(runs.run(run)), count_to(20));
  }

  const Ranks ranks_{std::get<int>(GetParam())};
  Runs runs{std::get<Case>(GetParam()).task};
};

std::string name_of(const testing::TestParamInfo<std::tuple<int, Case>>& info) {
  return std::get<Case>(info.param).name + name_of_ranks(std::get<int>(info.param));
}

TEST_P(Resume, IsBitIdentical) {
  expect_exit(train("whole", 20), 0);

  expect_exit(train("parts", 9), 0);
  ASSERT_EQ(iterations(runs.run("parts")), count_to(9));
  expect_exit(train("parts", 20), 0);
  expect_whole("parts");

  kill_past_iteration_14("killed");
  expect_exit(train("killed", 20), 0);
  expect_whole("killed");
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, Resume,
    testing::Combine(testing::Values(1, 2),
                     testing::Values(Case{"Gaussian", "Cartpole", {}},  // adaptive learning rate
                                     Case{"Categorical", "CartPole-v1", {"--ppo.obs_normalization", "true"}},
                                     Case{"EveryOption",
                                          "Pendulum-v1",
                                          {"--ppo.obs_normalization", "--ppo.reward_normalization",
                                           "--ppo.normalize_advantage_per_mini_batch", "--ppo.grad_clip", "joint",
                                           "--policy.activation", "gelu", "--policy.layer_norm", "true"}},
                                     Case{"Grpo",
                                          "Pendulum-v1",
                                          {"--algorithm", "grpo", "--grpo.group_size", "4", "--grpo.kl_coef", "0.1",
                                           "--grpo.reference_interval", "6", "--grpo.obs_normalization"}},
                                     Case{"Sac",
                                          "Pendulum-v1",
                                          {"--algorithm", "sac", "--num_envs", "2", "--num_steps_per_env", "20",
                                           "--sac.batch_size", "32", "--sac.replay_size", "300",
                                           "--sac.learning_starts", "100", "--policy.actor_hidden_dims", "16",
                                           "--policy.critic_hidden_dims", "16", "--save_replay", "all"}},
                                     Case{"Td3",
                                          "Pendulum-v1",
                                          {"--algorithm",
                                           "td3",
                                           "--num_envs",
                                           "2",
                                           "--num_steps_per_env",
                                           "20",
                                           "--td3.batch_size",
                                           "32",
                                           "--td3.replay_size",
                                           "300",
                                           "--td3.learning_starts",
                                           "100",
                                           "--td3.n_step",
                                           "3",
                                           "--td3.obs_normalization",
                                           "--policy.actor_hidden_dims",
                                           "16",
                                           "--policy.critic_hidden_dims",
                                           "16",
                                           "--save_replay",
                                           "all"}},
                                     Case{"Distill",
                                          "Pendulum-v1",
                                          {"--algorithm", "distill", "--teacher", "pretrained/Pendulum-v1",
                                           "--env.hidden_obs", "theta_dot", "--policy.rnn_type", "gru",
                                           "--policy.rnn_hidden_dim", "8", "--distill.gradient_length", "4"}})),
    name_of);

#if defined(DRL_MUJOCO)  // interrupted in the middle of episodes of 1000 steps
INSTANTIATE_TEST_SUITE_P(Robots, Resume,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(Case{"HalfCheetah", "HalfCheetah-v5", {"--threads", "2"}},
                                                          Case{"Ant", "Ant-v5", {"--num_envs", "4"}},
                                                          Case{"Walker2dWithLibmujoco",
                                                               "Walker2d-v5",
                                                               {"--threads", "2", "--env.physics", "mujoco"}})),
                         name_of);
#endif

// A run of SAC with four environments, whose replay buffer has room for 75 transitions of each.
struct SacRun {
  Result train(int iterations, int ranks, const Words& more = {}) const {
    const Ranks number(ranks);
    return runs.train(
        "--algorithm sac --num_envs_total 4 --num_steps_per_env 20 --sac.batch_size 32 --run_name r "
        "--sac.replay_size 300 --sac.learning_starts 100 --policy.actor_hidden_dims 16 --shards 2 "
        "--policy.critic_hidden_dims 16 --sac.reward_normalization true"_words +
        iterations_of(iterations) + more);
  }
  fs::path replay(int iteration, int rank) const {
    fs::path file = checkpoint_file(runs.run("r"), iteration);
    return file.replace_extension(".replay." + std::to_string(rank) + ".h5");
  }
  // Returns the rewards [environments of the rank, 75].
  std::vector<float> rewards(int iteration, int rank) const {
    const Checkpoint content = read_arrays(replay(iteration, rank), "drl-replay");
    const Tensor& tensor = *content.find("replay/reward");
    const auto* first = reinterpret_cast<const float*>(tensor.data.data());
    return {first, first + tensor.data.size() / sizeof(float)};
  }
  const Runs runs{"Pendulum-v1"};
};

// Rank 0 takes over the environments of both ranks. Its first 60 transitions of each are theirs, and 15 others follow.
TEST(ResumeReplayOnTwoRanks, DealsTheTransitionsToAnotherNumberOfRanks) {
  const SacRun run;
  expect_exit(run.train(3, 2), 0);
  const Result resumed = expect_exit(run.train(4, 1, {"--resume"}), 0);
  EXPECT_EQ(resumed.err.find("replay"), std::string::npos) << resumed.err;
  const std::vector<float> now = run.rewards(4, 0);
  for (int rank : {0, 1})
    for (size_t env = 0; env < 2; ++env)
      for (size_t slot = 5; slot < 60; ++slot)  // the twenty new ones begin in slot 60, and end in slot 4
        EXPECT_EQ(now[(static_cast<size_t>(rank) * 2 + env) * 75 + slot], run.rewards(3, rank)[env * 75 + slot]);
}

TEST(ResumeReplayOnTwoRanks, RefusesDamagedFilesAndSaysWhatIsMissing) {
  const SacRun run;
  expect_exit(run.train(2, 2), 0);
  const fs::path file = run.replay(2, 1);
  const std::string whole = slurp(file);
  expect_mentions(expect_exit(run_program({kCheckpointProgram, "verify", file}), 0).out, {"ok: drl-replay", "CRC"});
  spill(file, whole.substr(0, whole.size() - 100));
  expect_error(run.train(3, 2, {"--resume"}), {file.string(), "truncated"});
  expect_error(run_program({kCheckpointProgram, "verify", file}), {file.string(), "truncated"});
  fs::remove(file);
  expect_mentions(expect_exit(run.train(3, 2, {"--resume"}), 0).err, {"replay buffer starts empty", file.string()});
}

// Older files are removed when a newer checkpoint exists, as that of iteration 3 does when iteration 4 is saved.
TEST(ResumeReplay, KeepsTheFilesThatWereAskedFor) {
  const auto kept = [](const Words& options) {
    const SacRun run;
    for (int iterations : {3, 4}) expect_exit(run.train(iterations, 1, options + "--save_interval 1"_words), 0);
    std::vector<int> iterations;
    for (int k = 1; k <= 4; ++k)
      if (fs::exists(run.replay(k, 0))) iterations.push_back(k);
    return iterations;
  };
  EXPECT_EQ(kept({"--save_replay", "all"}), count_to(4));
  EXPECT_EQ(kept({"--save_replay", "none"}), std::vector<int>());
  EXPECT_EQ(kept({}), (std::vector<int>{3, 4}));
}

#if defined(DRL_MUJOCO)
// A run keeps its physics engine, even if the default changes.
TEST(ResumeOptions, KeepThePhysicsEngine) {
  const Runs runs("HalfCheetah-v5");
  const auto train = [&](const std::string& iterations, const Words& more) {
    return runs.train(Words{"--run_name", "r", "--max_iterations", iterations} + more);
  };
  expect_mentions(expect_exit(train("2", {}), 0).out, {"  physics      lanes\n"});
  EXPECT_NE(slurp(runs.run("r") / "options.ini").find("\nphysics = lanes "), std::string::npos);
  EXPECT_NE(slurp(runs.run("r") / "run.json").find("\"physics\": \"lanes\""), std::string::npos);
  expect_exit(train("3", {"--env.physics", "auto"}), 0);
  expect_exit(train("4", {"--env.physics", "mujoco", "--resume"}), 2, {"error: ", "env.physics: lanes -> mujoco"});
  const Result unresumable = expect_exit(train("4", {"--env.physics", "mujoco"}), 2);
  EXPECT_EQ(unresumable.err.find("--resume"), std::string::npos) << unresumable.err;
  expect_mentions(unresumable.err, {"--fresh", "--run_name"});
  for (const char* option : {"physics", "xml_file"}) {
    const std::string name = option, value = name == "physics" ? "mujoco" : "half_cheetah.xml";
    expect_exit(run_program({kEval, "--run", runs.run("r"), "--" + name, value, "--env." + name, value}), 2,
                {"error: ", "--" + name + " and --env." + name});
  }
  for (const char* physics : {"run", "lanes", "mujoco"})
    expect_exit(run_program({kEval, "--run", runs.run("r"), "--episodes", "2", "--physics", physics}), 0);

  expect_exit(train("2", {"--run_name", "libmujoco", "--env.physics", "mujoco"}), 0);
  expect_exit(train("3", {"--load_run", "libmujoco", "--run_name", "libmujoco"}), 0);
  EXPECT_NE(slurp(runs.run("libmujoco") / "options.ini").find("\nphysics = mujoco "), std::string::npos);
}

const fs::path kModels = source("src/robots/models");

// Copies a robot's model and the file that it includes, and replaces `what` in it.
void copy_model(const fs::path& to, const std::string& what = "", const std::string& by = "") {
  fs::create_directories(to.parent_path());
  fs::copy(kModels / "scene.xml", to.parent_path(), fs::copy_options::overwrite_existing);
  std::string model = slurp(kModels / "half_cheetah.xml");
  if (!what.empty()) model.replace(model.find(what), what.size(), by);
  spill(to, model);
}

// The model has time steps of 0.005 s, two per environment step.
TEST(ResumeOptions, KeepTheModelAndFrameSkipOfARobot) {
  const Runs runs("HalfCheetah-v5");
  const fs::path own = runs.folder / "own/my.xml";
  copy_model(own, "timestep=\"0.01\"", "timestep=\"0.005\"");
  const Words options = "--run_name r --env.frame_skip 2"_words;
  Words command = runs.command(options + "--env.xml_file own/my.xml --max_iterations 1"_words);
  expect_mentions(expect_exit(run_program(Words{"env", "-C", runs.folder.path()} + command), 0).out,
                  {"  physics      libmujoco", own.string(), "my.xml ("});
  const std::string ini = slurp(runs.run("r") / "options.ini");
  EXPECT_NE(ini.find("\nxml_file = " + own.string() + " "), std::string::npos) << ini;
  EXPECT_NE(ini.find("\nframe_skip = 2 "), std::string::npos) << ini;

  expect_exit(runs.train(options + Words{"--env.xml_file", own, "--max_iterations", "2"}), 0,
              {"resuming ", "the same options"});
  expect_exit(runs.train("--load_run r --max_iterations 3"_words), 0);
  expect_exit(runs.train({"--run_name", "r", "--env.xml_file", own, "--max_iterations", "4"}), 2,
              {"error: ", "env.frame_skip: 2 -> 5"});

  const fs::path recording = runs.folder / "played.h5", elsewhere = runs.folder / "elsewhere/the_same.xml";
  const auto eval = [&](const Words& more) {
    return run_program(Words{kEval, "--run", runs.run("r"), "--episodes", "1"} + more);
  };
  const Result played = expect_exit(eval({"--record", recording}), 0);
  EXPECT_EQ(played.err, "");
  EXPECT_EQ(std::get<double>(read_arrays(recording, "drl-recording").attributes.at("dt")), 0.01);
  copy_model(elsewhere, "timestep=\"0.01\"", "timestep=\"0.005\"");
  fs::remove(own);
  expect_error(eval({}), {own.string()});
  const Result moved = expect_exit(eval({"--xml_file", elsewhere}), 0);
  EXPECT_EQ(moved.err, "");
  EXPECT_EQ(moved.out, played.out);
}

TEST(ResumeOptions, WarnAboutAChangedModelOfARobot) {
  const Runs runs("HalfCheetah-v5");
  const fs::path model = runs.folder / "models/half_cheetah.xml";
  copy_model(model);
  const Process::Variables variables = {{"DRL_MODELS", model.parent_path()}};
  const Words command = "--run_name r --env.physics mujoco"_words;
  expect_exit(runs.train(command + "--max_iterations 1"_words, variables), 0);
  const Words eval = {kEval, "--run", runs.run("r"), "--episodes", "1"};
  EXPECT_EQ(run_program(eval, variables).err, "");
  copy_model(model, "timestep=\"0.01\"", "timestep=\"0.005\"");
  for (const Result& result :
       {run_program(eval, variables), runs.train(command + "--max_iterations 2"_words, variables)}) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_mentions(result.err, {"warning: ", model.string(), "half_cheetah.xml ("});
  }
}

TEST(RobotOptions, OfAnotherVersionOfMujocoCauseAWarning) {
  const Runs runs("HalfCheetah-v5");
  expect_exit(runs.train("--run_name r --max_iterations 1"_words), 0);
  Checkpoint checkpoint = read_checkpoint(checkpoint_file(runs.run("r"), 1));
  const std::string versions = std::get<std::string>(checkpoint.attributes["versions"]), begin = ", mujoco ";
  const size_t at = versions.find(begin), end = versions.find(", physics");
  ASSERT_LT(at, end) << versions;
  const std::string now = versions.substr(at + begin.size(), end - at - begin.size());
  expect_mentions(slurp(runs.run("r") / "run.json"), {"\"mujoco\"", now});
  const fs::path file = runs.folder / "of_another.h5";
  const auto warnings = [&](const std::string& recorded) {
    checkpoint.attributes["versions"] = versions.substr(0, at) + recorded + versions.substr(end);
    write_checkpoint(file, checkpoint);
    return expect_exit(run_program({kEval, "--checkpoint", file, "--episodes", "1"}), 0).err;
  };
  for (const std::string& same : {begin + now, begin + "2.1.0", std::string()}) EXPECT_EQ(warnings(same), "");
  expect_mentions(warnings(begin + "2.1.0 with multiccd"), {"warning: ", "2.1.0 with multiccd", now});
}

TEST(RobotOptions, ThatCannotBeUsedCauseOneError) {
  const Runs runs("Pusher-v5");
  const fs::path broken = runs.folder / "broken.xml", none = runs.folder / "none.xml";
  const fs::path pipe = runs.folder / "pipe.xml", coloured = runs.folder / "coloured.xml";
  spill(broken, "<mujoco><worldbody><bodi/></worldbody></mujoco>");
  spill(coloured, "<mujoco><worldbody><body name='&#27;[1mX'/><body name='&#27;[1mX'/></worldbody></mujoco>");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [options, mentioned, reason] : std::vector<std::tuple<Words, std::string, std::string>>{
           {{"--env.xml_file", none}, none.string(), ""},
           {{"--env.xml_file", runs.folder.path()}, runs.folder.path().string(), "not a file"},
           {{"--env.xml_file", "none.xml"}, "none.xml", ""},
           {{"--env.xml_file", pipe}, pipe.string(), "not a file"},
           {{"--env.xml_file", coloured}, coloured.string(), "\\x1b[1mX"},
           {{"--env.xml_file", broken}, broken.string(), "XML Error"},
           {{"--env.xml_file", (kModels / "half_cheetah.xml")}, "half_cheetah.xml", "6 actuators"},
           {{"--env.xml_file", "half_cheetah.xml"}, "half_cheetah.xml", "6 actuators"},
           {{"--env.frame_skip", "0"}, "env.frame_skip", ""},
           {{"--env.frame_skip", "4", "--env.physics", "lanes"}, "--env.physics lanes", ""}}) {
    expect_error(runs.train(options + "--max_iterations 1"_words), {mentioned, reason});
  }
  EXPECT_FALSE(fs::exists(runs.path()));
}
#endif

TEST(ResumeOptions, ForIntervalsAndReportsDoNotAffectTheResults) {
  const Runs runs;
  expect_exit(runs.train("--run_name a --max_iterations 6"_words), 0);
  expect_exit(
      runs.train("--run_name b --max_iterations 6 --save_interval 2 --eval_interval 3 --logger none --quiet"_words), 0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("a"), 6)), datasets(checkpoint_file(runs.run("b"), 6)));
  EXPECT_EQ(metrics(runs.run("a")), metrics(runs.run("b")));
}

// Removes the options that were added after the first release.
std::string as_of_0_1(const std::string& options) {
  std::string older;
  for (const std::string& line : split(options, '\n')) {
    const bool is_later = std::ranges::any_of(
        std::initializer_list<std::string>{"grad_clip", "obs_normalization_eps", "obs_normalization_clip",
                                           "reward_normalization", "normalize_advantage", "layer_norm"},
        [&](const std::string& name) { return line.starts_with(name); });
    if (!is_later) older += line + "\n";
  }
  return older;
}

// Changes the run's files to those of drl 0.1.
void make_older(const fs::path& run, int iteration) {
  spill(run / "options.ini", as_of_0_1(slurp(run / "options.ini")));
  const fs::path file = checkpoint_file(run, iteration);
  Checkpoint checkpoint = read_checkpoint(file);
  std::string& options = std::get<std::string>(checkpoint.attributes.at("options"));
  ASSERT_NE(as_of_0_1(options), options);
  options = as_of_0_1(options);
  write_checkpoint(file, checkpoint);
}

// --ppo.symmetry adds a metric in the middle of a row.
TEST(ResumeOptions, MayAddColumnsToTheMetrics) {
  const Runs runs("CartPole-v1");
  expect_exit(runs.train("--run_name r --max_iterations 2"_words), 0);
  const std::vector<double> before = column(runs.run("r"), "value_loss");
  expect_exit(runs.train("--load_run r --max_iterations 3 --ppo.symmetry loss"_words), 0);
  const std::vector<double> losses = column(runs.run("r"), "symmetry_loss");
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_TRUE(std::isnan(losses[0]) && std::isnan(losses[1]) && losses[2] >= 0);
  const std::vector<double> all = column(runs.run("r"), "value_loss");
  EXPECT_EQ(std::vector<double>(all.begin(), all.begin() + 2), before);
}

// drl 0.1 normalised by sqrt(variance + 1e-8), without clipping.
TEST(OlderRun, ResumesWithItsOwnNormalisation) {
  const Runs runs;
  const Words as_before =
      "--ppo.obs_normalization --ppo.obs_normalization_eps 1e-4 --ppo.obs_normalization_clip 0"_words;
  for (const char* name : {"whole", "older"})
    expect_exit(runs.train(as_before + Words{"--run_name", name, "--max_iterations", "3"}), 0);
  make_older(runs.run("older"), 3);
  const auto evaluate = [&](const char* run) {
    return run_program({kEval, "--run", runs.run(run), "--episodes", "5", "--json"});
  };
  EXPECT_EQ(nlohmann::json::parse(evaluate("older").out).at("returns"),
            nlohmann::json::parse(evaluate("whole").out).at("returns"));

  expect_exit(runs.train("--run_name older --ppo.obs_normalization true --max_iterations 6"_words), 2,
              {"ppo.obs_normalization_eps: 1e-04 -> 0.01", "ppo.obs_normalization_clip: 0 -> 10"});
  for (const char* name : {"whole", "older"}) expect_exit(runs.train({"--load_run", name, "--max_iterations", "6"}), 0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("older"), 6)), datasets(checkpoint_file(runs.run("whole"), 6)));
}

TEST(OlderRun, WithoutNormalisationHasTheSameOptions) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --max_iterations 2"_words), 0);
  make_older(runs.run("r"), 2);
  expect_exit(runs.train("--run_name r --max_iterations 3"_words), 0, {"resuming ", "the same options"});
}

}  // namespace
}  // namespace drl::test
