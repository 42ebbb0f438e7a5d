// For wrong input, one rank prints a one-line error, the exit code is 2, and no file is left.
#include <sys/mount.h>
#include <sys/stat.h>

#include "programs.hpp"

namespace drl::test {
namespace {

class Errors : public testing::Test {
 protected:
  // Expects that drl_train refuses these options with a line that mentions all `parts`, and leaves no file. On one
  // rank, --check finds the same.
  void expect_error(const Words& options, std::initializer_list<std::string_view> parts) {
    SCOPED_TRACE(join(options, " "));
    const Result result = runs.train(options);
    drl::expect_error(result, parts);
    if (rank_count == 1) {
      EXPECT_EQ(runs.train(options + Words{"--check"}).err, result.err);
    }
    EXPECT_EQ(left_behind(), files);
  }
  fs::path write(const std::string& name, const std::string& text) {
    spill(runs.folder / name, text);
    return note(name);
  }
  // Makes a checkpoint of a run with these options.
  fs::path checkpoint(const std::string& name, const Words& options) {
    const TempFolder elsewhere;
    const Words small =
        "--num_envs 16 --num_steps_per_env 4 --max_iterations 1 --quiet --policy.actor_hidden_dims 16,16"_words;
    expect_exit(run_program(Words{kTrain, "--runs_dir", elsewhere.path(), "--run_name", "r"} + small + options), 0);
    fs::copy_file(elsewhere / options.at(1) / "r" / "checkpoints" / "iter_000001.h5", runs.folder / name);
    return note(name);
  }
  Words left_behind() const { return runs.folder.names(); }

  Runs runs;

 private:
  fs::path note(const std::string& name) {
    files.push_back(name);
    std::sort(files.begin(), files.end());
    return runs.folder / name;
  }
  Words files;  // those that the test itself created
};

class ErrorsOnTwoRanks : public Errors {
  const Ranks ranks_{2};
};

// Errors of every kind: in options before the ranks are connected, and on the ranks.
TEST_F(ErrorsOnTwoRanks, AreReportedByOneRank) {
  const fs::path good = checkpoint("good.h5", {"--task", "Cartpole"}),
                 cut = write("cut.h5", slurp(good).substr(0, 5000));
  const fs::path config = write("my.ini", "[ppo]\ngama = 1\n");
  expect_error({"--ppo.gamma", "1.5"}, {"ppo.gamma", "0 to 1"});
  expect_error({"--task", "Cartpol"}, {"Cartpol", "Cartpole"});
  const Words total = {"--num_envs_total", "48"};
  expect_error(Words{"--deterministic_shards", "6"} + total, {"deterministic_shards 6", "power of two", "4 or 8"});
  expect_error(Words{"--deterministic_shards", "1"} + total, {"deterministic_shards 1", "2 ranks", "use 1 rank"});
  expect_error({"--deterministic_shards", "4"}, {"deterministic_shards 4", "--num_envs_total 32"});
  expect_error({"--deterministic_shards", "32", "--num_envs_total", "48"},
               {"--num_envs_total is 48", "--num_envs_total 128"});
  expect_error({"--config", config}, {"my.ini:2: ", "ppo.gamma"});
  expect_error({"--device", "cuda:99"}, {"99"});
  expect_error({"--num_envs", "5", "--ppo.num_mini_batches", "8"}, {"--num_envs 4 or 6"});
  expect_error({"--algorithm", "grpo", "--grpo.group_size", "6"}, {"--num_envs 12 or 18"});
  expect_error({"--checkpoint", cut}, {cut.string(), "truncated"});
  expect_error({"--init_from", good, "--policy.actor_hidden_dims", "8"}, {good.string(), "policy/actor/0/weight"});
  expect_error({"--run_name", ".."}, {"--run_name"});
  expect_error({"--load_run", "nothing"}, {"nothing", "does not exist"});
  expect_error({"--runs_dir", "/proc/runs"}, {"/proc/runs", "--runs_dir"});
}

// The launcher kills all ranks when the first one exits, so no rank may exit before the rank that prints the error.
TEST_F(ErrorsOnTwoRanks, AreReportedIfRankZeroStartsLast) {
  const std::string late = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 0 ] || sleep 2; exec \"$@\"";
  for (const std::string program : {"drl_train", "drl_doctor"}) {
    const Result result =
        expect_exit(run_program(mpirun(2) + Words{"bash", "-c", late, "bash", bin(program), "--devise", "cpu"}), 2);
    EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
    EXPECT_EQ(result.err.find("error: ", 1), std::string::npos) << result.err;
    expect_mentions(result.err, {"--devise", "--device"});
  }
}

// Only one rank has a wrong option. The other one waits for it.
TEST_F(ErrorsOnTwoRanks, OfOneRankEndAllRanks) {
  const std::string one = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || set -- \"$@\" --devise cpu; exec \"$@\"";
  for (const std::string program : {"drl_train", "drl_doctor"}) {
    const Result result = expect_exit(run_program(mpirun(2) + Words{"bash", "-c", one, "bash", bin(program)}), 2,
                                      {"--devise", "--device"});
    EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
  }
}

// Starts a program as a user does who gives each rank a command line of its own: `first` to rank 0, `second` to rank 1.
Result start_differently(const Runs& runs, const std::string& program, const std::string& first,
                         const std::string& second) {
  const std::string mine = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] && mine=\"" + first + "\" || mine=\"" + second +
                           "\"; exec \"$@\" $mine";
  return run_program(mpirun(2) +
                     Words{"bash", "-c", mine, "bash", bin(program), "--runs_dir", runs.path(), "--device", "cpu"});
}

struct DifferentOptions {
  std::string program, first, second;
  std::vector<std::string_view> mentioned;
};

const std::string kSmall = "--task Cartpole --num_envs 16 --max_iterations 1 ";

void expect_one_error(const Runs& runs, const DifferentOptions& options) {
  const Result result = start_differently(runs, options.program, options.first, options.second);
  const std::string label = options.first + " : " + options.second + "\n" + result.err;
  EXPECT_EQ(result.exit_code, 2) << label;
  EXPECT_TRUE(result.err.starts_with("error: ")) << label;
  EXPECT_EQ(result.err.find("error: ", 1), std::string::npos) << label;
  for (const std::string_view part : options.mentioned) expect_mentions(result.err, {part});
}

TEST_F(ErrorsOnTwoRanks, OfOptionsThatDifferBetweenRanksNameOptionAndRanks) {
  const DifferentOptions cases[] = {
      {"drl_train", kSmall + "--seed 1", kSmall + "--seed 2", {"--seed: 1 (rank 0", "2 (rank 1"}},
      {"drl_train", kSmall, kSmall + "--env.reward.alive 3", {"--env.reward.alive: ", "3 (rank 1"}},
      {"drl_train", kSmall + "--max_iterations 3", kSmall, {"--max_iterations: 3 (rank 0", "1 (rank 1"}},
      {"drl_train", kSmall, "--task CartPole-v1 --num_envs 16", {"--task: Cartpole (rank 0", "CartPole-v1 (rank 1"}},
      {"drl_train", kSmall + "--preflight off", kSmall, {"--preflight: off (rank 0"}},
      {"drl_train", kSmall + "--resume", kSmall, {"--resume: true (rank 0"}},
      {"drl_doctor", "--ranks 1", "", {"--ranks: 1 (rank 0"}},
  };
  for (const DifferentOptions& options : cases) {
    expect_one_error(runs, options);
    EXPECT_EQ(left_behind(), Words{}) << options.first << " : " << options.second;
  }
}

// A rank that answers a question must not leave the others waiting in MPI_Init.
TEST_F(ErrorsOnTwoRanks, OfAQuestionToOneRankNameTheQuestion) {
  expect_one_error(runs, {"drl_train", "--help", kSmall, {"--help: true (rank 0", "not given (rank 1"}});
  expect_one_error(runs, {"drl_train", kSmall, "--help all", {"--help_on: not given (rank 0", "all (rank 1"}});
  expect_one_error(runs, {"drl_train", "--version", kSmall, {"--version: true (rank 0"}});
  expect_one_error(runs, {"drl_train", kSmall, "--list_tasks", {"--list_tasks: not given (rank 0"}});
  expect_one_error(runs, {"drl_train", "--print_config --config /nowhere.ini", kSmall, {"/nowhere.ini"}});
  EXPECT_EQ(left_behind(), Words{});
}

TEST_F(ErrorsOnTwoRanks, DoNotOccurIfAllRanksAskForHelp) {
  for (const std::string question : {"--help", "--version", "--list_tasks", "--print_config"}) {
    const Result alone = run_program({kTrain, question, "--runs_dir", runs.path(), "--device", "cpu"}),
                 ranks = start_differently(runs, "drl_train", question, question);
    EXPECT_EQ(ranks.exit_code, 0) << question;
    EXPECT_EQ(ranks.err, "") << question;
    EXPECT_EQ(ranks.out, alone.out);  // printed once
  }
}

TEST_F(ErrorsOnTwoRanks, DoNotOccurForOptionsThatEachRankMaySet) {
  const std::string small = "--task Cartpole --num_envs 16 --max_iterations 1 --ppo.gamma ";
  expect_exit(start_differently(runs, "drl_train", small + "0.5 --threads 1", small + "5e-1 --threads 2"), 0);
}

TEST_F(ErrorsOnTwoRanks, OfTheNumberOfRanksShowThatOfTheLauncher) {
  for (const std::string program : {"drl_train", "drl_doctor"}) {
    const std::string options = program == "drl_train" ? "--task Cartpole --ranks 4" : "--ranks 4";
    expect_exit(start_differently(runs, program, options, options), 2, {"error: ", "--ranks 4", "2 ranks"});
    EXPECT_EQ(left_behind(), Words{});
  }
}

// Environment 20 fails. It belongs to the second rank (16 to 31), while the first one waits in the all-reduce.
TEST_F(ErrorsOnTwoRanks, OfASimulatorOnOneRankEndAllRanks) {
  const Result result = runs.train({"--task_library", kTestTasks, "--task", "Thrower", "--quiet"});
  const std::string text = "(the licence server is asleep)";
  EXPECT_EQ(result.exit_code, 1);
  expect_mentions(result.err, {"[rank 1 on ", "Thrower", text});
  EXPECT_EQ(result.err.find(text), result.err.rfind(text)) << result.err;
}

TEST_F(Errors, InValuesMentionTheOption) {
  expect_error({"--algorithm", "gppo"}, {"ppo, grpo"});
  expect_error({"--policy.rnn_hidden_dim", "64"}, {"policy.rnn_hidden_dim", "--policy.rnn_type gru"});
  expect_error({"--algorithm", "grpo", "--ppo.gamma", "0.9"}, {"ppo.gamma", "grpo", "--algorithm ppo"});
  expect_error({"--grpo.kl_coef", "1"}, {"grpo.kl_coef", "ppo", "--algorithm grpo"});
  expect_error({"--algorithm", "sac", "--sac.replay_size", "100"}, {"sac.replay_size 100", "sac.learning_starts 5000"});
  expect_error({"--algorithm", "sac", "--policy.rnn_type", "gru"}, {"policy.rnn_type gru", "sac", "--algorithm ppo"});
  expect_error({"--algorithm", "sac", "--policy.distribution", "gaussian"}, {"squashed_gaussian"});
  expect_error({"--algorithm", "td3", "--policy.state_dependent_std", "true"}, {"--policy.state_dependent_std false"});
  expect_error({"--algorithm", "sac", "--task", "CartPole-v1"}, {"CartPole-v1", "discrete", "--algorithm ppo"});
  expect_error({"--algorithm", "sac", "--sac.residual_critics", "true", "--policy.critic_hidden_dims", "64,32"},
               {"policy.critic_hidden_dims 64,32", "sac.residual_critics", "256,256"});
  expect_error("--algorithm td3 --task MountainCarContinuous-v0 --td3.symmetry augment"_words,
               {"td3.symmetry augment", "MountainCarContinuous-v0", "--td3.symmetry none"});
  expect_error("--algorithm sac --sac.atoms 11 --sac.value_min 3 --sac.value_max 2"_words,
               {"sac.value_min", "sac.value_max"});
#if defined(DRL_MUJOCO)
  expect_error("--algorithm sac --task Humanoid-v5 --sac.replay_size 2147483647"_words,
               {"replay buffer", "memory", "replay_size"});
  expect_error({"--algorithm", "sac", "--task", "Go1-Velocity-Flat", "--policy.action_limit", "none"},
               {"Go1-Velocity-Flat", "bounds", "--policy.action_limit"});
#endif
  expect_error({"--policy.rnn_num_layers", "2"}, {"policy.rnn_num_layers", "--policy.rnn_type gru"});
  expect_error({"--policy.rnn_type", "gru", "--num_envs", "6"}, {"--num_envs 6", "whole environments"});
  expect_error({"--ranks", "-1"}, {"ranks"});
}

TEST_F(Errors, OfTeachersAndObservationsSayWhatIsMissing) {
  const Words distill = "--algorithm distill --num_steps_per_env 30"_words;
  expect_error("--task Pendulum-v1"_words + distill, {"--teacher RUN"});
  expect_error(
      "--task Pendulum-v1 --teacher pretrained/Pendulum-v1 --num_steps_per_env 16"_words + "--algorithm distill"_words,
      {"--num_steps_per_env 16", "distill.gradient_length", "15 or 30"});
  expect_error("--task Cartpole --teacher pretrained/Pendulum-v1"_words + distill,
               {"Cartpole", "3 observations", "has 4"});
  expect_error("--task CartPole-v1 --teacher pretrained/CartPole-v1"_words + distill, {"discrete"});
  expect_error("--task Cartpole --teacher nowhere"_words + distill, {"nowhere"});
  expect_error({"--task", "Cartpole", "--env.actor_obs", "critic"}, {"--env.actor_obs critic", "Cartpole"});
  expect_error({"--task", "Cartpole", "--env.hidden_obs", "speed"}, {"--env.hidden_obs speed", "x_dot"});
  expect_error({"--task", "MountainCar-v0", "--ppo.symmetry", "augment"}, {"--ppo.symmetry augment", "Cartpole"});
  expect_error({"--task", "Cartpole", "--ppo.symmetry", "loss", "--policy.state_dependent_std"},
               {"--ppo.symmetry loss", "--policy.state_dependent_std"});
}

TEST_F(Errors, OfBoundedDistributionsNameTheOtherOption) {
  for (const char* distribution : {"beta", "squashed_gaussian"}) {
    const Words bounded = {"--task", "Cartpole", "--policy.distribution", distribution};
    if (distribution == std::string("beta"))
      expect_error(bounded + Words{"--policy.state_dependent_std"}, {"--policy.state_dependent_std", distribution});
    expect_error(bounded + "--algorithm distill --teacher pretrained/Cartpole"_words + "--num_steps_per_env 30"_words,
                 {"--algorithm distill", distribution});
  }
  expect_error({"--task", "Cartpole", "--policy.distribution", "beta", "--ppo.symmetry", "augment"},
               {"--ppo.symmetry augment", "--policy.distribution beta"});
}

TEST_F(Errors, OfSchedulesOfIntrinsicRewardsNameTheSteps) {
  expect_error({"--task", "Cartpole", "--ppo.rnd.weight", "1", "--ppo.rnd.weight_schedule", "linear",
                "--ppo.rnd.initial_step", "70", "--ppo.rnd.final_step", "70"},
               {"ppo.rnd.final_step 70", "ppo.rnd.initial_step 70"});
}

TEST_F(Errors, InDevicesMentionTheDevice) {
  drl::expect_error(runs.train({"--device", "cuda:99"}), {"99"});  // --check cannot know how many GPUs a node has
  expect_error({"--device", "tpu"}, {"tpu", "cpu"});
}

// 30 environments with 3 steps make 90 samples, which is not a multiple of 4. 28 * 3 = 84 and 32 * 3 = 96 are.
TEST_F(Errors, InMiniBatchesSuggestNumbersOfEnvironments) {
  const Words steps = "--num_steps_per_env 3 --ppo.num_mini_batches 4"_words;
  expect_error(steps + "--num_envs 30"_words, {"4 equal mini-batches", "28 or 32"});
  expect_error(steps + "--num_envs 1"_words, {"--num_envs 4"});
  for (const char* number : {"28", "32"})
    expect_exit(runs.train(steps + Words{"--num_envs", number, "--max_iterations", "1"}), 0);
}

// No run can start from these checkpoints.
TEST_F(Errors, InCheckpointsShowTheFileAndTheReason) {
  const fs::path good = checkpoint("good.h5", {"--task", "Cartpole"});
  const fs::path cut = write("cut.h5", slurp(good).substr(0, 5000)), text = write("text.h5", "hello"),
                 empty = write("empty.h5", "");
  const fs::path other = checkpoint("other.h5", {"--task", "CartPole-v1"});
  const fs::path normalised = checkpoint("normalised.h5", {"--task", "Cartpole", "--ppo.obs_normalization"});
  const std::string shape = "--policy.actor_hidden_dims=16,16";
  for (const char* option : {"--checkpoint", "--init_from"}) {
    expect_error({option, "missing.h5"}, {"missing.h5"});
    expect_error({option, cut.string()}, {cut.string(), "truncated"});
    expect_error({option, text.string()}, {text.string(), "not an HDF5 file"});
    expect_error({option, empty.string()}, {empty.string(), "empty"});
    expect_error({option, other.string()}, {other.string(), "CartPole-v1"});
    expect_error({option, good.string(), "--policy.actor_hidden_dims", "8"},
                 {good.string(), "policy/actor/0/weight", "[16, 4]", "[8, 4]"});
    expect_error({option, good.string(), shape, "--ppo.obs_normalization"}, {good.string(), "normalizer/obs"});
    expect_error({option, normalised.string(), shape, "--ppo.obs_normalization=false"},
                 {normalised.string(), "normalizer/obs"});
  }
  expect_error({"--checkpoint", good.string(), "--algorithm", "grpo"},
               {good.string(), "another algorithm", "--algorithm ppo"});
}

TEST_F(Errors, InRunNamesMentionTheOptionOrTheRun) {
  for (const char* name : {"a/b", "..", ".", "/tmp/x", "latest", "a\nb"})
    expect_error({"--run_name", name}, {"--run_name"});
  expect_error({"--load_run", "nothing"}, {"nothing", "does not exist"});
  expect_error({"--resume"}, {"latest", "does not exist"});
  expect_error({"--resume", "--run_name", "nothing"}, {"nothing", "does not exist"});
  expect_error({"--fresh", "--resume"}, {"--fresh", "--resume", "exclude each other"});
  expect_error({"--resume", "--checkpoint", "x"}, {"--resume", "--checkpoint", "exclude each other"});
}

TEST_F(Errors, InRunDirectoriesShowThePath) {
  const fs::path file = write("file", "");
  expect_error({"--run_name", "a", "--runs_dir", file}, {file.string(), "--runs_dir"});
}

// Neither leaves a loop that waits for the directory to be created.
TEST_F(Errors, InWorkingDirectoriesShowTheRun) {
  const Words command = Words{kTrain, "--task", "Cartpole", "--max_iterations", "1"} + ranks();
  const Result removed = run_program(command, {}, [&] {
    if (::chdir(write("gone", "").parent_path().c_str()) != 0 || ::mkdir("cwd", 0777) != 0 || ::chdir("cwd") != 0 ||
        ::rmdir("../cwd") != 0)
      ::_exit(1);
  });
  const Result refused = run_program(command, {}, [] {
    if (::chdir("/proc") != 0) ::_exit(1);
  });
  for (const Result& result : {removed, refused}) {
    EXPECT_EQ(result.exit_code, 2) << result.err;
    expect_mentions(result.err, {"error: ", "runs/Cartpole", "--runs_dir"});
  }
}

TEST_F(Errors, OnReadOnlyFileSystemsShowThePath) {
  const fs::path folder = write("read_only", "");
  fs::remove(folder);
  fs::create_directory(folder);
  if (::mount("none", folder.c_str(), "tmpfs", MS_RDONLY, "size=1m") != 0)
    GTEST_SKIP() << "only root can mount a read-only directory";
  expect_error({"--run_name", "a", "--runs_dir", folder}, {folder.string(), "Read-only file system"});
  EXPECT_EQ(::umount(folder.c_str()), 0);
}

// The other programs refuse the same files.
TEST_F(Errors, OfOtherProgramsHaveTheSameForm) {
  const fs::path good = checkpoint("good.h5", {"--task", "Cartpole"});
  const fs::path cut = write("cut.h5", slurp(good).substr(0, 5000)), text = write("text.h5", "hello");
  for (const std::string& file : {cut.string(), text.string(), std::string("missing.h5")}) {
    drl::expect_error(run_program({kEval, "--checkpoint", file}), {file});
    drl::expect_error(run_program({kCheckpointProgram, "show", file}), {file});
    drl::expect_error(run_program({kCheckpointProgram, "verify", file}), {file});
  }
  drl::expect_error(run_program({kEval}), {"--run"});
  drl::expect_error(run_program({kEval, "--checkpoint", good, "--episodes", "0"}), {"episodes"});
  drl::expect_error(run_program({kEval, "--chekpoint", good}), {"--checkpoint"});
  drl::expect_error(run_program({kEval, "--checkpoint", good, "--record", "/nowhere/x.h5"}), {"/nowhere/x.h5"});
  drl::expect_error(run_program({kEval, "--checkpoint", good, "--record", std::string(300, 'x')}), {"--record", "xxx"});
}

}  // namespace
}  // namespace drl::test
