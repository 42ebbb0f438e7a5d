// Tests drl_robot on the command line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/mujoco_version.hpp"

namespace drl {
namespace {

const std::string kModels = std::string(DRL_TEST_DATA) + "/../src/robots/models/";

class RobotProgram : public testing::Test {
 protected:
  static Result run(const Words& words) { return run_program(Words{std::string(DRL_BIN) + "/drl_robot"} + words); }
  // Writes a model of the test and explains it.
  Result explain(const std::string& model, const std::string& inside) const {
    spill(folder / model, "<mujoco>" + inside + "</mujoco>");
    return run({(folder / model).string(), "--explain"});
  }
  // Writes a model of the test, and returns its header.
  std::string header_of(const std::string& model, const std::string& inside) const {
    spill(folder / model, "<mujoco>" + inside + "</mujoco>");
    const std::string header = (folder / "robot.hpp").string();
    const Result result = run({(folder / model).string(), "--output", header});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return slurp(header);
  }
  // Expects an error of `lines` lines that mentions `parts`, and nothing else.
  static void expect_refused(const Result& result, std::initializer_list<std::string_view> parts, size_t lines = 1) {
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(count_lines(result.err), lines) << result.err;
    EXPECT_EQ(result.out, "");
    expect_mentions(result.err, parts);
  }

  TempFolder folder;
};

TEST_F(RobotProgram, WritesAHeaderAndExplains) {
  const std::string header = (folder / "half_cheetah.hpp").string();
  const Result result = run({kModels + "half_cheetah.xml", "--explain", "--output", header});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"half_cheetah.xml: 7 ", "9 values of qpos", "9 of qvel", "Euler"});
  expect_mentions(result.out, {"6 limits", "16 points", "in a plane"});
  expect_mentions(result.out, {"\nsmooth ", "\nnewton "});
  EXPECT_NE(slurp(header).find("namespace physics::half_cheetah_robot {"), std::string::npos);
}

TEST_F(RobotProgram, ExplainsDryFriction) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/physics/models/manipulator.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"\n12 ", "dry friction\n"});
}

TEST_F(RobotProgram, ExplainsWhichSensorsAreNotComputed) {
  const Result result = run({std::string(DRL_TEST_DATA) + "/robots/models/keyed.xml", "--explain"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"\n1 sensor that lanes do not compute", "'reading'"});
}

// A model with two features that cannot be compiled.
constexpr const char* kLate =
    "<option density='1000'/><worldbody><body><joint name='hip'/><geom name='fin' size='1' "
    "fluidshape='ellipsoid'/></body></worldbody><actuator><motor name='late' joint='hip' delay='0.02' nsample='4'/>"
    "</actuator>";

// The toe's impedance is MuJoCo's largest, 0.9999, and impratio is 100.
TEST_F(RobotProgram, ExplainsThatStiffContactsNeedDouble) {
  const Result stiff = run({std::string(DRL_TEST_DATA) + "/physics/models/stiff_foot.xml", "--explain"});
  EXPECT_EQ(stiff.exit_code, 0) << stiff.err;
  expect_mentions(stiff.out, {"\nsteps are computed in double", "toe: 1e+06", "500"});
  const Result ant = run({kModels + "ant.xml", "--explain"});
  EXPECT_EQ(ant.out.find("double"), std::string::npos);
}

TEST_F(RobotProgram, ListsUnsupportedFeaturesAndWritesNothing) {
  spill(folder / "late.xml", "<mujoco>" + std::string(kLate) + "</mujoco>");
  expect_refused(run({(folder / "late.xml").string(), "-o", (folder / "late.hpp").string()}),
                 {"late.xml", "libmujoco", "\n  actuator 'late'", "delay", "\n  geom 'fin'", "ellipsoid"}, 3);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"late.xml"});
}

// 30 ellipsoids in water and a delay are two kinds: --explain prints a line for each, --explain all one for each
// element.
TEST_F(RobotProgram, ExplainGroupsElementsByKind) {
  std::string text =
      "<option density='1000'/><actuator><motor name='late' joint='hip' delay='0.02' nsample='4'/></actuator>"
      "<worldbody><body><joint name='hip'/>";
  for (int k = 0; k < 30; ++k) text += "<geom name='m" + std::to_string(k) + "' size='1' fluidshape='ellipsoid'/>";
  expect_refused(explain("many.xml", text + "</body></worldbody>"),
                 {"\n  actuator 'late': ", "\n  geom 'm0': ", "(and 29 more)", "--explain all"}, 4);
  expect_refused(run({(folder / "many.xml").string(), "--explain", "all"}), {"geom 'm29'"}, 32);
}

// Files that are wrong in themselves: MuJoCo or drl_robot says so in one line, whatever libraries print.
TEST_F(RobotProgram, ReportsBrokenFilesInOneLine) {
  const auto mesh = [](const std::string& attributes) {
    return "<asset><mesh name='m' " + attributes +
           "/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>";
  };
  const auto ball = [](const std::string& attributes) {
    return "<worldbody><body><freejoint/><geom size='0.1' " + attributes + "/></body></worldbody>";
  };
  const std::vector<std::pair<std::string, std::string>> files = {
      {"<include file='model.xml'/>", "include"},        {"<include file='other.xml'/>", "other.xml"},
      {mesh("file='missing.stl'"), "missing.stl"},       {mesh("vertex='0 0 0 1 0 0 0 1 0 1 1 0'"), "'m'"},
      {mesh("vertex='0 0 0 0 0 0 0 0 0 0 0 0'"), "'m'"}, {ball("pos='nan 0 0'"), "not finite"},
      {ball("quat='nan 0 0 0'"), "not finite"},          {ball("friction='nan'"), "not finite"}};
  spill(folder / "other.xml", "<mujoco><include file='third.xml'/></mujoco>");
  spill(folder / "third.xml", "<mujoco><include file='other.xml'/></mujoco>");
  for (const auto& [text, part] : files) expect_refused(explain("model.xml", text), {"model.xml", part});
}

// Neither a long chain of joints, whose factorisation would be millions of lines, nor thousands of bodies that may
// touch each other keep --explain from answering.
TEST_F(RobotProgram, RefusesModelsThatAreTooLarge) {
  std::string chain, heap;
  for (int k = 0; k < 200; ++k) chain += "<body pos='0.1 0 0'><joint axis='0 1 0'/><geom size='0.01'/>";
  for (int k = 0; k < 200; ++k) chain += "</body>";
  for (int k = 0; k < 500; ++k) heap += "<body><joint/><geom size='0.1'/></body>";
  const auto refusal = [&](const std::string& bodies) {
    const Result result = explain("large.xml", "<worldbody>" + bodies + "</worldbody>");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LE(count_lines(result.err), 3u) << result.err;
    return result.err;
  };
  expect_mentions(refusal(chain), {"chains of joints", "200"});
  expect_mentions(refusal(heap), {"256", "degrees of freedom"});
}

// Returns a ball that falls on the given geoms.
std::string ball_on(const std::string& geoms, const std::string& others = "") {
  return others + "<worldbody><body pos='0 0 9'><freejoint/><geom size='0.1'/></body>" + geoms + "</worldbody>";
}

// Each of these many things would be code, or a line of a table.
TEST_F(RobotProgram, RefusesScenesThatAreTooLarge) {
  const auto many = [](int count, const std::string& text) {
    std::string all;
    for (int k = 0; k < count; ++k) all += text;
    return all;
  };
  const std::string block = "<geom type='box' size='0.1 0.1 0.1'/>",
                    disc = "<geom type='ellipsoid' size='0.1 0.1 0.1'/>";
  const std::vector<std::pair<std::string, std::string>> scenes = {
      {ball_on(many(2000, "<body><freejoint/><geom size='0.1' contype='0' conaffinity='0'/></body>")), "1000"},
      {ball_on(many(3000, block)), "2000 geoms"},
      {ball_on("<body>" + many(600, disc) + "<joint/></body><body>" + many(600, disc) + "<joint/></body>"),
       "200000 pairs"}};
  for (const auto& [scene, part] : scenes) expect_refused(explain("large.xml", scene), {"large.xml", part});
}

// A mesh collides as its hull: the number of its triangles does not matter, that of its hull's vertices does.
TEST_F(RobotProgram, HullsOfMeshesDecideWhetherTheyAreTooLarge) {
  constexpr int kAround = 160;
  const auto scene = [&](double hollow, const std::string& attributes) {
    std::string vertices;  // on a sphere, but most of them nearer to its centre if it is hollow
    for (int i = 0; i < kAround * kAround; ++i) {
      const double height = 2 * (i + 0.5) / (kAround * kAround) - 1, wide = std::sqrt(1 - height * height);
      const double radius = i % 400 == 0 ? 1 : 1 - hollow;
      for (const double x : {wide * std::cos(2.4 * i), wide * std::sin(2.4 * i), height})
        vertices += std::to_string(radius * x) + " ";
    }
    return explain("mesh.xml",
                   ball_on("<geom type='mesh' mesh='planet'/>",
                           "<asset><mesh name='planet' vertex='" + vertices + "'" + attributes + "/></asset>"));
  };
  EXPECT_EQ(scene(0.3, "").exit_code, 0);
  EXPECT_EQ(scene(0, " maxhullvert='64'").exit_code, 0);
  expect_refused(scene(0, ""), {"mesh.xml", "'planet'", "20000", "maxhullvert"});
}

// The flag nativeccd changes contacts of shapes without a closed form, such as a cylinder and a box, but not those of
// spheres.
TEST_F(RobotProgram, RefusesAnotherConvexCollisionDetectorWhereItMatters) {
  const std::string disc = "<body><freejoint/><geom name='disc' type='cylinder' size='0.1 0.1' contype='2'/></body>",
                    block = "<geom name='block' type='box' size='1 1 1' conaffinity='3'/>";
  const std::string options = "<option><flag nativeccd='disable' multiccd='disable'/></option>";
  EXPECT_EQ(explain("ball.xml", ball_on(block, options)).exit_code, 0);
  expect_refused(explain("disc.xml", ball_on(block + disc, options)), {"nativeccd", "'disc'", "'block'"});
}

// The flag multiccd changes the contacts of a cylinder, a box and a mesh with each other, but not those of spheres.
// Only the faces of meshes without a margin are in the header. What newer versions of MuJoCo find for others is
// refused.
TEST_F(RobotProgram, WritesWhatTheFlagMulticcdNeeds) {
  const auto header = [&](const std::string& bodies, bool has_flag) {
    const std::string cube =
        "<asset><mesh name='cube' vertex='0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1'/></asset>";
    const std::string flag =
        std::string("<option><flag multiccd='") + (has_flag ? "enable" : "disable") + "'/></option>";
    return header_of("robot.xml", flag + cube + "<worldbody><geom name='block' type='box' size='1 1 1'/>" +
                                      "<body><freejoint/>" + bodies + "</body></worldbody>");
  };
  const auto has = [](const std::string& text, const std::string& word) {
    return text.find(word) != std::string::npos;
  };
  const std::string ball = "<geom size='0.1'/>", disc = "<geom type='cylinder' size='0.1 0.1'/>",
                    cube = "<geom type='mesh' mesh='cube'/>", soft = "<geom type='mesh' mesh='cube' margin='0.01'/>";
  const auto physics = [](const std::string& text) { return text.substr(0, text.find("struct CompiledRobot")); };
  EXPECT_TRUE(physics(header(ball, true)) == physics(header(ball, false)));
  for (const std::string& geom : {disc, cube, soft}) {
    EXPECT_FALSE(has(header(geom, false), "kMultiCcd")) << geom;
    const std::string text = header(geom, true);
    EXPECT_TRUE(has(text, "kMultiCcd = true")) << geom;
    EXPECT_EQ(has(text, "normals"), geom == cube || (geom == soft && mujoco::kSidesTouch)) << geom;
  }
}

// The operations of a robot's functions leave out what contacts between geoms cost, which is most for some robots.
TEST_F(RobotProgram, ExplainSaysThatPairsAreNotCounted) {
  const std::string ball = "<body><freejoint/><geom size='0.1'/></body>";
  expect_mentions(explain("two.xml", "<worldbody>" + ball + ball + "</worldbody>").out, {"compare_robots two.xml"});
  EXPECT_EQ(explain("one.xml", "<worldbody>" + ball + "</worldbody>").out.find("compare_robots"), std::string::npos);
}

// 30 x 50 pairs have a short table: a line for each pair would be 300 kB.
TEST_F(RobotProgram, ManyPairsHaveAShortTable) {
  std::string tiles, balls;
  for (int k = 0; k < 50; ++k) tiles += "<geom type='box' size='1 1 0.1' pos='" + std::to_string(2 * k) + " 0 0'/>";
  for (int k = 0; k < 30; ++k) balls += "<geom size='0.1' pos='" + std::to_string(0.1 * k) + " 0 9'/>";
  const std::string header =
      header_of("tiles.xml", "<worldbody>" + tiles + "<body><freejoint/>" + balls + "</body></worldbody>");
  expect_mentions(header, {"kPairs = 1500", "kPairGroups = "});
  EXPECT_LT(header.size(), 150'000u);
}

TEST_F(RobotProgram, RejectsModelsThatAreNotFiles) {
  const std::string pipe = (folder / "pipe.xml").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& model : {pipe, folder.path().string()})
    expect_refused(run({model, "--explain"}), {model, "not a file"});
}

// libmujoco names only the first.
TEST_F(RobotProgram, NamesAllFilesThatAreMissing) {
  expect_refused(explain("bare.xml",
                         "<compiler meshdir='parts'/><asset><mesh file='a.stl'/><mesh file='sub/b.obj'/><hfield "
                         "name='hills' file='c.png' size='1 1 1 1'/><texture type='2d' file='d.png'/></asset>"),
                 {"bare.xml", "parts/a.stl", "parts/sub/b.obj", "parts/c.png", " d.png"});
}

// libmujoco ends each step with an error where two geoms touch that cannot move; it checks only explicit pairs of them.
TEST_F(RobotProgram, RefusesPairsOfGeomsThatCannotMove) {
  const auto scene = [](const char* height) {
    return std::string("<worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 ") + height +
           "'><geom name='post' size='0.1'/></body><body pos='0 0 1'><freejoint/><geom size='0.1'/></body>"
           "</worldbody><contact><pair geom1='post' geom2='floor'/></contact>";
  };
  expect_refused(explain("still.xml", scene("0.05")), {"still.xml", "'floor'", "'post'", "pair"});
  expect_exit(explain("apart.xml", scene("0.15")), 0);
}

// Both headers may be part of one library.
TEST_F(RobotProgram, NamesOfFilesThatDifferInSignsHaveDifferentNames) {
  const std::string ball = "<worldbody><body><freejoint/><geom size='0.1'/></body></worldbody>";
  const auto name_of = [&](const char* file) {
    const std::string header = header_of(file, ball), begin = "namespace physics::";
    const size_t at = header.find(begin) + begin.size();
    return header.substr(at, header.find(' ', at) - at);
  };
  EXPECT_EQ(name_of("a_b.xml"), "a_b_robot");
  const std::set<std::string> names{"a_b_robot", name_of("a-b.xml"), name_of("a.b.xml"), name_of("a b.xml")};
  EXPECT_EQ(names.size(), 4u) << testing::PrintToString(names);
}

// libmujoco 3.5 ends the process if a name in a wrong place is a format that writes to memory.
TEST_F(RobotProgram, RefusesFormatsOfMessages) {
  expect_refused(explain("format.xml", "<worldbody><camera mode='track%s%n'/></worldbody>"), {"format.xml", "%s"});
  expect_exit(explain("text.xml",
                      "<!-- 5%20slow --><custom><text name='mass' data='5 % nothing, 100%'/></custom><worldbody><body>"
                      "<joint/><geom size='1'/></body></worldbody>"),
              0);
}

// A compiled model begins with MuJoCo's ID, as mj_saveModel writes it, whatever the file is called.
TEST_F(RobotProgram, ReadsCompiledModels) {
  const auto model = load_model(kModels + "hopper.xml");
  for (const char* name : {"hopper.mjb", "compiled.xml"}) {
    const std::string file = folder / name;
    mj_saveModel(model.get(), file.c_str(), nullptr, 0);
    expect_exit(run({file, "--explain"}), 0);
    std::filesystem::resize_file(file, 1000);
    expect_refused(run({file, "--explain"}), {file, "compiled model", "damaged"});
  }
}

// Bodies that only users move are no part of what environments change.
TEST_F(RobotProgram, CompilesMocapBodies) {
  spill(folder / "mocap.xml",
        "<mujoco><worldbody><body mocap='true'><geom size='1' contype='0' conaffinity='0'/></body><body><joint/>"
        "<geom size='1'/></body></worldbody></mujoco>");
  const std::string header = folder / "mocap.hpp";
  expect_exit(run({folder / "mocap.xml", "--randomised", "--output", header}), 0);
  EXPECT_EQ(slurp(header).find("ModelParameter::mass, 1,"), std::string::npos);
  EXPECT_NE(slurp(header).find("ModelParameter::mass, 2,"), std::string::npos);
}

TEST_F(RobotProgram, ShowsControlCharactersOfNamesAsTheirCodes) {
  expect_refused(
      explain("coloured.xml",
              "<worldbody><body><joint name='&#10;&#27;[1mX' limited='true' range='0 1' margin='60'/><geom size='1'/>"
              "</body></worldbody>"),
      {"narrow", "\\x0a\\x1b[1mX"});
}

// Builds use --if_possible. The header then contains the reason, and libmujoco simulates the model.
TEST_F(RobotProgram, IfPossibleWritesTheReasonIntoTheHeader) {
  const std::string header = (folder / "late.hpp").string();
  spill(folder / "late.xml", "<mujoco>" + std::string(kLate) + "</mujoco>");
  const Result result = run({(folder / "late.xml").string(), "-o", header, "--if_possible"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, {"late.xml", "libmujoco", "drl_robot cannot compile"});
  EXPECT_EQ(count_lines(result.out), 1u);
  EXPECT_NE(slurp(header).find("CompiledRobot<model_key(\"late.xml\")>"), std::string::npos);
  spill(folder / "broken.xml", "<mujoco>");
  EXPECT_EQ(run({(folder / "broken.xml").string(), "-o", (folder / "broken.hpp").string(), "--if_possible"}).exit_code,
            0);
  const Result plugin = explain("plugin.xml", "<extension><plugin plugin='a.b'/></extension>");
  expect_refused(plugin, {"plugin a.b not found", "remove the plugin"});
  expect_mentions(slurp(folder / "broken.hpp"), {"drl_robot cannot compile", "cannot read", "is_compiled = false"});
}

// A link of 1 kg on a base of 2 kg, with a mesh in the package's directory.
std::string urdf_with(const std::string& mesh, const std::string& inertial) {
  const auto link = [&](const std::string& name, const std::string& geometry) {
    return "<link name='" + name + "'>" + inertial + "<collision><geometry>" + geometry +
           "</geometry></collision></link>";
  };
  return "<robot name='arm'>" + link("base", "<box size='0.2 0.2 0.1'/>") +
         link("arm", "<mesh filename='" + mesh + "'/>") +
         "<joint name='hip' type='revolute'><parent link='base'/><child link='arm'/><axis xyz='0 1 0'/>"
         "<limit lower='-1' upper='2' effort='30' velocity='5'/></joint></robot>";
}
constexpr const char* kInertial =
    "<inertial><mass value='2'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial>";

TEST_F(RobotProgram, WritesUrdfAsMjcfWithActuatorsAndAFloor) {
  std::filesystem::create_directories(folder / "arm" / "urdf");
  const std::string urdf = folder / "arm" / "urdf" / "arm.urdf", xml = folder / "arm.xml";
  spill(folder / "arm" / "link.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  spill(urdf, urdf_with("package://arm/link.obj", kInertial));
  expect_exit(run({urdf, "--output", xml, "--base", "free"}), 0);
  const auto motor = load_model(xml);
  ASSERT_EQ(motor->nu, 1);
  EXPECT_EQ(motor->nv, 7);
  EXPECT_EQ(motor->actuator_gainprm[0], 1);
  EXPECT_EQ(motor->actuator_ctrlrange[1], 30);
  EXPECT_NEAR(motor->qpos0[2], 0.05, 1e-6);  // half of the box's height: it stands on the floor
  expect_exit(run({urdf, "--output", xml, "--actuators", "position", "--kp", "50", "--kv", "3"}), 0);
  const auto servo = load_model(xml);
  EXPECT_EQ(servo->nv, 1);
  EXPECT_EQ(servo->actuator_gainprm[0], 50);
  EXPECT_EQ(servo->actuator_biasprm[2], -3);
  EXPECT_EQ(servo->actuator_ctrlrange[1], 2);
  EXPECT_EQ(servo->jnt_actfrcrange[1], 30);
  EXPECT_NEAR(servo->geom_pos[3 * mj_name2id(servo.get(), mjOBJ_GEOM, "floor") + 2], -0.05, 1e-6);
}
TEST_F(RobotProgram, RefusesUrdfThatLacksSomething) {
  const std::string urdf = folder / "arm.urdf", xml = folder / "arm.xml";
  const auto refuses = [&](const std::string& text, const Words& more, std::initializer_list<std::string_view> parts) {
    spill(urdf, text);
    expect_refused(run(Words{urdf, "--output", xml} + more), parts);
    EXPECT_FALSE(std::filesystem::exists(xml));
  };
  const std::string box = urdf_with("none.obj", kInertial);
  refuses(box, {}, {"arm.urdf", "none.obj"});
  refuses("<robot xmlns:xacro='x'><xacro:arm/></robot>", {}, {"xacro"});
  refuses("<mujoco/>", {}, {"URDF"});
  refuses(urdf_with("a&amp;b.obj", kInertial), {}, {"arm.urdf", "a&b.obj"});
  refuses(box, {"--actuators", "position"}, {"--kp"});
  refuses(box, {"--kp", "30"}, {"--kp", "--actuators"});
  refuses(box, {"--randomised"}, {"--randomised", "arm.urdf"});
  expect_refused(run({kModels + "reacher.xml", "--explain", "--base", "free"}), {"--base", "URDF"});
  expect_refused(run({urdf, "--explain"}), {"arm.urdf", "--output robot.xml"});
  expect_refused(run({"robot.usda", "--explain"}), {"USD", "MJCF"});
  std::string massless = urdf_with("none.obj", "");
  massless.replace(massless.find("<mesh"), massless.find("/>", massless.find("<mesh")) + 2 - massless.find("<mesh"),
                   "");
  const size_t empty = massless.find("<collision><geometry></geometry></collision>");
  refuses(massless.erase(empty, 44), {}, {"arm.urdf", "<inertial>"});
}

// MuJoCo 4.0 warns of both attributes. drl's own models have the first.
TEST_F(RobotProgram, PassesWarningsOfTheCompilerOn) {
  if (!mujoco::since(4, 0)) GTEST_SKIP() << "this version of MuJoCo warns of neither attribute";
  const std::string rest = "<worldbody><body><joint/><geom size='0.1'/></body></worldbody>";
  EXPECT_EQ(explain("total.xml", "<compiler settotalmass='3'/>" + rest).err, "");
  const Result result = explain("mean.xml", "<statistic meaninertia='3'/>" + rest);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(count_lines(result.err), 1) << result.err;
  expect_mentions(result.err, {"warning: ", "mean.xml", "'meaninertia'"});
}

// Code that was compiled with an unchanged header is not compiled again.
TEST_F(RobotProgram, LeavesAnUnchangedHeaderUntouched) {
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
TEST_F(RobotProgram, RejectsInvalidOutputs) {
  const std::string model = (folder / "reacher.xml").string(), text = slurp(kModels + "reacher.xml");
  spill(model, text);
  const std::pair<std::string, const char*> mistakes[] = {{model, "the model"},
                                                          {folder.path().string(), "directory"},
                                                          {"/dev/full", "device"},
                                                          {"/nowhere/x.hpp", "does not exist"}};
  for (const auto& [output, part] : mistakes) expect_refused(run({model, "-o", output}), {"--output", output, part});
  expect_refused(run({model, "-o", (folder / std::string(252, 'x')).string()}),  // with .tmp
                 {"--output", "File name too long"});
  EXPECT_EQ(slurp(model), text);
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST_F(RobotProgram, RefusesNumbersWhoseSquaresOverflow) {
  std::string text = slurp(kModels + "hopper.xml");
  const std::string friction = "friction=\"0.9\"";
  text.replace(text.find(friction), friction.size(), "friction=\"1e300\"");
  spill(folder / "hopper.xml", text);
  std::filesystem::copy(kModels + "scene.xml", folder.path());
  expect_refused(run({(folder / "hopper.xml").string(), "--output", (folder / "hopper.hpp").string()}),
                 {"error: ", "not finite"});
  EXPECT_FALSE(std::filesystem::exists(folder / "hopper.hpp"));
}

TEST_F(RobotProgram, UsageErrorsHaveOneLine) {
  for (const Words& words : {Words{}, Words{"nothing.xml", "--explain"}, Words{kModels + "ant.xml"},
                             Words{kModels + "ant.xml", kModels + "reacher.xml", "--explain"}})
    expect_refused(run(words), {});
}

}  // namespace
}  // namespace drl
