// Libraries that drl_add_task_library has made, and broken ones.
#include "envs/task_libraries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.hpp"
#include "envs/check_task.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Of this build.
std::string library(const std::string& name) { return std::string(DRL_TEST_LIBRARIES) + "/" + name + ".so"; }

std::string error_of(const std::string& file) {
  try {
    load_task_library(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& file, const std::string& why) {
  const std::vector<std::string> before = task_names();
  const std::string error = error_of(file);
  EXPECT_NE(error.find(why), std::string::npos) << file << " gave: " << error;
  EXPECT_NE(error.find(file), std::string::npos) << "it should name the file: " << error;
  EXPECT_EQ(task_names(), before);
}

TEST(TaskLibraries, RefuseWhatIsNoLibraryOfTasks) {
  expect_refused("/nowhere/libtasks.so", "is not there (No such file or directory)");
  expect_refused("/tmp", "is not there (it is no file)");
  const std::string text = testing::TempDir() + "libtext.so";
  std::ofstream(text) << "no library";
  expect_refused(text, "cannot be loaded");
  fs::remove(text);
  expect_refused(library("libbroken_symbol"), "is none (it has no symbol drl_task_library)");
}

TEST(TaskLibraries, RefuseWhatDoesNotFit) {
  expect_refused(library("libbroken_magic"), "its table is none of drl's");
  expect_refused(library("libbroken_version"),
                 "it follows version 99 of the contract, this drl " + std::to_string(kTaskAbi));
  expect_refused(library("libbroken_sizes"), "its structs have other sizes");
  expect_refused(library("libbroken_flags"), "it was compiled with other options for floats");
  expect_refused(library("libbroken_empty"), "it has no task");
  expect_refused(library("libbroken_loops"), "it has no loops");
  expect_refused(library("libbroken_state"), "its State::describe does not name every member once");
}

#if defined(__x86_64__)
// The start-up code of -ffast-math sets flush-to-zero for the whole thread: it is told, and undone.
TEST(TaskLibraries, RefuseOneThatChangesHowEverybodyComputes) {
  expect_refused(library("libbroken_fast_math"), "changes how everybody computes with floats");
  volatile float smallest = 1.17549435e-38f;
  EXPECT_GT(smallest / 2, 0.0f);
}
#endif

TEST(TaskLibraries, GiveTheirTasks) {
  const size_t before = task_names().size();
  load_task_library(library("libtest_library"));
  EXPECT_EQ(task_names().size(), before + 2);
  EXPECT_EQ(task_names().back(), "Spring");
  EXPECT_EQ(fs::path(task_origin("DoubleIntegrator")).filename(), "libtest_library.so");
  EXPECT_EQ(task_origin("Cartpole"), "");
  ASSERT_EQ(task_libraries().size(), 1u);
  EXPECT_EQ(task_libraries()[0].tasks, (std::vector<std::string>{"DoubleIntegrator", "Spring"}));
  const std::string build = task_library_build("Spring");
  EXPECT_EQ(build.find("libtest_library.so (build "), 0u) << build;
  EXPECT_EQ(task_library_builds(), build);
  EXPECT_EQ(task_library_build("Cartpole"), "");
}

TEST(TaskLibraries, AreLoadedOnceEach) {
  load_task_library(library("libtest_library"));
  EXPECT_EQ(task_libraries().size(), 1u);
  setenv("DRL_TASK_LIBRARIES", (":" + library("libtest_library") + ":").c_str(), 1);
  load_task_libraries({library("libtest_library")});
  EXPECT_EQ(task_libraries().size(), 1u);
  setenv("DRL_TASK_LIBRARIES", "/nowhere/libtasks.so", 1);
  EXPECT_THROW(load_task_libraries({}), UsageError);
  unsetenv("DRL_TASK_LIBRARIES");
}

TEST(TaskLibraries, WithOneTasksNameAreRefused) {
  load_task_library(library("libtest_library"));
  expect_refused(library("libtest_same_name"), "two tasks are called DoubleIntegrator");
}

// The library's tasks keep the contract, on all instruction sets.
TEST(TaskLibraries, TheirTasksKeepTheContract) {
  load_task_library(library("libtest_library"));
  for (const char* task : {"DoubleIntegrator", "Spring"}) {
    const TaskFindings found = check_task(task, TaskParams(task_record(task)).bytes(), {.steps = 200, .seconds = 0});
    EXPECT_EQ(found.faults, std::vector<std::string>{}) << task;
    EXPECT_GT(found.episodes, 0) << task;
    ASSERT_EQ(found.from_double.size(), 3u) << task;
    for (const Difference& each : found.from_double) EXPECT_LT(each.largest, kLargeDifference) << task << each.what;
    EXPECT_EQ(found.hints.size(), 0u) << found.hints[0];
  }
}

// The options are the task's in double too: a spring twice as stiff gives the same in both.
TEST(TaskLibraries, TheirOptionsHoldInDouble) {
  load_task_library(library("libtest_library"));
  TaskParams params(task_record("Spring"));
  OptionTable table;
  table.section("env", "Task", params);
  table.set("env.stiffness", "4000");
  for (const Difference& each : check_task("Spring", params.bytes(), {.steps = 50, .seconds = 0}).from_double)
    EXPECT_LT(each.largest, 1e-4) << each.what << " " << each.where;
}

// A reward that cancels, of multiples of 1/16, is rounded by 1/32 at most.
TEST(TaskLibraries, TheCheckShowsWhatFloatsLose) {
  load_task_library(library("libtest_faulty"));
  const TaskFindings found =
      check_task("Cancels", TaskParams(task_record("Cancels")).bytes(), {.steps = 200, .seconds = 0});
  EXPECT_EQ(found.faults, std::vector<std::string>{});
  ASSERT_EQ(found.from_double.size(), 3u);
  EXPECT_LT(found.from_double[0].largest, 1e-6);
  EXPECT_LT(found.from_double[1].largest, 1e-6);
  EXPECT_GT(found.from_double[2].largest, 0.02);
  EXPECT_LE(found.from_double[2].largest, 1. / 32);
  EXPECT_EQ(found.from_double[2].where.find("reward of environment "), 0u);
  EXPECT_GT(found.from_double[2].beyond, 0.8);
  ASSERT_EQ(found.hints.size(), 1u);
  EXPECT_EQ(found.hints[0].find("float and double give another reward by as much as 0.03"), 0u) << found.hints[0];
}

// One whose lanes meet in a loop, so that a lane's numbers depend on its neighbours'; and one that gives NaN.
TEST(TaskLibraries, TheCheckFindsWhatBreaksTheContract) {
  load_task_library(library("libtest_faulty"));
  const auto faults = [](const char* task) {
    return check_task(task, TaskParams(task_record(task)).bytes(), {.steps = 200, .seconds = 0}).faults;
  };
  const std::vector<std::string> lanes = faults("LanesMeet"), nan = faults("GivesNan"), terms = faults("WrongTerms");
  EXPECT_TRUE(std::ranges::any_of(lanes, [](const auto& f) { return f.starts_with("trajectories"); }));
  ASSERT_FALSE(nan.empty());
  EXPECT_NE(nan[0].find("not finite"), std::string::npos) << nan[0];
  ASSERT_EQ(terms.size(), 1u);
  EXPECT_EQ(terms[0].find("the terms of the reward sum up to"), 0u) << terms[0];
}

// A task of drl's own, by another name, gives the same bits from a library.
TEST(TaskLibraries, TheirTasksGiveTheBitsOfThoseCompiledIn) {
  load_task_library(library("libtest_programs"));
  const auto hash = [](const char* task) {
    return check_task(task, TaskParams(task_record(task)).bytes(), {.steps = 250, .seconds = 0}).hash;
  };
  EXPECT_EQ(hash("Pendulum-outside"), hash("Pendulum-v1"));
  EXPECT_NE(hash("Pendulum-v1"), hash("Acrobot-v1"));
}

}  // namespace
}  // namespace drl
