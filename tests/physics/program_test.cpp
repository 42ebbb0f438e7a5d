// drl_robot, as it is typed.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

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
  EXPECT_NE(result.out.find("\n112 bytes of state and "), std::string::npos);  // 9 of qpos, 2 x 9 of qvel, time
  EXPECT_NE(result.out.find("operations a step if nothing touches, "), std::string::npos);
  EXPECT_NE(slurp(header).find("namespace physics::half_cheetah_robot {"), std::string::npos);
}

TEST(RobotProgram, ExplainsDryFriction) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/physics/models/manipulator.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\n12 numbers of qvel with dry friction\n"), std::string::npos) << result.out;
}

TEST(RobotProgram, NamesWhatCannotBeCompiledAndWritesNothing) {
  const TempFolder folder;
  const Result result = run({kModels + "pusher.xml", "-o", (folder / "pusher.hpp").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("pusher.xml uses what cannot be compiled"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("is neither sphere nor capsule"), std::string::npos) << result.err;
  EXPECT_TRUE(folder.names().empty());
}

// For builds: a model is left to libmujoco, with the reason in the header.
TEST(RobotProgram, GoesOnWhereThatIsAsked) {
  const TempFolder folder;
  const std::string pusher = (folder / "pusher.hpp").string();
  const Result result = run({kModels + "pusher.xml", "-o", pusher, "--if_possible"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("pusher.xml is left to libmujoco (drl_robot cannot compile ")) << result.out;
  EXPECT_EQ(count_lines(result.out), 1u);
  EXPECT_NE(slurp(pusher).find("CompiledRobot<model_key(\"pusher.xml\")>"), std::string::npos);
  spill(folder / "broken.xml", "<mujoco>");
  EXPECT_EQ(run({(folder / "broken.xml").string(), "-o", (folder / "broken.hpp").string(), "--if_possible"}).exit_code,
            0);
  EXPECT_NE(slurp(folder / "broken.hpp").find("drl_robot cannot compile what it cannot read"), std::string::npos);
}

// What was compiled with a header that says the same stays compiled.
TEST(RobotProgram, LeavesAHeaderThatSaysTheSame) {
  const TempFolder folder;
  const std::filesystem::path header = folder / "reacher.hpp";
  const Words words = {kModels + "reacher.xml", "-o", header.string()};
  ASSERT_EQ(run(words).exit_code, 0);
  const std::string text = slurp(header);
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(header, before);
  ASSERT_EQ(run(words).exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(header), before);
  spill(header, "something else");
  ASSERT_EQ(run(words).exit_code, 0);
  EXPECT_EQ(slurp(header), text);
}

// The model, what is no file, and what a folder has no place for: before anything is compiled.
TEST(RobotProgram, WritesOnlyWhatMayBecomeAHeader) {
  const TempFolder folder;
  const std::string model = (folder / "reacher.xml").string(), text = slurp(kModels + "reacher.xml");
  spill(model, text);
  const std::pair<std::string, const char*> mistakes[] = {{model, "is the model (it would be lost)"},
                                                          {folder.path().string(), "is a folder"},
                                                          {"/dev/full", "is a device"},
                                                          {"/nowhere/x.hpp", "is not there: make it first"}};
  for (const auto& [output, part] : mistakes) {
    const Result result = run({model, "-o", output});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  EXPECT_EQ(slurp(model), text);
  EXPECT_EQ(folder.names().size(), 1u);
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
