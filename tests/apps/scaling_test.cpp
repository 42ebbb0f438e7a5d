// drl_scaling measures real runs.
#include "programs.hpp"

namespace drl::test {
namespace {

const std::string kScaling = bin("drl_scaling");

Words scaling(const TempFolder& folder, const Words& more) {
  return Words{kScaling, "--output", folder / "study", "--num_envs", "16", "--iterations", "8"} + more +
         "-- --task Cartpole --num_steps_per_env 4"_words;
}

// The table's speed is the median of the last six of eight iterations.
TEST(ScalingOnTwoRanks, MeasuresEachNumberOfRanks) {
  const TempFolder folder;
  const Result result = expect_exit(run_program(scaling(folder, {"--most", "2"})), 0);
  expect_mentions(result.out, {"weak    1 rank, 16 environments", "weak    2 ranks, 32 ", "strong  2 ranks, 16 "});
  const Words lines = split(slurp(folder / "study.csv"), '\n');
  ASSERT_EQ(lines.size(), 6u);  // a header, four points, the end
  const fs::path runs = folder / "study" / "Cartpole";
  for (const auto& [line, run, ranks] : {std::tuple{1, "weak-1", 1}, {2, "weak-2", 2}, {4, "strong-2", 2}}) {
    std::vector<double> speeds = column(runs / run, "steps_per_second");
    ASSERT_EQ(speeds.size(), 8u);
    std::sort(speeds.begin() + 2, speeds.end());
    EXPECT_DOUBLE_EQ(std::stod(split(lines.at(static_cast<size_t>(line)), ',').at(4)), (speeds[4] + speeds[5]) / 2);
    EXPECT_EQ(run_json(runs / run).at("world_size"), ranks);
  }
  EXPECT_EQ(split(lines.at(1), ',').at(4), split(lines.at(3), ',').at(4));  // one run for both studies
  EXPECT_TRUE(fs::exists(folder / "study.md"));
  EXPECT_TRUE(fs::exists(folder / "study.svg"));
  expect_exit(run_program(scaling(folder, {"--most", "2", "--study", "weak"})), 0);  // again, over the old files
}

TEST(ScalingOnTwoRanks, EndsWithTheRunThatFails) {
  const TempFolder folder;
  const Result failed = run_program(scaling(folder, {"--most", "2"}) + "--ppo.gamma 2"_words);
  expect_exit(failed, 2, {"ppo.gamma"});
  EXPECT_FALSE(fs::exists(folder / "study.csv"));
}

TEST(ScalingOnTwoRanks, IsStoppedTogetherWithTheRun) {
  const TempFolder folder;
  Words command = scaling(folder, {"--most", "2"});
  command[6] = "1000000";
  Process process(command);
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "study" / "Cartpole" / "weak-1" / "metrics.csv"); }));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 143);
  EXPECT_EQ(run_json(folder / "study" / "Cartpole" / "weak-1").at("status"), "stopped");
}

}  // namespace
}  // namespace drl::test
