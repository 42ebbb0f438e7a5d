// Runs drl_eval and drl_checkpoint on checkpoints of drl_train.
#include <regex>

#include "programs.hpp"

namespace drl::test {
namespace {

class Eval : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs = new Runs("CartPole-v1");
    expect_exit(runs->train("--run_name r --max_iterations 2"_words), 0);
  }
  static void TearDownTestSuite() { delete runs; }
  static Result eval(const Words& options) { return run_program(Words{kEval, "--run", runs->run("r")} + options); }
  static nlohmann::json eval_json(const Words& options) {
    return nlohmann::json::parse(eval(options + Words{"--json"}).out);
  }

  static inline Runs* runs = nullptr;
};

TEST_F(Eval, PrintsReturnThenLength) {
  const Result result = expect_exit(eval("--episodes 5"_words), 0);
  EXPECT_EQ(result.err, "");
  const std::string number = " -?[0-9.e+-]+";
  const Words lines = split(result.out, '\n');
  ASSERT_GE(lines.size(), 2u);
  const std::string numbers = " mean" + number + " std" + number + " min" + number + " max" + number;
  EXPECT_TRUE(std::regex_match(lines[0], std::regex("return" + numbers))) << lines[0];
  EXPECT_TRUE(std::regex_match(lines[1], std::regex("length" + numbers))) << lines[1];
}

TEST_F(Eval, TakesTheRunAsAnArgument) {
  const Result named = expect_exit(eval("--episodes 5 --env.delay.action 1"_words), 0);
  const Result argument =
      expect_exit(run_program({kEval, "--env.delay.action", "1", runs->run("r"), "--episodes", "5"}), 0);
  EXPECT_EQ(argument.out, named.out);
  expect_mentions(argument.out, {"iter_000002.h5", "iteration 2 of 2"});
  expect_error(run_program({kEval, runs->run("r"), "other"}), {runs->run("r").string(), "other"});
}

// Three environments play ceil(7 / 3) = 3 episodes each.
TEST_F(Eval, EnvironmentsPlayEqualShares) {
  const nlohmann::json json = eval_json("--episodes 7 --num_envs 3"_words);
  EXPECT_EQ(json.at("episodes"), 9);
  EXPECT_EQ(json.at("returns").size(), 9u);
  EXPECT_EQ(eval_json("--episodes 3 --num_envs 10"_words).at("episodes"), 3);
}

// Checks mean, standard deviation with n - 1, minimum and maximum. CartPole gives reward 1 per step.
TEST_F(Eval, JsonListsTheEpisodes) {
  const nlohmann::json json = eval_json("--episodes 20"_words);
  const std::vector<double> returns = json.at("returns"), lengths = json.at("lengths");
  ASSERT_EQ(returns.size(), 20u);
  EXPECT_EQ(returns, lengths);
  double mean = 0, squares = 0;
  for (double r : returns) mean += r / 20;
  for (double r : returns) squares += (r - mean) * (r - mean);
  EXPECT_NEAR(json.at("return").at("mean"), mean, 1e-9);
  EXPECT_NEAR(json.at("return").at("std"), std::sqrt(squares / 19), 1e-9);
  EXPECT_EQ(json.at("return").at("min"), *std::ranges::min_element(returns));
  EXPECT_EQ(json.at("return").at("max"), *std::ranges::max_element(returns));
}

TEST_F(Eval, DependsOnlyOnSeedAndActionChoice) {
  const nlohmann::json once = eval_json("--episodes 10"_words);
  EXPECT_EQ(eval_json("--episodes 10"_words), once);
  EXPECT_NE(eval_json("--episodes 10 --seed 1"_words).at("returns"), once.at("returns"));
  EXPECT_NE(eval_json("--episodes 10 --stochastic"_words).at("returns"), once.at("returns"));
}

// Episodes start at age 0, in states of the reset's distribution: |x| <= 0.05 in each component.
TEST_F(Eval, RecordsWholeEpisodes) {
  const fs::path file = runs->folder / "episodes.h5";
  expect_exit(eval({"--episodes", "4", "--record", file}), 0);
  const Checkpoint recording = read_arrays(file, "drl-recording");
  ASSERT_EQ(eval({"--episodes", "4", "--record", file}).exit_code, 0) << "a recording may be replaced";
  EXPECT_EQ(recording.tensors.size(), 4u * 6);
  for (int k = 0; k < 4; ++k) {
    const std::string group = "episode_00000" + std::to_string(k) + "/";
    const Tensor *observations = recording.find(group + "observations"),
                 *terminated = recording.find(group + "terminated");
    ASSERT_TRUE(observations && terminated);
    const int64_t steps = terminated->shape[0];
    EXPECT_EQ(observations->shape, (std::vector<int64_t>{steps + 1, 4}));
    const float* first = reinterpret_cast<const float*>(observations->data.data());
    for (int i = 0; i < 4; ++i) EXPECT_LE(std::abs(first[i]), 0.05f);
    for (int64_t t = 0; t < steps; ++t)
      if (steps < 500) {
        EXPECT_EQ(std::to_integer<int>(terminated->data[static_cast<size_t>(t)]), t == steps - 1);
      }
  }
}

class EvalOfALadder : public testing::Test {
 protected:
  void SetUp() override { expect_exit(ladder_.train(kWithTestTasks + "--run_name r --max_iterations 2"_words), 0); }
  Result eval(const Words& options) const {
    return run_program(Words{kEval, "--run", ladder_.run("r"), "--episodes", "3"} + kWithTestTasks + options);
  }

 private:
  const Runs ladder_{"Ladder"};
};

// After two iterations of four steps each, the curriculum's length is 4 and its bonus 2: the first iteration raised the
// length from 3, but the episodes that ended in the second still had 3 steps. The first step gives reward 2, each of
// the others 1, and every step adds the bonus: the return is 2 + 3 + 4 * 2 = 13.
TEST_F(EvalOfALadder, UsesTheCheckpointsCurriculum) {
  const Result result = expect_exit(eval({"--json"}), 0);
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("lengths"), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(json.at("returns"), (std::vector<double>{13, 13, 13}));
}

// The first step gives 2 in the run and 5 here.
TEST_F(EvalOfALadder, AcceptsOtherOptionsOfTheTask) {
  const Result result = expect_exit(eval("--json --env.first 5"_words), 0);
  EXPECT_EQ(nlohmann::json::parse(result.out).at("returns"), (std::vector<double>{16, 16, 16}));
  for (const Words& wrong : {"--env.frist 5"_words, "--env.first five"_words}) {
    expect_error(eval(wrong), {"env.first"});
  }
}

// Four of the five actions cause a value that is not finite, so an untrained policy loses most episodes. The others
// have four steps and return 4.
TEST(EvalOfLostEpisodes, CountsAndExcludesThem) {
  const Runs runs("Breaking");
  expect_exit(runs.train(kWithTestTasks + "--run_name r --max_iterations 2"_words), 0);
  const auto eval = [&](const Words& options) {
    return run_program(Words{kEval, "--run", runs.run("r"), "--stochastic"} + kWithTestTasks + options);
  };
  const Result many = expect_exit(eval("--episodes 20000 --json"_words), 0, {"warning: ", "not finite"});
  EXPECT_EQ(count_lines(many.err), 1u) << many.err;
  const nlohmann::json json = nlohmann::json::parse(many.out);
  EXPECT_GT(json.at("episodes"), 0);
  EXPECT_EQ(json.at("episodes").get<int64_t>() + json.at("lost_environments").get<int64_t>(), 4096 * 5);
  EXPECT_EQ(json.at("return").at("min"), 4);
  const Result none = expect_exit(eval("--episodes 1"_words), 1, {"error: ", "1 episode", "not finite"});
  EXPECT_EQ(none.out, "");
}

TEST_F(Eval, RecordReplacesOnlyRecordings) {
  const fs::path checkpoint = checkpoint_file(runs->run("r"), newest_checkpoint(runs->run("r")));
  const std::string before = slurp(checkpoint);
  expect_exit(eval({"--episodes", "1", "--record", checkpoint}), 2,
              {"--record", checkpoint.string(), "not a recording"});
  EXPECT_EQ(slurp(checkpoint), before);
}

TEST_F(Eval, RefusesSeveralRanks) {
  const Words words = mpirun(2) + Words{kEval, "--run", runs->run("r")};
  const Result result = run_program(words);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out.find("return mean"), std::string::npos);
  expect_mentions(result.err, {"error: ", "drl_eval", "2 ranks"});
}

TEST_F(Eval, RefusesWrongVideoOptions) {
  const std::string gif = (runs->folder / "run.gif").string();
  if (!can_record_videos()) GTEST_SKIP() << "this machine cannot record videos";
  for (const auto& [options, mentioned] :
       std::vector<std::pair<Words, std::string>>{{{"--video", "run.avi"}, "run.avi"},
                                                  {{"--video", gif, "--size", "641x480"}, "641x480"},
                                                  {{"--video", gif, "--fps", "0"}, "fps"},
                                                  {{"--video", gif, "--fps", "60"}, "--fps 60"},
                                                  {{"--camera", "free"}, "--camera"},
                                                  {{"--video", runs->folder / "run.png", "--fps", "30"}, "--fps"},
                                                  {{"--video", runs->folder / "none" / "run.gif"}, "run.gif"},
                                                  {{"--video", gif, "--camera", "nose"}, "nose"}})
    expect_error(eval(options), {mentioned});
  EXPECT_FALSE(fs::exists(gif));
}

TEST_F(Eval, RecordsAVideo) {
  const fs::path gif = runs->folder / "run.gif";
  const Result result = eval({"--episodes", "1", "--video", gif, "--size", "64x64", "--video_seconds", "0.5"});
  if (result.exit_code != 0 && !can_record_videos()) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(slurp(gif).starts_with("GIF89a"));
}

// Of four checkpoints, only the last gets a video. TensorBoard's events have it as a GIF. A fake `nice` shortens the
// video and leaves the priority unchanged.
TEST_F(Eval, TrainingRecordsVideosOfEveryNthCheckpoint) {
  const TempFolder bin;
  write_program(bin / "nice", "shift 2\nexec \"$@\" --size 64x64 --video_seconds 0.5");
  const Result result = runs->train("--run_name filmed --max_iterations 4 --save_interval 1 --video_interval 4"_words,
                                    {{"PATH", bin.path().string() + ":" + getenv("PATH")}});
  if (result.exit_code != 0 && !can_record_videos()) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string log = slurp(runs->run("filmed") / "logs" / "video.log");
  std::vector<std::string> videos;
  for (const auto& entry : fs::directory_iterator(runs->run("filmed") / "checkpoints"))
    if (entry.path().extension() != ".h5") videos.push_back(entry.path().stem());
  EXPECT_EQ(videos, std::vector<std::string>{"iter_000004"}) << log;
  std::string events;
  for (const auto& entry : fs::directory_iterator(runs->run("filmed")))
    if (entry.path().filename().string().starts_with("events.")) events = slurp(entry.path());
  EXPECT_NE(events.find("GIF89a"), std::string::npos) << log;
}

// Without drl_film.so in the installation, a new run is refused, and a resumed one continues with a warning.
TEST_F(Eval, TrainingChecksBeforeARunThatVideosCanBeRecorded) {
  fs::create_directory(runs->folder / "bin");
  for (const std::string& program : {kTrain, kEval}) fs::copy(program, runs->folder / "bin");
  Words command = runs->command("--run_name unfilmed --max_iterations 1 --video_interval 1"_words);
  command.front() = runs->folder / "bin/drl_train";
  expect_error(run_program(command), {"drl_film.so", "--video_interval"});
  EXPECT_FALSE(fs::exists(runs->run("unfilmed")));
  expect_exit(runs->train("--run_name unfilmed --max_iterations 1"_words), 0);
  expect_exit(run_program(command + "--max_iterations 2"_words), 0, {"warning: ", "drl_film.so", "--video_interval"});
}

TEST_F(Eval, CheckpointsAreShownAndVerified) {
  const std::string file = checkpoint_file(runs->run("r"), 2);
  const Result shown = run_program({kCheckpointProgram, "show", file}),
               verified = run_program({kCheckpointProgram, "verify", file});
  EXPECT_EQ(shown.exit_code, 0);
  for (const char* part : {"CartPole-v1", "policy/actor/0/weight", "iteration", "num_envs = 16"})
    EXPECT_NE(shown.out.find(part), std::string::npos) << part;
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_TRUE(verified.out.starts_with("ok: ")) << verified.out;
}

// Without force, the car never reaches the goal, and no force costs nothing.
TEST(Agent, ZeroDoesNothing) {
  expect_mentions(
      expect_exit(run_program({kEval, "--task", "MountainCarContinuous-v0", "--agent", "zero", "--episodes", "4"}), 0)
          .out,
      {"return mean 0 std 0", "length mean 999", "zero"});
}

// The actions are normal, clipped to [-1, 1]: E a^2 = P(|a| < 1) - 2 phi(1) + P(|a| > 1) = 0.5161. A step costs 0.1
// a^2, and an episode has 999 steps. Few episodes reach the goal, so the median shows the cost; its standard deviation
// is 0.14.
TEST(Agent, RandomDrawsNormalActions) {
  const Result result =
      expect_exit(run_program({kEval, "--task", "MountainCarContinuous-v0", "--agent", "random", "--json"}), 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("agent"), "random");
  auto returns = json.at("returns").get<std::vector<double>>();
  std::ranges::nth_element(returns, returns.begin() + 50);
  EXPECT_NEAR(returns[50], -0.05161 * 999, 0.8);
}

TEST(Agent, NeedsATaskAndNoRun) {
  expect_exit(run_program({kEval, "--agent", "zero"}), 2, {"--agent zero", "--task"});
  expect_exit(run_program({kEval, "--agent", "zero", "--task", "Cartpole", "--run", "r"}), 2);
  expect_exit(run_program({kEval, "--task", "Cartpole"}), 2);
  expect_exit(run_program({kEval, "--agent", "zero", "--task", "Cartpol"}), 2, {"Cartpol", "Cartpole"});
}

}  // namespace
}  // namespace drl::test
