// Robots behind libmujoco as environments: same numbers whatever steps them, and what happens when something is wrong.
#include "drl/mujoco.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"
#include "stepped.hpp"
#include "test_robots.hpp"

namespace drl {

const TaskLibrary& test_robots();

namespace {

const std::string kOwnModels = std::string(DRL_TEST_DATA) + "/../src/robots/models";

class Robots : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("DRL_MODELS", kOwnModels.c_str(), 1);
    static const bool registered = (register_tasks(test_robots(), "a test"), true);
    EXPECT_TRUE(registered);
  }
};

std::string error_of(const std::string& task) {
  try {
    Stepped(task, {.num_envs = 1}, 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}
void expect_error(const std::string& task, const std::string& text) {
  const std::string error = error_of(task);
  EXPECT_NE(error.find(text), std::string::npos) << task << " gave: " << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

// --- The same numbers whatever steps them ---

TEST_F(Robots, GiveTheSameBitsOnThreadsInBatchesAndOnRanks) {
  for (const std::string task : {"Sled", "HalfCheetah-v5", "Ant-v5"}) {
    const auto one = trajectories(task, 1, 1, 48);
    EXPECT_NE(one[0], one[1]);
    EXPECT_EQ(trajectories(task, 1, 3, 48), one) << task << " on three threads";
    EXPECT_EQ(trajectories(task, 1, 2, 16), one) << task << " in tiles";
    EXPECT_EQ(trajectories(task, 2, 1, 24), one) << task << " on two ranks";
  }
}

// What the state holds is all that counts, in the middle of an episode too.
TEST_F(Robots, GoOnFromTheirState) { expect_going_on("Sled", {"env/state/physics", "env/state/pushes"}); }

// --- Physics that is known ---

// Sliding friction slows the box by friction times g, whatever it weighs; create has drawn it for each environment.
// (While it slides, MuJoCo's soft contacts let it hop by a hair.)
TEST_F(Robots, HaveNumbersOfTheirOwn) {
  const TaskRecord& record = task_record("Sled");
  TaskParams params(record);
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.push", "0");
  Stepped s("Sled", {.num_envs = 40, .seed = 1, .params = params.bytes()}, 10);
  for (int64_t t = 0; t < 10; ++t) {
    std::fill_n(s.r.env_action, 40, 0.0f);
    s.step_as_told(t);
  }
  int moving = 0, resting = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const auto seen = [&](int64_t t, int k) { return s.r.obs[(t * 40 + i) * 5 + k]; };
    const float friction = seen(0, 2);
    EXPECT_GE(friction, 0.1f);
    EXPECT_LE(friction, 0.3f);
    EXPECT_EQ(seen(10, 2), friction);
    EXPECT_EQ(seen(10, 4), 10);
    if (std::abs(seen(9, 1)) < 1e-3f) {
      resting += 1;
      EXPECT_EQ(seen(10, 3), 1) << "it lies on the floor";
    }
    const float before = std::abs(seen(3, 1)), after = std::abs(seen(9, 1));  // 6 steps of 0.02 s
    if (after < 0.05f) continue;
    moving += 1;
    EXPECT_NEAR(before - after, friction * 9.81f * 0.12f, 0.06f * friction * 9.81f * 0.12f);
  }
  EXPECT_GE(moving, 3);
  EXPECT_GE(resting, 3);
}

// Two rows of eight spheres, each of which touches one of the other row, wherever the mass of a row is.
TEST_F(Robots, TouchWhereTheyDidWithAnotherCentreOfMass) {
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
// A body whose mass is where MuJoCo takes it to be, or a geom with it, would not move its mass alone.
TEST_F(Robots, ShiftNoCentreOfMassThatIsAPlaceOfOthers) {
  const auto model = load_model(find_model("sled.xml", nullptr));
  MujocoRobot robot(*model, 1);
  EXPECT_THROW(robot.shift_center_of_mass(BodyId{1}, {{0, 0, 0.1}}), std::invalid_argument);
}

TEST_F(Robots, CanBeWatchedAfterEachTimeStep) {
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

std::vector<std::byte> with_options(const std::string& task,
                                    const std::vector<std::pair<std::string, std::string>>& all) {
  TaskParams params(task_record(task));
  OptionTable table;
  table.section("env", "Task", params);
  for (const auto& [name, value] : all) table.set("env." + name, value);
  return params.bytes();
}

// The same actions for as many time steps lead to the same bits; the speed that is rewarded is that of five times as
// short a step.
TEST_F(Robots, TakeAnotherFrameSkip) {
  const auto played = [](const std::string& frame_skip, int64_t steps) {
    const auto params = with_options("HalfCheetah-v5", {{"frame_skip", frame_skip}, {"physics", "mujoco"}});
    Stepped s("HalfCheetah-v5", {.num_envs = 1, .seed = 3, .params = params}, steps);
    EXPECT_DOUBLE_EQ(s.envs->spec().dt, 0.01 * std::stod(frame_skip));
    EXPECT_EQ(s.envs->spec().step_limit, 1000);
    for (int64_t t = 0; t < steps; ++t) {
      std::fill_n(s.r.env_action, 6, 0.4f);
      s.step_as_told(t);
    }
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

// A time step of 4 ms is five of it to Sled's dt, which is part of its physics.
TEST_F(Robots, TakeAnotherModel) {
  const TempFolder folder;
  std::string model = slurp(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml");
  spill(folder / "same.xml", model);
  model.replace(model.find("0.002"), 5, "0.004");
  spill(folder / "slow.xml", model);
  const auto error = [&](const char* file, const char* frame_skip) -> std::string {
    try {
      const auto params = with_options("Sled", {{"xml_file", folder / file}, {"frame_skip", frame_skip}});
      return Stepped("Sled", {.num_envs = 1, .params = params}, 1).envs->files();
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(error("same.xml", "10").starts_with("same.xml ("));
  EXPECT_TRUE(error("slow.xml", "5").starts_with("slow.xml ("));
  EXPECT_EQ(error("slow.xml", "10"), (folder / "slow.xml").string() +
                                         " has a time step of 0.004000 s, of which 10 are not the task's dt of "
                                         "0.020000 s: make them agree");
  EXPECT_EQ(error("none.xml", "10"),
            "the robot's model " + (folder / "none.xml").string() + " is not there: correct its path");
}

TEST_F(Robots, TellTheCriticAndCountWhyTheyEnd) {
  Stepped s("Sled", {.num_envs = 4, .seed = 2}, 31);
  s.step(0, 31);
  const EpisodeSums sums = s.episodes();
  EXPECT_EQ(sums.count, 4);
  ASSERT_EQ(s.envs->spec().ends, (std::vector<std::string>{"far", "time_out"}));
  EXPECT_EQ(sums.ends[0] + sums.ends[1], 4);
  EXPECT_EQ(sums.ends[1] * 30, sums.length) << "nobody came far in 30 steps";
  EXPECT_FLOAT_EQ(s.r.critic_obs[(29 * 4 + 1) * 2], 29);         // pushes of its lifetime
  EXPECT_FLOAT_EQ(s.r.critic_obs[(29 * 4 + 1) * 2 + 1], 0.58f);  // s
  EXPECT_FLOAT_EQ(s.r.critic_obs[(31 * 4 + 1) * 2], 31);
  EXPECT_FLOAT_EQ(s.r.critic_obs[(31 * 4 + 1) * 2 + 1], 0.02f);
}

// A curriculum moves the start by a metre an iteration.
TEST_F(Robots, FollowACurriculum) {
  Stepped s("Sled", {.num_envs = 4}, 1);
  std::vector<float> now;
  s.envs->iteration_ended(*s.queue, 0, s.episodes(), now);
  EXPECT_EQ(now, std::vector<float>{1});
  s.envs->reset(*s.queue, s.rollout.start_row(), {});
  EXPECT_EQ(s.r.obs[0], 1);
}

// --- What goes wrong ---

TEST_F(Robots, ThatDivergeAreLostCountedAndBegunAnew) {
  Stepped s("Exploding", {.num_envs = 8, .threads = 2}, 5);
  for (int64_t t = 0; t < 5; ++t) {
    std::fill_n(s.r.env_action, 8, 0.5f);
    if (t == 2) s.r.env_action[3] = 1, s.r.env_action[6] = -1;
    s.step_as_told(t);
  }
  for (int64_t i = 0; i < 8; ++i) {
    const bool is_lost = i == 3 || i == 6;
    EXPECT_EQ(s.r.terminated[2 * 8 + i], is_lost) << i;
    EXPECT_EQ(s.r.reward[2 * 8 + i], is_lost ? 0 : 1);
    EXPECT_FLOAT_EQ(s.r.obs[3 * 8 + i], is_lost ? 0 : 0.06f);
    EXPECT_FLOAT_EQ(s.r.obs[5 * 8 + i], is_lost ? 0.04f : 0.1f);
  }
  const EpisodeSums sums = s.episodes();
  EXPECT_EQ(sums.lost, 2);
  EXPECT_EQ(sums.count, 0);
  EXPECT_FALSE(std::filesystem::exists("MUJOCO_LOG.TXT"));
}

TEST_F(Robots, ModelsThatCannotBeUsedAreErrorsOfTheUser) {
  expect_error("Missing", "the robot's model nowhere.xml is not there (not in ");
  expect_error("Missing", std::string(DRL_TEST_DATA) + "/robots/models): name its folder in DRL_MODELS");
  expect_error("NotFetched", "the robot's parts parts/sled.stl are not there (not beside ");
  expect_error("NotFetched", "/robots/models/sled.xml): run tools/fetch_sleds");
  expect_error("BadSyntax", "bad_syntax.xml (XML Error: Schema violation: unrecognized attribute: 'typ'");
  expect_error("BadSyntax", "line 4");
  expect_error("NoActuator", "no_actuator.xml has no actuator");
  expect_error("TwoActuators", "two_actuators.xml has 2 actuators, and the task TwoActuators gives 1 numbers");
  expect_error("NotFinite", "not_finite.xml gives numbers that are not finite at its start");
  expect_error("WrongStep", "sled.xml has a time step of 0.002000 s, of which 3 are not the task's dt of 0.020000 s");
  expect_error("SeesTooMuch", "task SeesTooMuch observes 6 numbers of ");
  expect_error("SeesTooMuch", "sled.xml, and its obs_dim is 1: make them agree");
  expect_error("SeesTooLittle", "task SeesTooLittle observes 2 numbers, with gaps, of ");
  expect_error("Forgetful", "its State::describe must name every member once");
  expect_error("WrongPart", "sled.xml has no joint 'alon': did you mean 'along'?");
}

TEST_F(Robots, ModelsAreLookedForWhereDrlModelsSays) {
  const std::string folder = testing::TempDir() + "drl_models_test";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml", folder + "/nowhere.xml",
                             std::filesystem::copy_options::overwrite_existing);
  setenv("DRL_MODELS", (kOwnModels + ":" + folder).c_str(), 1);
  EXPECT_EQ(error_of("Missing"), "no error");
  setenv("DRL_MODELS", ("/does/not/exist:" + folder).c_str(), 1);
  expect_error("Missing", "DRL_MODELS names /does/not/exist, which is no folder: correct it");
  setenv("DRL_MODELS", kOwnModels.c_str(), 1);
  std::filesystem::remove_all(folder);
}

// By which ranks see that they simulate the same: by what the file says, and those that it includes.
TEST_F(Robots, TellWhichModelTheyHaveRead) {
  const auto files = [] { return Stepped("HalfCheetah-v5", {.num_envs = 1}, 1).envs->files(); };
  const std::string own = files();
  EXPECT_TRUE(own.starts_with("half_cheetah.xml (")) << own;
  const TempFolder folder;
  for (const char* name : {"half_cheetah.xml", "scene.xml"})
    std::filesystem::copy_file(kOwnModels + "/" + name, folder / name);
  setenv("DRL_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(files(), own) << "another folder";
  std::ofstream(folder / "half_cheetah.xml", std::ios::app) << "<!-- the same -->";
  EXPECT_EQ(files(), own) << "other words";
  std::string scene = slurp(folder / "scene.xml");
  scene.replace(scene.find("0.35"), 4, "0.36");
  spill(folder / "scene.xml", scene);
  EXPECT_NE(files(), own) << "another included file";
  setenv("DRL_MODELS", kOwnModels.c_str(), 1);
}

// libmujoco would end the process.
TEST_F(Robots, ErrorsOfMujocoAreExceptions) {
  mju_user_error = nullptr;
  load_model(std::string(DRL_TEST_DATA) + "/robots/models/sled.xml");
  EXPECT_THROW(mju_error("nothing works"), std::runtime_error);
}

}  // namespace
}  // namespace drl
