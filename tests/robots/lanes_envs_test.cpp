// Tests environments of robots in lanes: the contract of tasks, resuming from a state, and the choice of the physics
// engine.
#include <cstdlib>
#include <filesystem>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "envs/check_task.hpp"
#include "envs/task_libraries.hpp"
#include "envs/task_params.hpp"
#include "stepped.hpp"

namespace drl {
namespace {

const std::string kModels = std::string(DRL_TEST_DATA) + "/../src/robots/models";

class RobotsInLanes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("DRL_MODELS", kModels.c_str(), 1);
    load_task_library(DRL_TEST_LIBRARY);
    load_task_library(DRL_ROBOTS_LIBRARY);
  }
};

// Returns the physics engine that is chosen for --env.physics `requested`.
std::string physics_of(const std::string& task, const std::string& requested, std::string* why_not = nullptr) {
  TaskParams params(task_record(task));
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.physics", requested);
  params.choose_physics();
  if (why_not) *why_not = params.why_not_in_lanes();
  EXPECT_EQ(table.find("env.physics").value(), params.physics() == "lanes" ? "lanes" : "mujoco");
  return params.physics();
}
std::string error_of(const std::string& task, const std::string& requested) {
  try {
    physics_of(task, requested);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(RobotsInLanes, KeepTheContractOfTasks) {
  for (const std::string task : {"Carrier", "InvertedDoublePendulum-v5", "Ant-v5"}) {
    ASSERT_EQ(physics_of(task, "auto"), "lanes");
    const TaskFindings found = check_task(task, TaskParams(task_record(task)).bytes(), {.steps = 120, .seconds = 0});
    EXPECT_EQ(found.faults, std::vector<std::string>()) << task;
    EXPECT_EQ(found.from_double.size(), 3u);
    EXPECT_GE(found.identical.size(), 3u);
  }
}

TEST_F(RobotsInLanes, AreBitIdenticalOnThreadsInTilesAndOnRanks) {
  const auto one = trajectories("Carrier", 1, 1, 48);
  EXPECT_NE(one[0], one[1]);
  EXPECT_EQ(trajectories("Carrier", 1, 3, 48), one) << "on three threads";
  EXPECT_EQ(trajectories("Carrier", 1, 2, 16), one) << "in tiles";
  EXPECT_EQ(trajectories("Carrier", 2, 1, 24), one) << "on two ranks";
}

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

TEST_F(RobotsInLanes, AreLostCountedAndResetWhenTheyDiverge) {
  Stepped s("Carrier", {.num_envs = 20, .seed = 2}, 3);
  for (int64_t t = 0; t < 3; ++t) {
    std::fill_n(s.r.env_action, 20, 0.0f);
    if (t == 1) s.r.env_action[3] = s.r.env_action[18] = 1;  // one in a full pack, one in the remainder
    s.step_with_given_actions(t);
  }
  for (int64_t i = 0; i < 20; ++i) {
    const bool is_lost = i == 3 || i == 18;
    EXPECT_EQ(s.r.terminated[20 + i], is_lost) << i;
    EXPECT_NEAR(s.r.obs[(3 * 20 + i) * 7 + 6], is_lost ? 0.04 : 0.12, 0.0101) << i;
  }
  EXPECT_EQ(s.episodes().lost, 2);
}

TEST_F(RobotsInLanes, AreChosenIfTheTaskCanBeComputedInLanes) {
  EXPECT_EQ(physics_of("Carrier", "lanes"), "lanes");
  EXPECT_EQ(physics_of("Carrier", "mujoco"), "libmujoco");
  EXPECT_EQ(TaskParams(task_record("Cartpole")).physics(), "");
  std::string why;
  EXPECT_EQ(physics_of("Toucher", "auto", &why), "libmujoco");
  expect_mentions(why, {"lanes", "geoms"});
  expect_mentions(error_of("Toucher", "lanes"), {"--env.physics", "Toucher", "geoms", "mujoco", "auto"});
  EXPECT_EQ(physics_of("Pusher-v5", "auto", &why), "libmujoco");
  expect_mentions(why, {"compile"});
  EXPECT_EQ(Stepped("Carrier", {.num_envs = 2}, 1).envs->files(), Stepped("Toucher", {.num_envs = 2}, 1).envs->files());
}

TEST_F(RobotsInLanes, AreNotUsedWithAnotherFrameSkip) {
  TaskParams params(task_record("HalfCheetah-v5"));
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.frame_skip", "4");
  params.choose_physics();
  EXPECT_EQ(params.physics(), "libmujoco");
  expect_mentions(params.why_not_in_lanes(), {"frame skip", "4", "5"});
}

TEST_F(RobotsInLanes, AreUsedWithACopyOfTheModelUnderAnotherName) {
  const TempFolder folder;
  std::filesystem::copy_file(kModels + "/inverted_pendulum.xml", folder / "mine.xml");
  std::filesystem::copy_file(kModels + "/scene.xml", folder / "scene.xml");
  TaskParams params(task_record("InvertedPendulum-v5"));
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.xml_file", (folder / "mine.xml").string());
  params.choose_physics();
  EXPECT_EQ(params.physics(), "lanes") << params.why_not_in_lanes();
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
  std::string why;
  EXPECT_EQ(physics_of("Carrier", "auto", &why), "libmujoco");
  expect_mentions(why, {(folder / "inverted_pendulum.xml").string(), "model", "compiled"});
  model.replace(model.find("hinge"), 5, "hings");
  spill(folder / "inverted_pendulum.xml", model);
  expect_mentions(error_of("Carrier", "auto"),
                  {(folder / "inverted_pendulum.xml").string(), "joint", "'hinge'", "'hings'"});
  setenv("DRL_MODELS", kModels.c_str(), 1);
}

}  // namespace
}  // namespace drl
