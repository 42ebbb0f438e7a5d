// Trains G1-Tracking on two ranks. Needs the robot (tools/fetch_robots).
#include <cstring>

#include "programs.hpp"

namespace drl::test {
namespace {

class MotionOnTwoRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(built("share/drl/models/g1_exercise.h5"))) GTEST_SKIP() << "run tools/fetch_robots, and build";
  }
  // Runs four iterations whose learning rate is too small to change a parameter.
  Result train(const std::string& name, const Words& more) const {
    return runs_.train("--quiet --device cpu --max_iterations 4 --num_steps_per_env 24"_words +
                       "--policy.actor_hidden_dims 16 --policy.critic_hidden_dims 16"_words +
                       "--ppo.obs_normalization false --ppo.schedule fixed"_words +
                       Words{"--ppo.learning_rate", "1e-12", "--run_name", name} + more);
  }
  // Returns the averages of failures in each part of the motion.
  std::vector<float> failures(const std::string& name) const {
    std::vector<float> all;
    for (const Tensor& tensor : datasets(checkpoint_file(runs_.run(name), 4)))
      if (tensor.name.starts_with("curriculum/failed_"))
        std::memcpy(&all.emplace_back(), tensor.data.data(), sizeof(float));
    return all;
  }
  // Writes a motion of the first frames of drl's, and returns its path.
  std::string first_frames(const std::string& name, int64_t frames) const {
    constexpr char kFormat[] = "drl-motion";
    Checkpoint motion = read_arrays(built("share/drl/models/g1_exercise.h5"), kFormat);
    for (Tensor& tensor : motion.tensors) {
      if (tensor.name == "motion_starts") continue;
      tensor.data.resize(tensor.data.size() / static_cast<size_t>(tensor.shape[0]) * static_cast<size_t>(frames));
      tensor.shape[0] = frames;
    }
    const std::string file = runs_.folder / name;
    write_arrays(file, kFormat, motion);
    return file;
  }
  const Ranks ranks_{2};
  const Runs runs_{"G1-Tracking"};
};

// A run that resumes with a shorter motion begins new episodes in frames that exist, and continues with a copy.
TEST_F(MotionOnTwoRanks, BeginNewEpisodesIfTheyChange) {
  const std::string whole = first_frames("whole.h5", 400), copy = first_frames("copy.h5", 400),
                    cut = first_frames("cut.h5", 30);
  const auto resume = [&](const std::string& name, const std::string& motion) {
    fs::copy(runs_.run("r"), runs_.run(name), fs::copy_options::recursive);
    return expect_exit(train(name, {"--load_run", name, "--env.motion", motion, "--max_iterations", "5"}), 0).err;
  };
  expect_exit(train("r", {"--num_envs", "16", "--env.motion", whole}), 0);
  EXPECT_EQ(resume("same", copy).find("new episodes"), std::string::npos);
  expect_mentions(resume("shorter", cut), {"warning: ", "new episodes", "--env.motion", whole, cut});
  resume("again", cut);
  EXPECT_EQ(datasets(checkpoint_file(runs_.run("again"), 5)), datasets(checkpoint_file(runs_.run("shorter"), 5)));
}

// Such noise leaves the range of floats.
TEST_F(MotionOnTwoRanks, OfLostStatesMustBeTheSame) {
  const std::string whole = first_frames("whole.h5", 400), copy = first_frames("copy.h5", 400),
                    cut = first_frames("cut.h5", 30);
  expect_exit(
      train("r", {"--num_envs", "16", "--env.motion", whole, "--env.start_noise", "1e30", "--nan_policy", "dump"}), 0);
  const auto replay = [&](const std::string& motion) {
    return run_program({kEval, "--replay_dump", runs_.run("r") / "lost_states/rank_0.h5", "--env.motion", motion});
  };
  expect_exit(replay(copy), 0);
  expect_error(replay(cut), {"--env.motion", whole, cut});
}

// The same 64 environments fail in the same parts of the motion, whichever rank they are on.
TEST_F(MotionOnTwoRanks, SampleAlikeOnOneRankAndTwo) {
  const Result one = train("one", {"--ranks", "1", "--num_envs", "64"});
  const Result two = train("two", {"--ranks", "2", "--num_envs", "32"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const std::vector<float> of_one = failures("one");
  EXPECT_EQ(of_one.size(), 20u);
  EXPECT_GT(std::ranges::count_if(of_one, [](float x) { return x > 0; }), 5);
  EXPECT_EQ(failures("two"), of_one);
}

TEST_F(MotionOnTwoRanks, RefuseFilesThatAreNoMotions) {
  const std::string file = (runs_.folder / "walk.h5").string();
  spill(file, "not a motion");
  for (const std::string& motion : {file, file + ".missing"}) {
    expect_error(train("bad", {"--env.motion", motion}), {motion});
    EXPECT_FALSE(fs::exists(runs_.run("bad")));
  }
}

}  // namespace
}  // namespace drl::test
