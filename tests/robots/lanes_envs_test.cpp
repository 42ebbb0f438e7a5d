// Tests environments of robots in lanes: the contract of tasks, resuming from a state, and the choice of the physics
// engine.
#include <cstdlib>
#include <filesystem>
#include <set>

#include "../support/mentions.hpp"
#include "../support/stepped.hpp"
#include "../support/task_options.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "envs/check_task.hpp"
#include "envs/task_libraries.hpp"

namespace drl {
namespace {

const std::string kModels = std::string(DRL_TEST_DATA) + "/../src/robots/models";

// The tests' library is loaded from a copy in a directory of its own, where tests put models next to it.
class RobotsInLanes : public testing::Test {
 protected:
  void SetUp() override { setenv("DRL_MODELS", kModels.c_str(), 1); }
  static void SetUpTestSuite() {
    const std::filesystem::path library = folder() / "lanes_robots.so";
    std::filesystem::copy_file(DRL_TEST_LIBRARY, library);
    load_task_library(library.string());
    load_task_library(DRL_ROBOTS_LIBRARY);
  }
  static std::filesystem::path folder() {
    static const TempFolder folder;
    return folder.path();
  }
  // Writes a copy of one of drl's models, in which a text is replaced, into a directory.
  static void put_model(const std::filesystem::path& to, const std::string& name, const std::string& from = "",
                        const std::string& by = "") {
    std::string text = slurp(kModels + "/" + name);
    if (!from.empty()) text.replace(text.find(from), from.size(), by);
    spill(to / name, text);
  }
};

// The physics engine that a task's options choose, and why it is not lanes.
struct Chosen {
  Chosen(const std::string& task, const OptionValues& values) {
    TaskOptions options(task, values);
    options.params.choose_physics();
    engine = options.params.physics(), why_not = options.params.why_not_in_lanes();
    EXPECT_EQ(options.table.find("env.physics").value(), engine == "lanes" ? "lanes" : "mujoco");
  }
  std::string engine, why_not;
};
std::string physics_of(const std::string& task, const std::string& requested) {
  return Chosen(task, {{"physics", requested}}).engine;
}
std::string error_of(const std::string& task, const OptionValues& values) {
  return error_from<UsageError>([&] { setup_with(task, values); });
}
std::string error_of(const std::string& task, const std::string& requested) {
  return error_of(task, OptionValues{{"physics", requested}});
}

TEST_F(RobotsInLanes, KeepTheContractOfTasks) {
  for (const std::string task : {"Carrier", "InvertedDoublePendulum-v5", "Ant-v5"}) {
    ASSERT_EQ(physics_of(task, "auto"), "lanes");
    const TaskFindings found = check_task(task, TaskParams(task_record(task)).setup(), {.steps = 120, .seconds = 0});
    EXPECT_EQ(found.faults, std::vector<std::string>()) << task;
    EXPECT_EQ(found.from_double.size(), 3u);
    EXPECT_GE(found.identical.size(), 3u);
  }
}

TEST_F(RobotsInLanes, AreBitIdenticalOnThreadsInTilesAndOnRanks) { expect_independent_trajectories("Carrier", 16); }

TEST_F(RobotsInLanes, ResumeFromTheirState) {
  expect_resumes_from_state("Carrier", {"env/state/physics/warm_start/0", "env/state/physics/time", "env/state/steps"});
  expect_resumes_from_state("HalfCheetah-v5", {"env/state/physics/qpos/8"});
}

// The pole weighs 5.02 kg: it is a capsule of density 1000 kg/m^3, length 0.6 m and radius 0.049 m.
TEST_F(RobotsInLanes, ReportCriticObservationsAndUnsolvedSteps) {
  Stepped s("Carrier", {.num_envs = 20, .seed = 2}, 41);
  s.step(0, 41);
  EXPECT_EQ(s.envs->spec().metrics, (std::vector<std::string>{"force", "unsolved"}));
  const double kPi = 3.14159265358979, length = std::hypot(0.001, 0.6), r = 0.049;
  EXPECT_NEAR(static_cast<double>(s.r.critic_obs[0]), 1000 * kPi * r * r * (length + 4 * r / 3), 1e-5);
  const EpisodeSums sums = s.episodes();
  EXPECT_GE(sums.count, 20);
  EXPECT_EQ(sums.metrics[1], 0);
  EXPECT_EQ(sums.ends[0] + sums.ends[1], sums.count);
}

const OptionValues kRandomised = {
    {"dr.body_mass", "0.5,2"}, {"dr.gravity", "-1,1"}, {"dr.joint_damping", "0.5,2"}, {"dr.kp", "0.5,1.5"}};

// The pole's mass is the critic's first observation: 5.02 kg in the file. It is drawn from the range at each reset, or
// once, and is the same with either engine.
TEST_F(RobotsInLanes, DrawTheSameModelsWithEitherEngine) {
  constexpr int64_t kEnvs = 40, kSteps = 90;
  const auto masses = [](const std::string& physics, const std::string& when) {
    OptionValues options = kRandomised;
    options["physics"] = physics, options["dr.when"] = when;
    Stepped s("Carrier", {.num_envs = kEnvs, .seed = 2, .setup = setup_with("Carrier", options)}, kSteps);
    s.step(0, kSteps);
    std::vector<std::set<float>> all(kEnvs);
    for (int64_t t = 0; t <= kSteps; ++t)
      for (int64_t i = 0; i < kEnvs; ++i) all[static_cast<size_t>(i)].insert(s.r.critic_obs[(t * kEnvs + i) * 2]);
    return all;
  };
  const auto in_lanes = masses("lanes", "reset"), once = masses("lanes", "lifetime");
  std::set<float> first;
  for (size_t i = 0; i < kEnvs; ++i) {
    EXPECT_GE(in_lanes[i].size(), 3u) << "an episode has 40 steps";
    EXPECT_EQ(once[i].size(), 1u);
    first.insert(*once[i].begin());
    for (const float mass : in_lanes[i]) {
      EXPECT_GE(mass, 2.5f);
      EXPECT_LE(mass, 10.1f);
    }
  }
  EXPECT_EQ(first.size(), size_t{kEnvs}) << "each environment has a mass of its own";
  const auto by_mujoco = masses("mujoco", "lifetime");
  for (size_t i = 0; i < kEnvs; ++i) EXPECT_NEAR(*by_mujoco[i].begin(), *once[i].begin(), 1e-5f) << i;
}

TEST_F(RobotsInLanes, KeepTheContractWithRandomisedModels) {
  for (const std::string physics : {"lanes", "mujoco"}) {
    OptionValues options = kRandomised;
    options["physics"] = physics;
    const TaskFindings found = check_task("Carrier", setup_with("Carrier", options), {.steps = 120, .seconds = 0});
    EXPECT_EQ(found.faults, std::vector<std::string>()) << physics;
  }
}

// A servo whose torque a network gives. Environments differ by their actions only.
TEST_F(RobotsInLanes, DriveMotorsByNetworks) {
  const auto plain = trajectories("Keyed", 1, 1, 48);
  for (const std::string name : {"motor_softsign", "motor_lstm"}) {
    SCOPED_TRACE(name);
    const std::string file = std::string(DRL_TEST_DATA) + "/envs/recordings/" + name + ".npz";
    const auto params = [&](const std::string& physics) {
      return setup_with("Keyed", {{"dr.motor_network", file}, {"physics", physics}});
    };
    const EnvSetup in_lanes = params("lanes");
    const auto one = trajectories("Keyed", 1, 1, 48, in_lanes);
    EXPECT_NE(one, plain);
    expect_independent_trajectories("Keyed", 20, in_lanes);  // tiles that do not fill registers
    expect_resumes_from_state("Keyed", {"env/motors/0", "env/motors/3"}, in_lanes);
    expect_resumes_from_state("Keyed", {"env/state/motors"}, params("mujoco"));
    for (const std::string physics : {"lanes", "mujoco"}) {
      const TaskFindings found = check_task("Keyed", params(physics), {.steps = 120, .seconds = 0});
      EXPECT_EQ(found.faults, std::vector<std::string>()) << physics;
    }
    // Until float has drifted away from double, both engines agree; an episode has 40 steps of 9 numbers.
    const auto by_mujoco = trajectories("Keyed", 1, 1, 48, params("mujoco"));
    for (const size_t first : {size_t{0}, size_t{41 * 10}})  // in the first episode, and in the second
      for (size_t k = first; k < first + 100; ++k)
        EXPECT_NEAR(one[5][k], by_mujoco[5][k], 2e-3 * (1 + std::abs(by_mujoco[5][k]))) << k;
  }
}
TEST_F(RobotsInLanes, RefuseNetworksThatDriveNothing) {
  const std::string file = std::string(DRL_TEST_DATA) + "/envs/recordings/motor_lstm.npz";
  EXPECT_EQ(error_of("Keyed", {{"dr.motor_network", file}, {"dr.motor_network_of", "serv*"}}), "no error");
  expect_mentions(error_of("Carrier", {{"dr.motor_network", file}}), {"--env.dr.motor_network", "position controller"});
  expect_mentions(error_of("Keyed", {{"dr.motor_network", file}, {"dr.motor_network_of", "srvo"}}),
                  {"--env.dr.motor_network", "'srvo'", "'servo'"});
  expect_mentions(error_of("Keyed", {{"dr.motor_network", file}, {"dr.motor_network_of", " "}}), {"motor_network_of"});
  expect_mentions(error_of("Keyed", {{"dr.motor_network", "/nowhere.npz"}}),
                  {"--env.dr.motor_network", "/nowhere.npz"});
  expect_mentions(error_of("Keyed", {{"dr.push_body", "pole"}}), {"--env.dr.push_body", "push_force"});
  expect_mentions(error_of("Keyed", {{"dr.push_body", "pole"},
                                     {"dr.push_force", "pole=1,2"},
                                     {"dr.push_interval", "pole=1,2"},
                                     {"dr.push_duration", "pole=0.1,0.2"}}),
                  {"--env.dr.push_body", "push_force"});
  expect_mentions(
      error_of(
          "Keyed",
          {{"dr.push_body", "pol"}, {"dr.push_torque", "1"}, {"dr.push_interval", "1"}, {"dr.push_duration", "0.1"}}),
      {"'pol'", "'pole'"});
}

// drl's robots are compiled for it, but for those in a fluid.
TEST_F(RobotsInLanes, RandomiseRobotsThatCanBeCompiledForIt) {
  EXPECT_EQ(Chosen("HalfCheetah-v5", {{"dr.body_mass", "0.9,1.1"}}).engine, "lanes");
  EXPECT_EQ(Chosen("PushCube", {{"dr.geom_friction", "0.9,1.1"}}).engine, "lanes");
  EXPECT_EQ(Chosen("Swimmer-v5", {}).engine, "lanes");
  const Chosen chosen("Swimmer-v5", {{"dr.body_mass", "0.9,1.1"}});
  EXPECT_EQ(chosen.engine, "libmujoco");
  expect_mentions(chosen.why_not, {"fluid"});
}

TEST_F(RobotsInLanes, RefuseRangesThatAreWrong) {
  const auto error = [](const std::string& option, const std::string& value) {
    return error_of("Carrier", {{option, value}});
  };
  expect_mentions(error("dr.body_mass", "1.2,0.8"), {"--env.dr.body_mass", "1.2", "0.8", "greater"});
  expect_mentions(error("dr.body_mass", "-1,1"), {"--env.dr.body_mass", "-1"});
  expect_mentions(error("dr.body_mass", "0,1"), {"--env.dr.body_mass"});
  expect_mentions(error("dr.body_mass", "pol=1,2"), {"--env.dr.body_mass", "'pol'", "'pole'"});
  expect_mentions(error("dr.body_mass", "heavy"), {"--env.dr.body_mass", "heavy"});
  expect_mentions(error("dr.joint_stiffness", "1,2"), {"--env.dr.joint_stiffness", "no effect"});
  EXPECT_EQ(error("dr.body_mass", "0.5 2 pole=1"), "no error");
}

TEST_F(RobotsInLanes, AreLostCountedAndResetWhenTheyDiverge) {
  Stepped s("Carrier", {.num_envs = 20, .seed = 2}, 3);
  for (int64_t t = 0; t < 3; ++t) {
    std::fill_n(s.r.env_action, 20, 0.0f);
    if (t == 1) s.r.env_action[3] = s.r.env_action[18] = 1;  // one in a full pack, one in the remainder
    s.step_with_given_actions(t);
  }
  for (int64_t i = 0; i < 20; ++i) {
    const bool is_lost = i == 3 || i == 18;
    EXPECT_EQ(s.r.terminated[20 + i], is_lost ? kLost : 0) << i;
    EXPECT_NEAR(s.r.obs[(3 * 20 + i) * 7 + 6], is_lost ? 0.04 : 0.12, 0.0101) << i;
  }
  EXPECT_EQ(s.episodes().lost, 2);
}

TEST_F(RobotsInLanes, AreChosenIfTheTaskCanBeComputedInLanes) {
  EXPECT_EQ(physics_of("Carrier", "lanes"), "lanes");
  EXPECT_EQ(physics_of("Carrier", "mujoco"), "libmujoco");
  EXPECT_EQ(TaskParams(task_record("Cartpole")).physics(), "");
  const Chosen chosen("Toucher", {});
  EXPECT_EQ(chosen.engine, "libmujoco");
  expect_mentions(chosen.why_not, {"lanes", "geoms"});
  expect_mentions(error_of("Toucher", "lanes"), {"--env.physics", "Toucher", "geoms", "mujoco", "auto"});
  EXPECT_EQ(physics_of("Pusher-v5", "auto"), "lanes");
  EXPECT_EQ(Stepped("Carrier", {.num_envs = 2}, 1).envs->files(), Stepped("Toucher", {.num_envs = 2}, 1).envs->files());
}

// The numbers are those of the file. The servo pushes with 20 N/m (control - position); the gyro turns with the pole
// about y. (The control does not outlast the reset: the next step has its own.)
TEST_F(RobotsInLanes, StartFromAKeyframeWithEitherEngine) {
  for (const char* physics : {"lanes", "mujoco"})
    for (const bool back : {false, true}) {
      const EnvSetup setup = setup_with("Keyed", {{"physics", physics}, {"back", back ? "true" : "false"}});
      const Stepped s("Keyed", {.num_envs = 3, .setup = setup}, 1);
      const float expected[2][7] = {{0.25f, 0.5f, 0, 0, 0.75f, 0, 20 * 0.5f},
                                    {-0.5f, -1.5f, 0.125f, 2, -0.25f, 2, 20 * 0.25f}};
      for (int64_t i = 0; i < 3; ++i)
        for (int k = 0; k < 7; ++k) EXPECT_NEAR(s.r.obs[7 * i + k], expected[back][k], 1e-6f) << physics << back << k;
    }
  expect_mentions(error_of("Unkeyed", "auto"), {"keyframe", "'hone'", "'home'"});
}

// Keyed's model has a sensor of the user's, which lanes do not compute. Only Clocked uses it.
TEST_F(RobotsInLanes, NeedOnlyTheSensorsThatTheTaskUses) {
  EXPECT_EQ(physics_of("Keyed", "auto"), "lanes");
  const Chosen chosen("Clocked", {});
  EXPECT_EQ(chosen.engine, "libmujoco");
  expect_mentions(chosen.why_not, {"'reading'", "type"});
  EXPECT_EQ(task_record("Clocked").robot->in_lanes, nullptr);
  expect_mentions(error_of("Clocked", "lanes"), {"--env.physics", "'reading'"});
}

// The model is next to the library, which has compiled another one of this name.
TEST_F(RobotsInLanes, RefuseAModelThatIsNotTheCompiledOne) {
  unsetenv("DRL_MODELS");
  put_model(folder(), "scene.xml");
  put_model(folder(), "inverted_pendulum.xml", "size=\"0.049\"", "size=\"0.050\"");
  const std::string file = (folder() / "inverted_pendulum.xml").string();
  expect_mentions(error_of("Carrier", "auto"), {file, "compiled", "build the library again", "--env.physics mujoco"});
  expect_mentions(error_of("Carrier", "lanes"), {file, "compiled"});
  EXPECT_EQ(physics_of("Carrier", "mujoco"), "libmujoco");
  put_model(folder(), "inverted_pendulum.xml");
  EXPECT_EQ(physics_of("Carrier", "auto"), "lanes");
}

// Both the header's directory and the library's have a models/keyed.xml; the one that was compiled is taken.
TEST_F(RobotsInLanes, FindTheModelThatWasCompiled) {
  unsetenv("DRL_MODELS");
  const std::filesystem::path own = std::filesystem::path(DRL_TEST_DATA) / "robots/models/keyed.xml";
  std::filesystem::create_directory(folder() / "models");
  std::string other = slurp(own);
  other.replace(other.find("mass=\"3\""), 8, "mass=\"4\"");
  spill(folder() / "models/keyed.xml", other);
  EXPECT_EQ(physics_of("Keyed", "auto"), "lanes");
  EXPECT_TRUE(std::filesystem::equivalent(TaskParams(task_record("Keyed")).robot_facts()->file, own));
}

// A ray of length 2 meets the floor at half the height; one along the trunk's axis at the height by the cosine of the
// pitch.
TEST_F(RobotsInLanes, CastRaysWithEitherEngine) {
  for (const std::string physics : {"lanes", "mujoco"}) {
    Stepped s("Stomper", {.num_envs = 20, .setup = setup_with("Stomper", {{"physics", physics}})}, 30);
    s.step(0, 30);
    for (int64_t k = 0; k < 31 * 20; ++k) {
      const float* obs = s.r.obs + 6 * k;
      EXPECT_GT(obs[3], 0.1f) << physics << " " << k;
      EXPECT_NEAR(obs[4], obs[3], 1e-6f) << physics << " " << k;
      EXPECT_NEAR(obs[5], obs[3], 1e-6f) << physics << " " << k;
    }
  }
}

TEST_F(RobotsInLanes, SayThatStepsAreInDouble) {
  EXPECT_EQ(TaskParams(task_record("Keyed")).robot_facts()->in_double, 0);
  EXPECT_EQ(TaskParams(task_record("Stomper")).robot_facts()->in_double, 1);
}

TEST_F(RobotsInLanes, AreNotUsedWithAnotherFrameSkip) {
  const Chosen chosen("HalfCheetah-v5", {{"frame_skip", "4"}});
  EXPECT_EQ(chosen.engine, "libmujoco");
  expect_mentions(chosen.why_not, {"frame skip", "4", "5"});
}

TEST_F(RobotsInLanes, AreUsedWithACopyOfTheModelUnderAnotherName) {
  const TempFolder folder;
  std::filesystem::copy_file(kModels + "/inverted_pendulum.xml", folder / "mine.xml");
  std::filesystem::copy_file(kModels + "/scene.xml", folder / "scene.xml");
  const Chosen chosen("InvertedPendulum-v5", {{"xml_file", (folder / "mine.xml").string()}});
  EXPECT_EQ(chosen.engine, "lanes") << chosen.why_not;
}

TEST_F(RobotsInLanes, AreNotUsedWithAnotherModel) {
  const TempFolder folder;
  for (const char* name : {"inverted_pendulum.xml", "scene.xml"})
    std::filesystem::copy_file(kModels + "/" + name, folder / name);
  setenv("DRL_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(physics_of("Carrier", "auto"), "lanes");
  std::string model = slurp(folder / "inverted_pendulum.xml");
  model.replace(model.find("size=\"0.049\""), 12, "size=\"0.050\"");
  spill(folder / "inverted_pendulum.xml", model);
  const Chosen chosen("Carrier", {});
  EXPECT_EQ(chosen.engine, "libmujoco");
  expect_mentions(chosen.why_not, {(folder / "inverted_pendulum.xml").string(), "model", "compiled"});
  model.replace(model.find("hinge"), 5, "hings");
  spill(folder / "inverted_pendulum.xml", model);
  expect_mentions(error_of("Carrier", "auto"),
                  {(folder / "inverted_pendulum.xml").string(), "joint", "'hinge'", "'hings'"});
}

}  // namespace
}  // namespace drl
