// Tests drl_robot on the command line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "../support/mentions.hpp"
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
  expect_mentions(result.out, {"half_cheetah.xml: 7 ", "9 values of qpos", "9 of qvel", "Euler"});
  expect_mentions(result.out, {"6 limits", "16 points", "in a plane"});
  expect_mentions(result.out, {"\n112 bytes of state"});  // 9 of qpos, 2 x 9 of qvel, time
  expect_mentions(result.out, {"operations per step"});   // bench/physics_table reads these lines
  EXPECT_NE(slurp(header).find("namespace physics::half_cheetah_robot {"), std::string::npos);
}

TEST(RobotProgram, ExplainsDryFriction) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/physics/models/manipulator.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"\n12 ", "dry friction\n"});
}

TEST(RobotProgram, ListsUnsupportedFeaturesAndWritesNothing) {
  const TempFolder folder;
  const Result result = run({kModels + "pusher.xml", "-o", (folder / "pusher.hpp").string()});
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.err, {"pusher.xml", "libmujoco", "\n  geom '", "sphere", "capsule"});
  EXPECT_TRUE(folder.names().empty());
}

TEST(RobotProgram, RejectsModelsThatAreNotFiles) {
  const TempFolder folder;
  const std::string pipe = (folder / "pipe.xml").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& model : {pipe, folder.path().string()}) {
    const Result result = run({model, "--explain"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {model, "not a file"});
  }
}

TEST(RobotProgram, ShowsControlCharactersOfNamesAsTheirCodes) {
  const TempFolder folder;
  const std::string model = (folder / "coloured.xml").string();
  spill(model,
        "<mujoco><worldbody><body name='&#10;&#27;[1mX' gravcomp='1'><freejoint/><geom size='1'/></body>"
        "</worldbody></mujoco>");
  const Result result = run({model, "--explain"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(count_lines(result.err), 2u) << result.err;
  expect_mentions(result.err, {"gravcomp", "\\x0a\\x1b[1mX"});
}

// Builds use --if_possible. The header then contains the reason, and libmujoco simulates the model.
TEST(RobotProgram, IfPossibleWritesTheReasonIntoTheHeader) {
  const TempFolder folder;
  const std::string pusher = (folder / "pusher.hpp").string();
  const Result result = run({kModels + "pusher.xml", "-o", pusher, "--if_possible"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"pusher.xml", "libmujoco", "drl_robot cannot compile"});
  EXPECT_EQ(count_lines(result.out), 1u);
  EXPECT_NE(slurp(pusher).find("CompiledRobot<model_key(\"pusher.xml\")>"), std::string::npos);
  spill(folder / "broken.xml", "<mujoco>");
  EXPECT_EQ(run({(folder / "broken.xml").string(), "-o", (folder / "broken.hpp").string(), "--if_possible"}).exit_code,
            0);
  expect_mentions(slurp(folder / "broken.hpp"), {"drl_robot cannot compile", "cannot read", "is_compiled = false"});
}

// Code that was compiled with an unchanged header is not compiled again.
TEST(RobotProgram, LeavesAnUnchangedHeaderUntouched) {
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

// Invalid outputs are rejected before anything is compiled: the model itself, a directory, a device, a path in a
// missing directory.
TEST(RobotProgram, RejectsInvalidOutputs) {
  const TempFolder folder;
  const std::string model = (folder / "reacher.xml").string(), text = slurp(kModels + "reacher.xml");
  spill(model, text);
  const std::pair<std::string, const char*> mistakes[] = {{model, "the model"},
                                                          {folder.path().string(), "directory"},
                                                          {"/dev/full", "device"},
                                                          {"/nowhere/x.hpp", "does not exist"}};
  for (const auto& [output, part] : mistakes) {
    const Result result = run({model, "-o", output});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {"--output", output, part});
  }
  const Result too_long = run({model, "-o", (folder / std::string(252, 'x')).string()});  // with .tmp
  EXPECT_EQ(too_long.exit_code, 2);
  expect_mentions(too_long.err, {"--output", "File name too long"});
  EXPECT_EQ(slurp(model), text);
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(RobotProgram, RefusesNumbersWhoseSquaresOverflow) {
  const TempFolder folder;
  std::string text = slurp(kModels + "hopper.xml");
  const std::string friction = "friction=\"0.9\"";
  text.replace(text.find(friction), friction.size(), "friction=\"1e300\"");
  spill(folder / "hopper.xml", text);
  std::filesystem::copy(kModels + "scene.xml", folder.path());
  const Result result = run({(folder / "hopper.xml").string(), "--output", (folder / "hopper.hpp").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  expect_mentions(result.err, {"error: ", "not finite"});
  EXPECT_FALSE(std::filesystem::exists(folder / "hopper.hpp"));
}

TEST(RobotProgram, UsageErrorsHaveOneLine) {
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
