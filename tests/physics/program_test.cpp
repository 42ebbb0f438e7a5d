// Tests drl_robot on the command line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

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
  expect_mentions(result.out, {"\nsmooth ", "\nnewton "});
  EXPECT_NE(slurp(header).find("namespace physics::half_cheetah_robot {"), std::string::npos);
}

TEST(RobotProgram, ExplainsDryFriction) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/physics/models/manipulator.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"\n12 ", "dry friction\n"});
}

TEST(RobotProgram, ExplainsWhichSensorsAreNotComputed) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/robots/models/keyed.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"\n1 sensor that lanes do not compute", "'reading'"});
}

// A model with two features that cannot be compiled.
constexpr const char* kLate =
    "<mujoco><option density='1000'/><worldbody><body><joint name='hip'/><geom name='fin' size='1' "
    "fluidshape='ellipsoid'/></body></worldbody><actuator><motor name='late' joint='hip' delay='0.02' nsample='4'/>"
    "</actuator></mujoco>";

// The toe's impedance is MuJoCo's largest, 0.9999, and impratio is 100.
TEST(RobotProgram, ExplainsThatStiffContactsNeedDouble) {
  const Result stiff = run({std::string(DRL_TEST_DATA) + "/physics/models/stiff_foot.xml", "--explain"});
  EXPECT_EQ(stiff.exit_code, 0) << stiff.err;
  expect_mentions(stiff.out, {"\nsteps are computed in double", "toe: 1e+06", "500"});
  const Result ant = run({kModels + "ant.xml", "--explain"});
  EXPECT_EQ(ant.out.find("double"), std::string::npos);
}

TEST(RobotProgram, ListsUnsupportedFeaturesAndWritesNothing) {
  const TempFolder folder;
  const std::string model = (folder / "late.xml").string();
  spill(model, kLate);
  const Result result = run({model, "-o", (folder / "late.hpp").string()});
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.err, {"late.xml", "libmujoco", "\n  actuator 'late'", "delay", "\n  geom 'fin'", "ellipsoid"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"late.xml"});
}

// 30 ellipsoids in water and a delay are two kinds: --explain prints a line for each, --explain all one for each
// element.
TEST(RobotProgram, ExplainGroupsElementsByKind) {
  const TempFolder folder;
  const std::string model = (folder / "many.xml").string();
  std::string text =
      "<mujoco><option density='1000'/><actuator><motor name='late' joint='hip' delay='0.02' nsample='4'/></actuator>"
      "<worldbody><body><joint name='hip'/>";
  for (int k = 0; k < 30; ++k) text += "<geom name='m" + std::to_string(k) + "' size='1' fluidshape='ellipsoid'/>";
  spill(model, text + "</body></worldbody></mujoco>");
  const Result result = run({model, "--explain"}), all = run({model, "--explain", "all"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(all.exit_code, 2);
  expect_mentions(result.err, {"\n  actuator 'late': ", "\n  geom 'm0': ", "(and 29 more)", "--explain all"});
  EXPECT_EQ(count_lines(result.err), 4u) << result.err;
  EXPECT_EQ(count_lines(all.err), 32u) << all.err;
  expect_mentions(all.err, {"geom 'm29'"});
}

// Files that are wrong in themselves: MuJoCo or drl_robot says so in one line, whatever libraries print.
TEST(RobotProgram, ReportsBrokenFilesInOneLine) {
  const TempFolder folder;
  const auto mesh = [](const std::string& attributes) {
    return "<mujoco><asset><mesh name='m' " + attributes +
           "/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>";
  };
  const auto ball = [](const std::string& attributes) {
    return "<mujoco><worldbody><body><freejoint/><geom size='0.1' " + attributes + "/></body></worldbody></mujoco>";
  };
  const std::vector<std::pair<std::string, std::string>> files = {
      {"<mujoco><include file='model.xml'/></mujoco>", "include"},
      {"<mujoco><include file='other.xml'/></mujoco>", "other.xml"},
      {mesh("file='missing.stl'"), "missing.stl"},
      {mesh("vertex='0 0 0 1 0 0 0 1 0 1 1 0'"), "'m'"},
      {mesh("vertex='0 0 0 0 0 0 0 0 0 0 0 0'"), "'m'"},
      {ball("pos='nan 0 0'"), "not finite"},
      {ball("quat='nan 0 0 0'"), "not finite"},
      {ball("friction='nan'"), "not finite"}};
  spill(folder / "other.xml", "<mujoco><include file='third.xml'/></mujoco>");
  spill(folder / "third.xml", "<mujoco><include file='other.xml'/></mujoco>");
  for (const auto& [text, part] : files) {
    spill(folder / "model.xml", text);
    const Result result = run({(folder / "model.xml").string(), "--explain"});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {"model.xml", part});
  }
}

// Neither a long chain of joints, whose factorisation would be millions of lines, nor thousands of bodies that may
// touch each other keep --explain from answering.
TEST(RobotProgram, RefusesModelsThatAreTooLarge) {
  const TempFolder folder;
  std::string chain, heap;
  for (int k = 0; k < 200; ++k) chain += "<body pos='0.1 0 0'><joint axis='0 1 0'/><geom size='0.01'/>";
  for (int k = 0; k < 200; ++k) chain += "</body>";
  for (int k = 0; k < 500; ++k) heap += "<body><joint/><geom size='0.1'/></body>";
  const auto refusal = [&](const std::string& bodies) {
    spill(folder / "large.xml", "<mujoco><worldbody>" + bodies + "</worldbody></mujoco>");
    const Result result = run({(folder / "large.xml").string(), "--explain"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LE(count_lines(result.err), 3u) << result.err;
    return result.err;
  };
  expect_mentions(refusal(chain), {"chains of joints", "200"});
  expect_mentions(refusal(heap), {"256", "degrees of freedom"});
}

// Returns a ball that falls on the given geoms.
std::string ball_on(const std::string& geoms, const std::string& others = "") {
  return "<mujoco>" + others + "<worldbody><body pos='0 0 9'><freejoint/><geom size='0.1'/></body>" + geoms +
         "</worldbody></mujoco>";
}

// Each of these many things would be code, or a line of a table.
TEST(RobotProgram, RefusesScenesThatAreTooLarge) {
  const TempFolder folder;
  const auto many = [](int count, const std::string& text) {
    std::string all;
    for (int k = 0; k < count; ++k) all += text;
    return all;
  };
  const std::string block = "<geom type='box' size='0.1 0.1 0.1'/>", disc = "<geom type='cylinder' size='0.1 0.1'/>";
  const std::vector<std::pair<std::string, std::string>> scenes = {
      {ball_on(many(2000, "<body><freejoint/><geom size='0.1' contype='0' conaffinity='0'/></body>")), "1000"},
      {ball_on(many(3000, block)), "2000 geoms"},
      {ball_on("<body>" + many(600, disc) + "<joint/></body><body>" + many(600, disc) + "<joint/></body>"),
       "200000 pairs"}};
  for (const auto& [scene, part] : scenes) {
    spill(folder / "large.xml", scene);
    const Result result = run({(folder / "large.xml").string(), "--explain"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {"large.xml", part});
  }
}

// A mesh collides as its hull: the number of its triangles does not matter, that of its hull's vertices does.
TEST(RobotProgram, HullsOfMeshesDecideWhetherTheyAreTooLarge) {
  const TempFolder folder;
  constexpr int kAround = 160;
  const auto scene = [&](double hollow, const std::string& attributes) {
    std::string vertices;  // on a sphere, but most of them nearer to its centre if it is hollow
    for (int i = 0; i < kAround * kAround; ++i) {
      const double height = 2 * (i + 0.5) / (kAround * kAround) - 1, wide = std::sqrt(1 - height * height);
      const double radius = i % 400 == 0 ? 1 : 1 - hollow;
      for (const double x : {wide * std::cos(2.4 * i), wide * std::sin(2.4 * i), height})
        vertices += std::to_string(radius * x) + " ";
    }
    spill(folder / "mesh.xml",
          ball_on("<geom type='mesh' mesh='planet'/>",
                  "<asset><mesh name='planet' vertex='" + vertices + "'" + attributes + "/></asset>"));
    return run({(folder / "mesh.xml").string(), "--explain"});
  };
  EXPECT_EQ(scene(0.3, "").exit_code, 0);
  EXPECT_EQ(scene(0, " maxhullvert='64'").exit_code, 0);
  const Result round = scene(0, "");
  EXPECT_EQ(round.exit_code, 2);
  EXPECT_EQ(count_lines(round.err), 1u) << round.err;
  expect_mentions(round.err, {"mesh.xml", "'planet'", "20000", "maxhullvert"});
}

// The flag nativeccd changes contacts of shapes without a closed form, such as a cylinder and a box, but not those of
// spheres.
TEST(RobotProgram, RefusesAnotherConvexCollisionDetectorWhereItMatters) {
  const TempFolder folder;
  const std::string disc = "<body><freejoint/><geom name='disc' type='cylinder' size='0.1 0.1' contype='2'/></body>",
                    block = "<geom name='block' type='box' size='1 1 1' conaffinity='3'/>";
  const std::string options = "<option><flag nativeccd='disable'/></option>";
  spill(folder / "ball.xml", ball_on(block, options));
  EXPECT_EQ(run({(folder / "ball.xml").string(), "--explain"}).exit_code, 0);
  spill(folder / "disc.xml", ball_on(block + disc, options));
  const Result result = run({(folder / "disc.xml").string(), "--explain"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  expect_mentions(result.err, {"nativeccd", "'disc'", "'block'"});
}

// The flag multiccd changes the contacts of a cylinder, a box and a mesh with each other, but not those of spheres.
// Only the faces of meshes without a margin are in the header.
TEST(RobotProgram, WritesWhatTheFlagMulticcdNeeds) {
  const TempFolder folder;
  const auto header = [&](const std::string& name, const std::string& bodies, bool has_flag) {
    const std::string cube =
        "<asset><mesh name='cube' vertex='0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1'/></asset>";
    const std::string flag = has_flag ? "<option><flag multiccd='enable'/></option>" : "";
    spill(folder / "robot.xml", "<mujoco>" + flag + cube + "<worldbody><geom name='block' type='box' size='1 1 1'/>" +
                                    "<body><freejoint/>" + bodies + "</body></worldbody></mujoco>");
    const Result result = run({(folder / "robot.xml").string(), "--output", (folder / name).string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return slurp(folder / name);
  };
  const auto has = [](const std::string& text, const std::string& word) {
    return text.find(word) != std::string::npos;
  };
  const std::string ball = "<geom size='0.1'/>", disc = "<geom type='cylinder' size='0.1 0.1'/>",
                    cube = "<geom type='mesh' mesh='cube'/>", soft = "<geom type='mesh' mesh='cube' margin='0.01'/>";
  const auto physics = [](const std::string& text) { return text.substr(0, text.find("struct CompiledRobot")); };
  EXPECT_TRUE(physics(header("robot.hpp", ball, true)) == physics(header("robot.hpp", ball, false)));
  for (const std::string& geom : {disc, cube, soft}) {
    EXPECT_FALSE(has(header("robot.hpp", geom, false), "kMultiCcd")) << geom;
    const std::string text = header("robot.hpp", geom, true);
    EXPECT_TRUE(has(text, "kMultiCcd = true")) << geom;
    EXPECT_EQ(has(text, "normals"), geom == cube) << geom;
  }
}

// 30 x 50 pairs have a short table: a line for each pair would be 300 kB.
TEST(RobotProgram, ManyPairsHaveAShortTable) {
  const TempFolder folder;
  std::string tiles, balls;
  for (int k = 0; k < 50; ++k) tiles += "<geom type='box' size='1 1 0.1' pos='" + std::to_string(2 * k) + " 0 0'/>";
  for (int k = 0; k < 30; ++k) balls += "<geom size='0.1' pos='" + std::to_string(0.1 * k) + " 0 9'/>";
  spill(folder / "tiles.xml",
        "<mujoco><worldbody>" + tiles + "<body><freejoint/>" + balls + "</body></worldbody></mujoco>");
  const Result result = run({(folder / "tiles.xml").string(), "--output", (folder / "tiles.hpp").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string header = slurp(folder / "tiles.hpp");
  expect_mentions(header, {"kPairs = 1500", "kPairGroups = "});
  EXPECT_LT(header.size(), 150'000u);
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
        "<mujoco><worldbody><body><joint name='&#10;&#27;[1mX' limited='true' range='0 1' margin='60'/><geom "
        "size='1'/></body>"
        "</worldbody></mujoco>");
  const Result result = run({model, "--explain"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  expect_mentions(result.err, {"narrow", "\\x0a\\x1b[1mX"});
}

// Builds use --if_possible. The header then contains the reason, and libmujoco simulates the model.
TEST(RobotProgram, IfPossibleWritesTheReasonIntoTheHeader) {
  const TempFolder folder;
  const std::string header = (folder / "late.hpp").string();
  spill(folder / "late.xml", kLate);
  const Result result = run({(folder / "late.xml").string(), "-o", header, "--if_possible"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"late.xml", "libmujoco", "drl_robot cannot compile"});
  EXPECT_EQ(count_lines(result.out), 1u);
  EXPECT_NE(slurp(header).find("CompiledRobot<model_key(\"late.xml\")>"), std::string::npos);
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
