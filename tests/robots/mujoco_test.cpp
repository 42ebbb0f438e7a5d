// Tests robots on libmujoco as environments: bit-identical results on threads and ranks, known physics, and errors.
#include "drl/physics/mujoco.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "../support/mentions.hpp"
#include "../support/stepped.hpp"
#include "../support/task_options.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "envs/task_libraries.hpp"
#include "test_robots.hpp"

namespace drl {

const TaskLibrary& test_robots();

namespace {

const std::string kOwnModels = std::string(DRL_TEST_DATA) + "/../src/robots/models";

class Robots : public testing::Test {
 protected:
  void SetUp() override { setenv("DRL_MODELS", kOwnModels.c_str(), 1); }
  static void SetUpTestSuite() {
    [[maybe_unused]] static const bool registered = (register_tasks(test_robots(), "a test"), true);
    load_task_library(DRL_ROBOTS_LIBRARY);
  }
};

std::string error_of(const std::string& task, const OptionValues& values = {}) {
  return error_from<UsageError>([&] { Stepped(task, {.num_envs = 1, .setup = setup_with(task, values)}, 1); });
}
// Expects a UsageError of one line that mentions `parts`.
void expect_error(const std::string& task, std::initializer_list<std::string_view> parts) {
  const std::string error = error_of(task);
  SCOPED_TRACE(task);
  expect_mentions(error, parts);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

// --- Bit-identical results ---

TEST_F(Robots, AreBitIdenticalOnThreadsInTilesAndOnRanks) {
  for (const std::string task : {"Sled", "HalfCheetah-v5", "Ant-v5"})
    expect_independent_trajectories(task, 16, setup_with(task, {{"physics", "mujoco"}}));
}

TEST_F(Robots, ResumeFromTheirState) { expect_resumes_from_state("Sled", {"env/state/physics", "env/state/pushes"}); }

// --- Known physics ---

// Sliding friction decelerates the box by friction times g, independently of its mass. create draws the friction of
// each environment. (While the box slides, MuJoCo's soft contacts let it hop slightly.)
TEST_F(Robots, HaveTheirOwnFriction) {
  Stepped s("Sled", {.num_envs = 40, .seed = 1, .setup = setup_with("Sled", {{"push", "0"}})}, 10);
  s.step_with(0, 0, 10);
  int moving = 0, resting = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const auto obs = [&](int64_t t, int k) { return s.r.obs[(t * 40 + i) * 5 + k]; };
    const float friction = obs(0, 2);
    EXPECT_GE(friction, 0.1f);
    EXPECT_LE(friction, 0.3f);
    EXPECT_EQ(obs(10, 2), friction);
    EXPECT_EQ(obs(10, 4), 10);
    if (std::abs(obs(9, 1)) < 1e-3f) {
      resting += 1;
      EXPECT_EQ(obs(10, 3), 1) << "a resting box touches the floor";
    }
    const float before = std::abs(obs(3, 1)), after = std::abs(obs(9, 1));  // 6 steps of 0.02 s
    if (after < 0.05f) continue;
    moving += 1;
    EXPECT_NEAR(before - after, friction * 9.81f * 0.12f, 0.06f * friction * 9.81f * 0.12f);
  }
  EXPECT_GE(moving, 3);
  EXPECT_GE(resting, 3);
}

// Each of eight spheres in a row touches one sphere of a second row, wherever the second row's centre of mass is.
TEST_F(Robots, FindTheSameContactsWithAShiftedCentreOfMass) {
  std::string row, model = "<mujoco><worldbody>";
  for (int k = 0; k < 8; ++k) row += "<geom size='0.06' pos='" + std::to_string(0.1 * k) + " 0 0'/>";
  for (const std::string height : {"0", "0.1"})
    model += "<body pos='0 0 " + height + "'><freejoint/><inertial pos='0 0 0.01' mass='1' diaginertia='1 1 1'/>" +
             row + "</body>";
  const TempFolder folder;
  std::ofstream(folder / "rows.xml") << model << "</worldbody></mujoco>";
  const auto rows = load_model(folder / "rows.xml");
  MujocoRobot robot(*rows, 1);
  for (const double shift : {0.0, 0.2, -0.5}) {
    robot.reset();
    robot.shift_center_of_mass(BodyId{2}, {{0, 0, shift}});
    robot.forward();
    EXPECT_NEAR(robot.center_of_mass(BodyId{2})[2], 0.11 + shift, 1e-12);
    for (int k = 0; k < 8; ++k) EXPECT_TRUE(robot.touches(GeomId{k}, GeomId{8 + k})) << k << ", by " << shift;
  }
}
// MuJoCo computes coinciding frames once, so a centre of mass that coincides with a geom cannot be shifted on its own.
TEST_F(Robots, RefuseToShiftACentreOfMassThatCoincidesWithAGeom) {
  const auto model = load_model(find_model("sled.xml", nullptr));
  MujocoRobot robot(*model, 1);
  EXPECT_THROW(robot.shift_center_of_mass(BodyId{1}, {{0, 0, 0.1}}), std::invalid_argument);
}

TEST_F(Robots, CallAFunctionAfterEachTimeStep) {
  const auto model = load_model(find_model("sled.xml", nullptr));
  MujocoRobot watched(*model, 10), robot(*model, 10);
  const double pull = 1;
  std::vector<double> times;
  watched.advance(&pull, [&] { times.push_back(watched.time()); });
  robot.advance(&pull);
  ASSERT_EQ(times.size(), 10u);
  for (size_t k = 0; k < 10; ++k) EXPECT_NEAR(times[k], 0.002 * static_cast<double>(k + 1), 1e-12);
  EXPECT_EQ(watched.qpos(0), robot.qpos(0));
}

// One step of frame skip 5 and five steps of frame skip 1 give bit-identical observations. The rewarded speeds agree on
// average, because each is computed over its own step length.
TEST_F(Robots, AcceptAnotherFrameSkip) {
  const auto played = [](const std::string& frame_skip, int64_t steps) {
    const auto params = setup_with("HalfCheetah-v5", {{"frame_skip", frame_skip}, {"physics", "mujoco"}});
    Stepped s("HalfCheetah-v5", {.num_envs = 1, .seed = 3, .setup = params}, steps);
    EXPECT_DOUBLE_EQ(s.envs->spec().dt, 0.01 * std::stod(frame_skip));
    EXPECT_EQ(s.envs->spec().step_limit, 1000);
    s.step_with(0.4f, 0, steps);
    std::vector<float> end(s.r.obs + steps * 17, s.r.obs + (steps + 1) * 17);
    double speed = 0;
    for (int64_t t = 0; t < steps; ++t) speed += static_cast<double>(s.r.reward[t]) / static_cast<double>(steps);
    return std::pair(end, speed);
  };
  const auto [five, speed] = played("5", 1);
  const auto [one, mean_speed] = played("1", 5);
  EXPECT_EQ(one, five);
  EXPECT_NEAR(mean_speed, speed, 1e-5);
}

// Sled's dt is fixed at 0.02 s, so a model with a time step of 0.004 s needs a frame skip of 5.
TEST_F(Robots, AcceptAnotherModel) {
  const TempFolder folder;
  std::string model = slurp(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml");
  spill(folder / "same.xml", model);
  model.replace(model.find("0.002"), 5, "0.004");
  spill(folder / "slow.xml", model);
  const auto options = [&](const char* file, const char* frame_skip) {
    return OptionValues{{"xml_file", folder / file}, {"frame_skip", frame_skip}};
  };
  const auto files = [&](const OptionValues& values) {
    return Stepped("Sled", {.num_envs = 1, .setup = setup_with("Sled", values)}, 1).envs->files();
  };
  EXPECT_TRUE(files(options("same.xml", "10")).starts_with("same.xml ("));
  EXPECT_TRUE(files(options("slow.xml", "5")).starts_with("slow.xml ("));
  expect_mentions(error_of("Sled", options("slow.xml", "10")),
                  {(folder / "slow.xml").string(), "time step", "0.004000 s", "frame skip of 10", "0.020000 s"});
  expect_mentions(error_of("Sled", options("none.xml", "10")), {"model", (folder / "none.xml").string(), "path"});
}

TEST_F(Robots, ReportCriticObservationsAndCausesOfEnds) {
  Stepped s("Sled", {.num_envs = 4, .seed = 2}, 31);
  s.step(0, 31);
  const EpisodeSums sums = s.episodes();
  EXPECT_EQ(sums.count, 4);
  ASSERT_EQ(s.envs->spec().ends, (std::vector<std::string>{"far", "time_out"}));
  EXPECT_EQ(sums.ends[0] + sums.ends[1], 4);
  EXPECT_EQ(sums.ends[1] * 30, sums.length) << "no sled gets far in 30 steps";
  EXPECT_FLOAT_EQ(s.r.critic_obs[(29 * 4 + 1) * 2], 29);         // pushes in its lifetime
  EXPECT_FLOAT_EQ(s.r.critic_obs[(29 * 4 + 1) * 2 + 1], 0.58f);  // s
  EXPECT_FLOAT_EQ(s.r.critic_obs[(31 * 4 + 1) * 2], 31);
  EXPECT_FLOAT_EQ(s.r.critic_obs[(31 * 4 + 1) * 2 + 1], 0.02f);
}

// The curriculum moves the start by one metre per iteration.
TEST_F(Robots, FollowACurriculum) {
  Stepped s("Sled", {.num_envs = 4}, 1);
  std::vector<float> now;
  s.envs->iteration_ended(*s.queue, 0, 24, s.episodes(), now);
  EXPECT_EQ(now, std::vector<float>{1});
  s.envs->reset(*s.queue, s.rollout.start_row(), {});
  EXPECT_EQ(s.r.obs[0], 1);
}

// --- Errors ---

TEST_F(Robots, AreLostCountedAndResetWhenTheyDiverge) {
  Stepped s("Exploding", {.num_envs = 8, .threads = 2}, 5);
  for (int64_t t = 0; t < 5; ++t) {
    std::fill_n(s.r.env_action, 8, 0.5f);
    if (t == 2) s.r.env_action[3] = 1, s.r.env_action[6] = -1;
    s.step_with_given_actions(t);
  }
  for (int64_t i = 0; i < 8; ++i) {
    const bool is_lost = i == 3 || i == 6;
    EXPECT_EQ(s.r.terminated[2 * 8 + i], is_lost ? kLost : 0) << i;
    EXPECT_EQ(s.r.reward[2 * 8 + i], is_lost ? 0 : 1);
    EXPECT_FLOAT_EQ(s.r.obs[3 * 8 + i], is_lost ? 0 : 0.06f);
    EXPECT_FLOAT_EQ(s.r.obs[5 * 8 + i], is_lost ? 0.04f : 0.1f);
  }
  const EpisodeSums sums = s.episodes();
  EXPECT_EQ(sums.lost, 2);
  EXPECT_EQ(sums.count, 0);
  EXPECT_FALSE(std::filesystem::exists("MUJOCO_LOG.TXT"));
}

TEST_F(Robots, WithUnusableModelsAreUsageErrors) {
  expect_error("Missing", {"nowhere.xml", std::string(DRL_TEST_DATA) + "/robots/models", "DRL_MODELS"});
  expect_error("NotFetched", {"parts/sled.stl", "/robots/models/sled.xml", "run tools/fetch_sleds"});
  expect_error("BadSyntax", {"bad_syntax.xml", "'typ'", "line 4"});
  expect_error("NoActuator", {"no_actuator.xml", "NoActuator", "no actuator"});
  expect_error("TwoActuators", {"two_actuators.xml", "2 actuators", "TwoActuators", "size 1", "examples/own_robot"});
  expect_error("NotFinite", {"not_finite.xml", "diverges"});
  expect_error("WrongStep", {"sled.xml", "0.002000 s", "frame skip of 3", "0.020000 s"});
  expect_error("ObservesTooMuch", {"ObservesTooMuch", "6 numbers", "sled.xml", "obs_dim is 1", "examples/own_robot"});
  expect_error("ObservesTooLittle", {"ObservesTooLittle", "2 numbers", "gaps"});
  expect_error("Forgetful", {"Forgetful", "State", "describe"});
  expect_error("WrongPart", {"sled.xml", "joint", "'alon'", "'along'"});
}

TEST_F(Robots, MoveForwardInTime) {
  const TempFolder folder;
  std::string sled = slurp(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml");
  sled.insert(sled.find("</mujoco>"), "<option timestep='0'/>");
  spill(folder / "nowhere.xml", sled);
  setenv("DRL_MODELS", (kOwnModels + ":" + folder.path().string()).c_str(), 1);
  expect_error("Missing", {"nowhere.xml", "time step", "0.000000 s", "timestep"});
}

TEST_F(Robots, ModelsAreSearchedInDrlModels) {
  const std::string folder = testing::TempDir() + "drl_models_test";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml", folder + "/nowhere.xml",
                             std::filesystem::copy_options::overwrite_existing);
  setenv("DRL_MODELS", (kOwnModels + ":" + folder).c_str(), 1);
  EXPECT_EQ(error_of("Missing"), "no error");
  setenv("DRL_MODELS", ("/does/not/exist:" + folder).c_str(), 1);
  expect_error("Missing", {"DRL_MODELS", "/does/not/exist"});
  std::filesystem::remove_all(folder);
}

TEST_F(Robots, TheHashOfAModelWithAssetsDoesNotDependOnItsDirectory) {
  const TempFolder folder;
  const auto id_in = [&](const std::string& directory, const std::string& height) {
    std::filesystem::create_directories(folder / directory);
    const std::string file = folder / (directory + "/tip.xml");
    spill(folder / (directory + "/tip.obj"),
          "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 " + height + "\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
    spill(file,
          "<mujoco><asset><mesh name='m' file='tip.obj'/></asset><worldbody><body><freejoint/><geom type='mesh' "
          "mesh='m'/></body></worldbody></mujoco>");
    return model_id(*load_model(file), file);
  };
  EXPECT_EQ(id_in("here", "1"), id_in("elsewhere", "1"));
  EXPECT_NE(id_in("here", "1"), id_in("there", "2"));  // MuJoCo keeps meshes by path and second
}

// The directory of a task's header comes first, unless another directory has the model that was compiled. A directory
// of DRL_MODELS decides.
TEST_F(Robots, ModelsAreTakenByTheHashOfTheCompiledOne) {
  const std::string own = std::string(DRL_TEST_DATA) + "/robots/models/sled.xml";
  const TempFolder folder;
  std::string other = slurp(own);
  other.replace(other.find("mass=\"2\""), 8, "mass=\"3\"");
  spill(folder / "sled.xml", other);
  const std::string header = (folder / "sled.hpp").string(), id = model_id(*load_model(own), own);
  unsetenv("DRL_MODELS");
  EXPECT_EQ(find_model("sled.xml", {.header = header.c_str()}), folder / "sled.xml");
  const std::string found = find_model("sled.xml", {.header = header.c_str(), .id = id.c_str()});
  EXPECT_TRUE(std::filesystem::equivalent(found, own)) << found;
  setenv("DRL_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(find_model("sled.xml", {.id = id.c_str()}), folder / "sled.xml");
}

// files() lets ranks compare their models. It depends on the compiled model, including the files that it includes, but
// not on directories or comments.
TEST_F(Robots, ReportTheModelThatTheyRead) {
  const auto files = [] {
    const EnvSetup setup = setup_with("HalfCheetah-v5", {{"physics", "mujoco"}});
    return Stepped("HalfCheetah-v5", {.num_envs = 1, .setup = setup}, 1).envs->files();
  };
  const std::string own = files();
  EXPECT_TRUE(own.starts_with("half_cheetah.xml (")) << own;
  const TempFolder folder;
  for (const char* name : {"half_cheetah.xml", "scene.xml"})
    std::filesystem::copy_file(kOwnModels + "/" + name, folder / name);
  setenv("DRL_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(files(), own) << "another directory";
  std::ofstream(folder / "half_cheetah.xml", std::ios::app) << "<!-- the same -->";
  EXPECT_EQ(files(), own) << "another comment";
  std::string scene = slurp(folder / "scene.xml");
  scene.replace(scene.find("0.35"), 4, "0.36");
  spill(folder / "scene.xml", scene);
  EXPECT_NE(files(), own) << "another included file";
}

// Without a handler, libmujoco would end the process.
TEST_F(Robots, TurnErrorsOfMujocoIntoExceptions) {
  mju_user_error = nullptr;
  load_model(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml");
  EXPECT_THROW(mju_error("nothing works"), std::runtime_error);
}

}  // namespace
}  // namespace drl
