// drl_robot, as it is typed.
#include <gtest/gtest.h>

#include "../support/process.hpp"

namespace drl {
namespace {

const std::string kModels = std::string(DRL_TEST_DATA) + "/../src/robots/models/";

Result run(const Words& words) { return run_program(Words{std::string(DRL_BIN) + "/drl_robot"} + words); }

TEST(RobotProgram, WritesAHeaderAndExplains) {
  const TempFolder folder;
  const std::string header = (folder / "half_cheetah.hpp").string();
  const Result result = run({kModels + "half_cheetah.xml", "--explain", "--output", header});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("half_cheetah.xml: 7 bodies move, 9 numbers of qpos, 9 of qvel; Euler"), std::string::npos);
  EXPECT_NE(result.out.find("6 limits, 16 places where it may touch the floor, all in a plane"), std::string::npos);
  EXPECT_NE(slurp(header).find("namespace physics::half_cheetah {"), std::string::npos);
}

TEST(RobotProgram, NamesWhatCannotBeCompiledAndWritesNothing) {
  const TempFolder folder;
  const Result result = run({kModels + "swimmer.xml", "-o", (folder / "swimmer.hpp").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("swimmer.xml uses what cannot be compiled"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("option: a fluid (density, viscosity)"), std::string::npos) << result.err;
  EXPECT_TRUE(folder.names().empty());
}

TEST(RobotProgram, WrongUsageIsOneLine) {
  for (const Words& words : {Words{}, Words{"nothing.xml", "--explain"}, Words{kModels + "ant.xml"},
                             Words{kModels + "ant.xml", kModels + "reacher.xml", "--explain"}}) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace drl
