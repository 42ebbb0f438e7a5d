// drl_eval and drl_checkpoint on what drl_train leaves behind.
#include <gtest/gtest.h>

#include <regex>

#include "programs.hpp"

namespace drl::test {
namespace {

class Eval : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs = new Runs("CartPole-v1");
    ASSERT_EQ(runs->train({"--run_name", "r", "--max_iterations", "2"}).exit_code, 0);
  }
  static void TearDownTestSuite() { delete runs; }
  static Result eval(const Words& options) {
    return run_program(Words{kEval, "--run", runs->run("r").string()} + options);
  }
  static nlohmann::json eval_json(const Words& options) {
    return nlohmann::json::parse(eval(options + Words{"--json"}).out);
  }

  static inline Runs* runs = nullptr;
};

TEST_F(Eval, SaysReturnThenLength) {
  const Result result = eval({"--episodes", "5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  const std::string number = " -?[0-9.e+-]+";
  const Words lines = split(result.out, '\n');
  ASSERT_GE(lines.size(), 2u);
  const std::string numbers = " mean" + number + " std" + number + " min" + number + " max" + number;
  EXPECT_TRUE(std::regex_match(lines[0], std::regex("return" + numbers))) << lines[0];
  EXPECT_TRUE(std::regex_match(lines[1], std::regex("length" + numbers))) << lines[1];
}

// Three environments play ceil(7 / 3) = 3 episodes each.
TEST_F(Eval, EveryEnvironmentPlaysItsShare) {
  const nlohmann::json json = eval_json({"--episodes", "7", "--num_envs", "3"});
  EXPECT_EQ(json.at("episodes"), 9);
  EXPECT_EQ(json.at("returns").size(), 9u);
  EXPECT_EQ(eval_json({"--episodes", "3", "--num_envs", "10"}).at("episodes"), 3);
}

// Mean, standard deviation with n - 1, minimum and maximum of what it lists; CartPole gives 1 a step.
TEST_F(Eval, JsonHoldsTheEpisodes) {
  const nlohmann::json json = eval_json({"--episodes", "20"});
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

TEST_F(Eval, IsAFunctionOfSeedAndChoice) {
  const nlohmann::json once = eval_json({"--episodes", "10"});
  EXPECT_EQ(eval_json({"--episodes", "10"}), once);
  EXPECT_NE(eval_json({"--episodes", "10", "--seed", "1"}).at("returns"), once.at("returns"));
  EXPECT_NE(eval_json({"--episodes", "10", "--stochastic"}).at("returns"), once.at("returns"));
}

// Whole episodes from the reset's distribution, |x| <= 0.05 in each component, never from a random age.
TEST_F(Eval, RecordsWholeEpisodes) {
  const fs::path file = runs->folder / "episodes.h5";
  ASSERT_EQ(eval({"--episodes", "4", "--record", file.string()}).exit_code, 0);
  const Checkpoint recording = read_arrays(file, "drl-recording");
  ASSERT_EQ(eval({"--episodes", "4", "--record", file.string()}).exit_code, 0) << "it may be replaced";
  EXPECT_EQ(recording.tensors.size(), 4u * 5);
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
  void SetUp() override {
    ASSERT_EQ(ladder_.train(library_ + Words{"--run_name", "r", "--max_iterations", "2"}).exit_code, 0);
  }
  Result eval(const Words& options) const {
    return run_program(Words{kEval, "--run", ladder_.run("r").string(), "--episodes", "3"} + library_ + options);
  }

 private:
  const Runs ladder_{"Ladder"};
  const Words library_ = {"--task_library", DRL_TEST_LIBRARIES "/libtest_programs.so"};
};

// The curriculum's numbers after two iterations of four steps: an episode lasts 4 steps, since the first ones lasted as
// long as they should, 3, and the second ones 3 again; each step is worth 2 more. So an episode gives 2 + 3 + 4 * 2.
TEST_F(EvalOfALadder, PlaysWithTheCheckpointsCurriculum) {
  const Result result = eval({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("lengths"), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(json.at("returns"), (std::vector<double>{13, 13, 13}));
}

// Of the first step, worth 2 in the run and 5 here.
TEST_F(EvalOfALadder, OptionsOfTheTaskMayDifferFromTheRuns) {
  const Result result = eval({"--json", "--env.first", "5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("returns"), (std::vector<double>{16, 16, 16}));
  for (const Words& wrong : {Words{"--env.frist", "5"}, Words{"--env.first", "five"}}) {
    const Result refused = eval(wrong);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(count_lines(refused.err), 1u) << refused.err;
    EXPECT_NE(refused.err.find("env.first"), std::string::npos) << refused.err;
  }
}

// Of its five choices four break an environment: of most episodes of a policy that has learnt little. A whole one has
// four steps, and gives 4.
TEST(EvalOfLost, EpisodesAreCountedAndInNoNumber) {
  const Runs runs("Breaking");
  const Words library = {"--task_library", DRL_TEST_LIBRARIES "/libtest_programs.so"};
  ASSERT_EQ(runs.train(library + Words{"--run_name", "r", "--max_iterations", "2"}).exit_code, 0);
  const auto eval = [&](const Words& options) {
    return run_program(Words{kEval, "--run", runs.run("r").string(), "--stochastic"} + library + options);
  };
  const Result many = eval({"--episodes", "20000", "--json"});
  ASSERT_EQ(many.exit_code, 0) << many.err;
  EXPECT_EQ(count_lines(many.err), 1u) << many.err;
  EXPECT_NE(many.err.find("they are in none of these numbers"), std::string::npos) << many.err;
  const nlohmann::json json = nlohmann::json::parse(many.out);
  EXPECT_GT(json.at("episodes"), 0);
  EXPECT_EQ(json.at("episodes").get<int64_t>() + json.at("lost_environments").get<int64_t>(), 4096 * 5);
  EXPECT_EQ(json.at("return").at("min"), 4);
  const Result none = eval({"--episodes", "1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("(all that were played)"), std::string::npos) << none.err;
}

TEST_F(Eval, WhatIsNoRecordingIsNotReplacedByOne) {
  const fs::path checkpoint = checkpoint_file(runs->run("r"), newest_checkpoint(runs->run("r")));
  const std::string before = slurp(checkpoint);
  const Result result = eval({"--episodes", "1", "--record", checkpoint.string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("no recording of episodes (it would be lost)"), std::string::npos) << result.err;
  EXPECT_EQ(slurp(checkpoint), before);
}

TEST_F(Eval, PlaysOnceHoweverOftenItIsStarted) {
  const Words words = {DRL_TEST_DATA "/mpirun_test", DRL_MPIEXEC, "2", kEval, "--run", runs->run("r").string()};
  const Result result = run_program(words);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out.find("return mean"), std::string::npos);
  EXPECT_NE(result.err.find("drl_eval was started 2 times, and plays once"), std::string::npos) << result.err;
}

TEST_F(Eval, WrongFilmsAreRefusedBeforeAnythingIsPlayed) {
  const std::string gif = (runs->folder / "run.gif").string();
  const Result any = eval({"--video", gif, "--camera", "nose"});
  if (any.err.find("no film can be made") != std::string::npos) GTEST_SKIP() << any.err;
  for (const auto& [options, says] : std::vector<std::pair<Words, std::string>>{
           {{"--video", "run.avi"}, "neither with .mp4, .gif nor .png"},
           {{"--video", gif, "--size", "641x480"}, "even numbers from 64 to 4096"},
           {{"--video", gif, "--fps", "0"}, "fps"},
           {{"--video", gif, "--fps", "60"}, "--fps 60 is too fast for a GIF (at most 50)"},
           {{"--camera", "free"}, "give --video FILE too"},
           {{"--video", (runs->folder / "none" / "run.gif").string()}, "run.gif"},
           {{"--video", gif, "--camera", "nose"}, ""}}) {  // which OpenGL must be there to say
    const Result result = eval(options);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "") << says;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
  }
  EXPECT_FALSE(fs::exists(gif));
}

// A film, or one sentence that says what is missing for it.
TEST_F(Eval, FilmsEnvironmentZero) {
  const fs::path gif = runs->folder / "run.gif";
  const Result result = eval({"--episodes", "1", "--video", gif.string(), "--size", "64x64", "--video_seconds", "0.5"});
  if (no_films_here(result)) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(slurp(gif).starts_with("GIF89a"));
}

// Of four checkpoints, beside the last. An imitation of nice makes the film short, and is as busy as we are.
TEST_F(Eval, TrainingMakesFilmsBesideEveryNthCheckpoint) {
  const TempFolder bin;
  spill(bin / "nice", "#!/bin/sh\nshift 2\nexec \"$@\" --size 64x64 --video_seconds 0.5\n");
  fs::permissions(bin / "nice", fs::perms::owner_all);
  const Result result =
      runs->train({"--run_name", "filmed", "--max_iterations", "4", "--save_interval", "1", "--video_interval", "4"},
                  {{"PATH", bin.path().string() + ":" + getenv("PATH")}});
  if (no_films_here(result)) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string log = slurp(runs->run("filmed") / "logs" / "video.log");
  std::vector<std::string> films;
  for (const auto& entry : fs::directory_iterator(runs->run("filmed") / "checkpoints"))
    if (entry.path().extension() != ".h5") films.push_back(entry.path().stem());
  EXPECT_EQ(films, std::vector<std::string>{"iter_000004"}) << log;
}

// In an installation without drl_film.so: a run that would begin does not, one that was begun goes on.
TEST_F(Eval, FilmsThatCannotBeMadeAreSaidBeforeTheRunBegins) {
  fs::create_directory(runs->folder / "bin");
  for (const std::string& program : {kTrain, kEval}) fs::copy(program, runs->folder / "bin");
  Words command = runs->command({"--run_name", "unfilmed", "--max_iterations", "1", "--video_interval", "1"});
  command.front() = runs->folder / "bin/drl_train";
  const Result refused = run_program(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("drl_film.so is not there"), std::string::npos) << refused.err;
  EXPECT_EQ(count_lines(refused.err), 1u) << refused.err;
  EXPECT_FALSE(fs::exists(runs->run("unfilmed")));
  ASSERT_EQ(runs->train({"--run_name", "unfilmed", "--max_iterations", "1"}).exit_code, 0);
  const Result resumed = run_program(command + Words{"--max_iterations", "2"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("there will be no films"), std::string::npos) << resumed.err;
}

TEST_F(Eval, CheckpointsAreShownAndVerified) {
  const std::string file = checkpoint_file(runs->run("r"), 2);
  const Result shown = run_program({kShow, "show", file}), verified = run_program({kShow, "verify", file});
  EXPECT_EQ(shown.exit_code, 0);
  for (const char* part : {"CartPole-v1", "policy/actor/0/weight", "iteration", "num_envs = 16"})
    EXPECT_NE(shown.out.find(part), std::string::npos) << part;
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_TRUE(verified.out.starts_with("ok: ")) << verified.out;
}

}  // namespace
}  // namespace drl::test
