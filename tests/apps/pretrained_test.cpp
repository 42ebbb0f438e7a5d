// Tests policies without the state of their training: how drl_eval writes and plays them, and drl_train goes on from
// them.
#include <cmath>

#include "programs.hpp"

namespace drl::test {
namespace {

class Pretrained : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs = new Runs("Cartpole");
    expect_exit(
        runs->train(
            "--run_name r --max_iterations 3 --ppo.obs_normalization --ppo.gamma 0.9 --policy.activation relu"_words),
        0);
    expect_exit(eval({"--run", runs->run("r"), "--save_pretrained", file()}), 0);
  }
  static void TearDownTestSuite() { delete runs; }
  static Result eval(const Words& options) { return run_program(Words{kEval, "--episodes", "10"} + options); }
  static std::string file() { return (runs->folder / "policy.h5").string(); }
  static Result init_from(const Words& more) {
    return runs->train(Words{"--run_name", "pupil", "--fresh", "--init_from", file(), "--max_iterations", "1"} + more);
  }

  static inline Runs* runs = nullptr;
};

TEST_F(Pretrained, HasNoStateOfTheTraining) {
  const Checkpoint whole = read_checkpoint(checkpoint_file(runs->run("r"), 3)), policy = read_checkpoint(file());
  for (const Tensor& tensor : policy.tensors) {
    EXPECT_EQ(tensor, *whole.find(tensor.name));
    EXPECT_TRUE(tensor.name.starts_with("policy/") || tensor.name.starts_with("normalizer/obs/")) << tensor.name;
    EXPECT_EQ(tensor.name.find("critic"), std::string::npos) << tensor.name;
  }
  for (const char* name : {"hosts", "run"}) EXPECT_FALSE(policy.attributes.contains(name)) << name;
}

TEST_F(Pretrained, PlaysAsItsRunDoes) {
  const auto returns = [](const Words& policy) {
    return nlohmann::json::parse(eval(policy + Words{"--json"}).out).at("returns").get<std::vector<double>>();
  };
  const std::vector<double> of_run = returns({"--run", runs->run("r")});
  EXPECT_EQ(returns({"--checkpoint", file()}), of_run);
  double mean = 0;
  for (const double r : of_run) mean += r / 10;
  const Checkpoint policy = read_checkpoint(file());
  EXPECT_NEAR(std::get<double>(policy.attributes.at("return_mean")), mean, 1e-9);
  EXPECT_EQ(std::get<int64_t>(policy.attributes.at("episodes")), 10);
}

// The command in the file trains the same policy.
TEST_F(Pretrained, NamesTheCommandThatTrainedIt) {
  const auto command = std::get<std::string>(read_checkpoint(file()).attributes.at("trained_by"));
  expect_mentions(command, {"--task Cartpole", "--ranks 1", "--ppo.gamma 0.9"});
  const std::string runs_dir = (runs->folder / "again").string();
  expect_exit(run_program({"sh", "-c",
                           "PATH=" + bin("") + ":$PATH; " + command + " --quiet --run_name r --runs_dir " + runs_dir}),
              0);
  EXPECT_EQ(datasets(checkpoint_file(runs_dir + "/Cartpole/r", 3)), datasets(checkpoint_file(runs->run("r"), 3)));
}

TEST_F(Pretrained, InitFromLoadsTheActorAndStartsTheCriticAnew) {
  const Words still =  // this learning rate changes no weight
      "--ppo.obs_normalization --policy.activation relu --ppo.schedule fixed --ppo.learning_rate 1e-30"_words;
  const Result result = expect_exit(init_from(still), 0);
  expect_mentions(result.out + result.err, {"critic", file()});
  expect_exit(runs->train(still + "--run_name anew --max_iterations 1"_words), 0);
  const Checkpoint pupil = read_checkpoint(checkpoint_file(runs->run("pupil"), 1)), policy = read_checkpoint(file()),
                   anew = read_checkpoint(checkpoint_file(runs->run("anew"), 1));
  int of_critic = 0;
  for (const Tensor& tensor : pupil.tensors) {
    if (tensor.name.starts_with("policy/actor/") || tensor.name.starts_with("policy/log_std")) {
      EXPECT_EQ(tensor, *policy.find(tensor.name)) << tensor.name;
    }
    if (tensor.name.starts_with("policy/critic/")) {
      EXPECT_EQ(tensor, *anew.find(tensor.name)) << tensor.name;
      ++of_critic;
    }
  }
  EXPECT_GT(of_critic, 0);
}

// The options that decide what the networks compute are those of the policy's run.
TEST_F(Pretrained, InitFromTakesTheNetworksOfThePolicy) {
  expect_exit(init_from({}), 0);
  const std::string ini = slurp(runs->run("pupil") / "options.ini");
  expect_mentions(ini, {"\nactor_hidden_dims = 32,32 ", "\nactivation = relu ", "\nobs_normalization = true "});
}

TEST_F(Pretrained, RefusesWhatDoesNotFit) {
  const auto expect_refused = [](const Result& result, std::initializer_list<std::string_view> words) {
    EXPECT_EQ(result.exit_code, 2);
    expect_mentions(result.err, words);
  };
  expect_refused(init_from("--task Pendulum-v1"_words), {file(), "Cartpole", "Pendulum-v1"});
  const Words relu = "--policy.activation relu"_words;
  expect_refused(init_from(relu + "--ppo.obs_normalization --policy.actor_hidden_dims 7"_words),
                 {file(), "policy/actor/0/weight", "give --policy.actor_hidden_dims 32,32\n"});
  expect_refused(init_from("--ppo.obs_normalization false"_words),
                 {file(), "normalizer/obs", "--ppo.obs_normalization true"});
  expect_refused(runs->train({"--run_name", "whole", "--checkpoint", file(), "--ppo.obs_normalization"}),
                 {file(), "--init_from"});
  const std::string whole = checkpoint_file(runs->run("r"), 3).string();
  expect_refused(eval({"--checkpoint", whole, "--save_pretrained", whole}), {"--save_pretrained", whole});
  expect_refused(eval({"--checkpoint", whole, "--save_pretrained", file(), "--stochastic"}),
                 {"--save_pretrained", "--stochastic"});
  expect_refused(eval({"--pretrained", "Nonesuch", "--run", whole}), {"--pretrained", "--run"});
}

// Arrays of the same shapes, with another activation or normaliser, compute something else.
TEST_F(Pretrained, RefusesOptionsThatChangeWhatTheNetworkComputes) {
  const std::string whole = checkpoint_file(runs->run("r"), 3).string();
  const Words same = "--ppo.obs_normalization --policy.activation relu"_words;
  for (const auto& [option, here, there] : {std::tuple{"policy.activation", "tanh", "relu"},
                                            {"ppo.obs_normalization_eps", "0.001", "0.01"},
                                            {"ppo.obs_normalization_clip", "3", "10"}}) {
    const Words other = same + Words{std::string("--") + option, here};
    for (const Result& result :
         {init_from(other), runs->train(other + Words{"--run_name", "whole", "--checkpoint", whole})}) {
      EXPECT_EQ(result.exit_code, 2) << option;
      expect_mentions(result.err, {option, here, std::string("give --") + option + " " + there});
    }
  }
}

// Nothing is played: the errors come before the episodes.
TEST_F(Pretrained, RefusesToWriteOverOtherFiles) {
  const std::string text = (runs->folder / "text").string(), video = (runs->folder / "v.gif").string();
  spill(text, "precious");
  const auto refused = [&](const Words& outputs) {
    const Result result = expect_exit(eval(Words{"--checkpoint", file()} + outputs), 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  expect_mentions(refused({"--save_pretrained", text}), {"--save_pretrained", text, "not a policy"});
  EXPECT_EQ(slurp(text), "precious");
  expect_mentions(refused({"--save_pretrained", video, "--video", video}), {"--save_pretrained", "--video"});
  const std::string record = (runs->folder / "z.h5").string(), same = (runs->folder / "." / "z.h5").string();
  expect_mentions(refused({"--record", record, "--save_pretrained", same}), {"--save_pretrained", "--record"});
  for (const std::string option : {"--save_pretrained", "--record", "--video"})
    expect_mentions(refused({option, ""}), {option, "empty"});
}

// A checkpoint that lacks something ends drl_eval before it plays any episodes.
TEST_F(Pretrained, SaveReadsTheCheckpointBeforeTheEpisodes) {
  Checkpoint damaged = read_checkpoint(checkpoint_file(runs->run("r"), 3));
  damaged.attributes.erase("world_size");
  const fs::path from = runs->folder / "damaged.h5", record = runs->folder / "episodes.h5";
  write_checkpoint(from, damaged);
  expect_exit(eval({"--checkpoint", from, "--record", record, "--save_pretrained", from.string() + ".policy"}), 2,
              {from.string(), "world_size"});
  EXPECT_FALSE(fs::exists(record));
}

// The file of a policy names the library without its directory.
TEST(PretrainedOfALibrary, AnUnknownTaskNamesTheFileAndItsLibrary) {
  const Runs runs("Ladder");
  expect_exit(runs.train(kWithTestTasks + "--run_name r --max_iterations 1"_words), 0);
  const std::string policy = (runs.folder / "policy.h5").string();
  expect_exit(run_program(Words{kEval, "--run", runs.run("r"), "--save_pretrained", policy} + kWithTestTasks), 0);
  for (const Result& result :
       {run_program({kEval, "--checkpoint", policy}), runs.train({"--run_name", "pupil", "--init_from", policy})}) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {policy, "Ladder", "libtest_programs.so", "--task_library"});
  }
  expect_exit(run_program(Words{kEval, "--checkpoint", policy} + kWithTestTasks), 0);
}

// The command also names the policy with which the run began, even after it was resumed, and the library of its task.
TEST(PretrainedOfALibrary, TheCommandNamesFilesWithoutDirectories) {
  const Runs runs("Ladder");
  const std::string first = (runs.folder / "first.h5").string(), second = (runs.folder / "second.h5").string();
  const auto save = [&](const std::string& run, const std::string& file) {
    return run_program(Words{kEval, "--run", runs.run(run), "--save_pretrained", file, "--episodes", "1"} +
                       kWithTestTasks)
        .exit_code;
  };
  expect_exit(runs.train(kWithTestTasks + "--run_name a --max_iterations 1"_words), 0);
  ASSERT_EQ(save("a", first), 0);
  expect_exit(runs.train(kWithTestTasks + Words{"--run_name", "b", "--max_iterations", "1", "--init_from", first}), 0);
  expect_exit(runs.train(kWithTestTasks + "--load_run b --max_iterations 2"_words), 0);
  ASSERT_EQ(save("b", second), 0);
  const Checkpoint policy = read_checkpoint(second);
  EXPECT_EQ(std::get<int64_t>(policy.attributes.at("iteration")), 2);
  const auto command = std::get<std::string>(policy.attributes.at("trained_by"));
  expect_mentions(command, {"--task_library libtest_programs.so", "--init_from first.h5"});
  EXPECT_EQ(command.find('/'), std::string::npos) << command;
}

#if defined(DRL_MUJOCO)

// A policy of a model in a directory of the user's names only the model's file.
TEST(PretrainedOfAModel, NamesNoDirectory) {
  const Runs runs("Hopper-v5");
  const std::string model = (runs.folder / "own.xml").string(), policy = (runs.folder / "policy.h5").string();
  fs::copy_file(built("share/drl/models/hopper.xml"), model);
  fs::copy_file(built("share/drl/models/scene.xml"), runs.folder / "scene.xml");
  expect_exit(runs.train({"--run_name", "r", "--max_iterations", "1", "--env.xml_file", model}), 0);
  const std::string run = runs.run("r").string();
  expect_exit(run_program({kEval, "--run", run, "--episodes", "1", "--save_pretrained", policy}), 0);
  const Checkpoint saved = read_checkpoint(policy);
  for (const char* name : {"trained_by", "options"}) {
    const auto& text = std::get<std::string>(saved.attributes.at(name));
    expect_mentions(text, {"own.xml"});
    EXPECT_EQ(text.find(runs.folder.path().string()), std::string::npos) << text;
  }
  expect_exit(run_program({kEval, "--checkpoint", policy, "--episodes", "1", "--xml_file", model}), 0);
}

#endif

// Returns the names of the policies in the repository.
Words names_of_policies() {
  Words names;
  for (const auto& entry : fs::directory_iterator(source("pretrained")))
    if (entry.path().extension() == ".h5") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

TEST(PretrainedFolder, AnUnknownNameListsThePoliciesAndTheNearest) {
  for (const Words& command : {Words{kEval, "--pretrained", "CartPole-v2"},
                               Words{kTrain, "--task", "CartPole-v1", "--init_from", "pretrained/CartPole-v2"}}) {
    const Result result = expect_exit(run_program(command), 2, {"CartPole-v2", "did you mean CartPole-v1"});
    for (const std::string& name : names_of_policies()) expect_mentions(result.err, {name});
  }
  expect_mentions(run_program({kEval, "--pretrained", "Go1"}).err, {"did you mean Go1-Velocity-Flat"});
  expect_mentions(run_program({kEval, "--pretrained", "Cartpole.h5"}).err, {"did you mean Cartpole?"});
}

TEST(PretrainedFolder, IsSmall) {
  size_t bytes = 0;
  for (const std::string& name : names_of_policies()) bytes += fs::file_size(source("pretrained/") + name + ".h5");
  EXPECT_LE(bytes, 3'000'000u);
}

// Other episodes have the mean return that the file states, within five standard errors. Rounding differs between
// processors, and a robot's return has a small part that is not noise, therefore 2 % more.
TEST(PretrainedFolder, PoliciesHaveTheReturnThatTheyState) {
  for (const std::string& name : names_of_policies()) {
    const Result result = run_program({kEval, "--pretrained", name, "--seed", "1", "--episodes", "20", "--json"});
    if (result.exit_code == 2 && (result.err.find("unknown task") != std::string::npos ||
                                  result.err.find("tools/fetch_robots") != std::string::npos))
      continue;  // a robot, without MuJoCo or its model
    ASSERT_EQ(result.exit_code, 0) << name << "\n" << result.err;
    EXPECT_EQ(result.err, "") << name;
    const Checkpoint policy = read_checkpoint(source("pretrained/") + name + ".h5");
    EXPECT_EQ(std::get<std::string>(policy.attributes.at("task")), name);
    const double mean = std::get<double>(policy.attributes.at("return_mean")),
                 std = std::get<double>(policy.attributes.at("return_std"));
    const double episodes = static_cast<double>(std::get<int64_t>(policy.attributes.at("episodes")));
    EXPECT_GE(episodes, 100) << name;
    EXPECT_NEAR(nlohmann::json::parse(result.out).at("return").at("mean").get<double>(), mean,
                5 * std * std::sqrt(1 / 20.0 + 1 / episodes) + 0.02 * std::abs(mean))
        << name;
  }
}

}  // namespace
}  // namespace drl::test
