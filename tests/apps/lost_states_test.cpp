// Tests --nan_policy dump and drl_eval --replay_dump on one rank and on two.
#include "programs.hpp"

namespace drl::test {
namespace {

const Words kLibrary = {"--task_library", kTestTasks, "--task_library",
                        built("tests/envs/libraries/libtest_faulty.so")};

const Words kOptions = "--init_at_random_ep_len false"_words;

// The dumps of a run that has lost environments.
DRL_ON_RANKS(LostStates);

struct Dumps {
  explicit Dumps(const std::string& task, const Words& more = {}) : runs(task) {
    expect_exit(runs.train(kLibrary + kOptions + "--run_name r --nan_policy dump"_words + more), 0,
                {"warning: ", "not finite", "lost_states"});
  }
  fs::path file(int rank = 0) const { return runs.run("r") / "lost_states" / ("rank_" + std::to_string(rank) + ".h5"); }
  Checkpoint read(int rank = 0) const { return read_arrays(file(rank), "drl-lost-states"); }
  static std::string group(int index) {
    const std::string number = std::to_string(index);
    return "lost_" + std::string(3 - number.size(), '0') + number + "/";
  }
  static int count(const Checkpoint& states) {
    int count = 0;
    while (states.find(group(count) + "action")) ++count;
    return count;
  }
  Result replay(const Words& more, int rank = 0) const {
    return run_program(Words{kEval, "--replay_dump", file(rank)} + more);
  }
  Runs runs;
};

template <class T>
T first(const Checkpoint& states, const std::string& name) {
  const Tensor* tensor = states.find(name);
  return tensor ? *reinterpret_cast<const T*>(tensor->data.data()) : T{-1};
}

// Four of the five actions of "Breaking" lose the environment; each makes another value infinite or NaN.
TEST_P(LostStates, AreReplayedWithTheirNumbers) {
  const Dumps dumps("Breaking", {"--max_iterations", "3"});
  for (int rank = 0; rank < rank_count; ++rank) {
    const Checkpoint states = dumps.read(rank);
    ASSERT_EQ(Dumps::count(states), 100 / rank_count);
    bool seen[5] = {};
    for (int k = 0; k < 100 / rank_count; ++k) {
      const std::string group = Dumps::group(k);
      const auto action = first<int32_t>(states, group + "action");
      ASSERT_TRUE(1 <= action && action <= 4) << action;
      EXPECT_EQ(first<float>(states, group + "env/state/x"),
                static_cast<float>(first<int32_t>(states, group + "env/age")));
      const auto environment = std::get<int64_t>(states.attributes.at(group + "environment"));
      EXPECT_EQ(environment / 16, rank);
      if (std::exchange(seen[action], true)) continue;
      const Result result = expect_exit(dumps.replay({"--index", std::to_string(k)}, rank), 0);
      EXPECT_EQ(result.err, "");
      const char* names[] = {"", "state/lifetime", "observation[0]", "critic's observation[0]", "reward"};
      expect_mentions(result.out, {std::string("not finite after the step: ") + names[action] + "\n",
                                   "environment " + std::to_string(environment) + ","});
    }
    for (int action = 1; action <= 4; ++action) EXPECT_TRUE(seen[action]) << action;
  }
}

// The simulator loses few environments: all are dumped, also if intrinsic rewards are added to those of the task.
TEST_P(LostStates, OfASimulatorAreReplayed) {
  const Dumps dumps("Diverging", {"--max_iterations", "2", "--ppo.rnd.weight", "1"});
  double lost = 0;
  for (const double in_iteration : column(dumps.runs.run("r"), "lost_environments")) lost += in_iteration;
  int count = 0;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (!fs::exists(dumps.file(rank))) continue;
    const Checkpoint states = dumps.read(rank);
    const int of_rank = Dumps::count(states);
    count += of_rank;
    for (int k = 0; k < of_rank; ++k) {
      EXPECT_EQ(first<int64_t>(states, Dumps::group(k) + "env/state/steps"), 2);
      EXPECT_EQ(first<int32_t>(states, Dumps::group(k) + "action"), 2);
    }
    expect_mentions(expect_exit(dumps.replay({}, rank), 0).out,
                    {"state/steps", "state/last", "not finite after the step: reward\n"});
  }
  EXPECT_GT(lost, 0);
  EXPECT_EQ(count, lost);
}

// "GivesNan" observes its state x, which is random after a reset, and later the square root of the last action.
// Negative actions lose the environment. So a state is right if it is what the run observed before the step.
TEST_P(LostStates, AreThoseThatTheRunObserved) {
  const Dumps dumps("GivesNan", {"--max_iterations", "3"});
  for (int rank = 0; rank < rank_count; ++rank) {
    const Checkpoint states = dumps.read(rank);
    ASSERT_EQ(Dumps::count(states), 100 / rank_count);
    int after_reset = 0;
    for (int k = 0; k < 100 / rank_count; ++k) {
      const std::string group = Dumps::group(k);
      EXPECT_EQ(first<float>(states, group + "env/state/x"), first<float>(states, group + "observation"));
      const auto action = first<float>(states, group + "action");
      EXPECT_TRUE(-1 <= action && action < 0) << action;
      after_reset += first<int32_t>(states, group + "env/age") == 0;
    }
    EXPECT_GT(after_reset, 20);
    expect_mentions(dumps.replay("--index 7"_words, rank).out,
                    {"not finite after the step: state/x, observation[0]\n"});
  }
}

#ifdef DRL_MUJOCO

// Positions near 1e12 are beyond what MuJoCo accepts (mjMAXVAL), and overflow in float32.
TEST_P(LostStates, OfARobotAreReplayedInLanesAndByLibmujoco) {
  for (const char* physics : {"lanes", "mujoco"}) {
    const Dumps dumps("HalfCheetah-v5", {"--env.physics", physics, "--env.reset_noise_scale", "1e12",
                                         "--max_iterations", "2", "--ppo.num_mini_batches", "4"});
    for (int rank = 0; rank < rank_count; ++rank) {
      const Checkpoint states = dumps.read(rank);
      ASSERT_GT(Dumps::count(states), 0) << physics;
      expect_mentions(expect_exit(dumps.replay({"--index", std::to_string(Dumps::count(states) - 1)}, rank), 0).out,
                      {"state/physics", "observation qpos[0]", "action front_foot", "\nnot finite after the step: "});
    }
  }
}

#endif

TEST_P(LostStates, ChangeNothingElse) {
  const Dumps dumps("Diverging", {"--max_iterations", "4"});
  expect_exit(dumps.runs.train(kLibrary + kOptions + "--run_name reset --max_iterations 4"_words), 0);
  EXPECT_EQ(metrics(dumps.runs.run("r")), metrics(dumps.runs.run("reset")));
  EXPECT_EQ(datasets(checkpoint_file(dumps.runs.run("r"), 4)), datasets(checkpoint_file(dumps.runs.run("reset"), 4)));
  EXPECT_FALSE(fs::exists(dumps.runs.run("reset") / "lost_states"));
}

TEST(BadLostStates, AreOneError) {
  const Dumps dumps("Diverging", {"--max_iterations", "4"});
  const std::string file = dumps.file().string(), count = std::to_string(Dumps::count(dumps.read()));
  expect_error(dumps.replay({"--index", count}), {file, "index", count});
  expect_error(dumps.replay("--index -1"_words), {"index"});
  expect_error(dumps.replay("--episodes 3"_words), {"--episodes", "--replay_dump"});
  expect_error(dumps.replay("--run r"_words), {"--run", "--replay_dump"});
  expect_error(run_program({kEval, "--task", "CartPole-v1", "--agent", "zero", "--index", "1"}), {"--index"});
  const auto replay = [&](const fs::path& other) { return run_program({kEval, "--replay_dump", other}); };
  expect_error(replay(dumps.runs.folder / "none.h5"), {"none.h5", "No such file"});
  expect_error(replay(checkpoint_file(dumps.runs.run("r"), 4)), {"iter_000004.h5", "drl-lost-states"});
  spill(dumps.runs.folder / "cut.h5", slurp(file).substr(0, slurp(file).size() - 10));
  expect_error(replay(dumps.runs.folder / "cut.h5"), {"cut.h5", "truncated"});

  // A file whose task is another one, or unknown.
  Checkpoint states = dumps.read();
  const auto with_task = [&](const std::string& task) {
    states.attributes["task"] = task;
    for (auto& [name, value] : states.attributes)
      if (name.ends_with("/options")) value = "task = " + task + "\n";
    write_arrays(dumps.runs.folder / "other.h5", "drl-lost-states", states);
    return replay(dumps.runs.folder / "other.h5");
  };
  expect_error(with_task("CartPole-v1"), {"other.h5", "CartPole-v1", "another task"});
  expect_error(with_task("Nowhere"), {"other.h5", "Nowhere", "--task_library"});
}

}  // namespace
}  // namespace drl::test
