// Tests of libraries made by drl_add_task_library, and of broken ones.
#include "envs/task_libraries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/task_options.hpp"
#include "base/check.hpp"
#include "envs/check_task.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Returns the path of a library of this build.
std::string library(const std::string& name) { return built("tests/envs/libraries/" + name + ".so"); }

// Expects an error that mentions the file and `why`, and no new tasks.
void expect_refused(const std::string& file, std::initializer_list<std::string_view> why) {
  SCOPED_TRACE(file);
  const std::vector<std::string> before = task_names();
  const std::string error = error_from<UsageError>([&] { load_task_library(file); });
  expect_mentions(error, {file});
  expect_mentions(error, why);
  EXPECT_EQ(task_names(), before);
}

TaskFindings check(const char* task, int steps) {
  return check_task(task, TaskParams(task_record(task)).setup(), {.steps = steps, .seconds = 0});
}

// A library for the smallest instruction set only, and one for the largest too.
TEST(CompiledIsa, IsTheNextSmallerOneThatTheLibraryHas) {
  const TaskLoop loop = [](const LoopCall*, char*, int64_t) -> int32_t { return 0; };
  TaskLoops loops[kIsaCount] = {{loop, loop, loop, nullptr}};
  TaskRecord record{};
  record.host = loops;
  const Isa least = Isa{}, best = static_cast<Isa>(kIsaCount - 1);
  EXPECT_EQ(compiled_isa(record, least), least);
  EXPECT_EQ(compiled_isa(record, best), least);
  loops[kIsaCount - 1] = loops[0];
  EXPECT_EQ(compiled_isa(record, best), best);
  if (kIsaCount > 2) {
    EXPECT_EQ(compiled_isa(record, static_cast<Isa>(1)), least);
  }
}
TEST(CompiledIsa, IsRequired) {
  if (kIsaCount == 1) GTEST_SKIP() << "needs a machine with several instruction sets";
  TaskLoops loops[kIsaCount] = {};
  loops[kIsaCount - 1] = task_record("CartPole-v1").host[kIsaCount - 1];
  TaskRecord record = task_record("CartPole-v1");
  record.host = loops;
  expect_mentions(error_from<UsageError>([&] {
                    TaskEnvs(record, {2, 0, 1, false}, *make_host_queue(Isa{}));
                  }),
                  {"CartPole-v1", name_of(Isa{}), "-DDRL_ISAS=all", "--env.physics mujoco"});
}

TEST(TaskLibraries, NeedCodeForOneInstructionSetOnly) {
  load_task_library(library("libbroken_smaller_loops"));
  EXPECT_EQ(std::ranges::count(task_names(), "LastOnly"), 1);
}

TEST(TaskLibraries, FilesOfOtherKindsAreRefused) {
  expect_refused("/nowhere/libtasks.so", {"No such file"});
  expect_refused("/tmp", {"not a file"});
  const std::string text = testing::TempDir() + "libtext.so";
  std::ofstream(text) << "not a library";
  expect_refused(text, {"cannot be loaded"});
  fs::remove(text);
  expect_refused(library("libbroken_symbol"), {"drl_task_library"});
}

TEST(TaskLibraries, IncompatibleOrFaultyOnesAreRefused) {
  expect_refused(library("libbroken_magic"), {"table"});
  expect_refused(library("libbroken_version"), {"99", std::to_string(kTaskAbi)});
  expect_refused(library("libbroken_sizes"), {"structs"});
  expect_refused(library("libbroken_flags"), {"options"});
  expect_refused(library("libbroken_empty"), {"DRL_TASK"});
  expect_refused(library("libbroken_loops"), {"no loops"});
  expect_refused(library("libbroken_state"), {"State::describe is wrong"});
  expect_refused(library("libtest_mirrors"), {"BrokenMirror", "mirrored_obs is no involution", "number 1"});
}

TEST(MirrorTable, AddsBlocksAndGroupsOfNumbers) {
  constexpr auto sides = reversed_numbers<2>();
  constexpr auto table = MirrorTable<8>().add("+-").add(sides).add(sides, "+-");
  const std::vector<std::pair<int, float>> expected = {{0, 1}, {1, -1}, {3, 1}, {2, 1},
                                                       {6, 1}, {7, -1}, {4, 1}, {5, -1}};
  for (size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(table.numbers[k].source, expected[k].first) << k;
    EXPECT_EQ(table.numbers[k].sign, expected[k].second) << k;
  }
  EXPECT_EQ(table.trouble(8), "");
  EXPECT_NE(table.trouble(7), "");
  EXPECT_NE(MirrorTable<8>().add("+").trouble(8), "") << "seven numbers are missing";
  auto one_way = table;
  one_way.numbers[2].sign = -1;
  EXPECT_NE(one_way.trouble(8), "") << "mirrored twice, numbers 2 and 3 change their signs";
}

#if defined(__x86_64__)
// The start-up code of -ffast-math sets flush-to-zero for the whole thread. The error reports this, and the mode
// is restored.
TEST(TaskLibraries, ThoseThatChangeTheFloatingPointModeAreRefused) {
  expect_refused(library("libbroken_fast_math"), {"-ffast-math"});
  volatile float smallest = 1.17549435e-38f;
  EXPECT_GT(smallest / 2, 0.0f);
}
#endif

TEST(TaskLibraries, RegisterTheirTasks) {
  const size_t before = task_names().size();
  load_task_library(library("libtest_library"));
  EXPECT_EQ(task_names().size(), before + 2);
  EXPECT_EQ(task_names().back(), "Spring");
  EXPECT_EQ(fs::path(task_origin("DoubleIntegrator")).filename(), "libtest_library.so");
  EXPECT_EQ(task_origin("Cartpole"), "");
  ASSERT_EQ(task_libraries().size(), 1u);
  EXPECT_EQ(task_libraries()[0].tasks, (std::vector<std::string>{"DoubleIntegrator", "Spring"}));
  const std::string build = task_library_build("Spring");
  EXPECT_TRUE(build.starts_with("libtest_library.so (")) << build;
  EXPECT_EQ(task_library_builds(), build);
  EXPECT_EQ(task_library_build("Cartpole"), "");
}

TEST(TaskLibraries, AreLoadedOnlyOnce) {
  load_task_library(library("libtest_library"));
  EXPECT_EQ(task_libraries().size(), 1u);
  setenv("DRL_TASK_LIBRARIES", (":" + library("libtest_library") + ":").c_str(), 1);
  load_task_libraries({library("libtest_library")});
  EXPECT_EQ(task_libraries().size(), 1u);
  setenv("DRL_TASK_LIBRARIES", "/nowhere/libtasks.so", 1);
  EXPECT_THROW(load_task_libraries({}), UsageError);
  unsetenv("DRL_TASK_LIBRARIES");
}

TEST(TaskLibraries, WithTheSameTaskNameAreRefused) {
  load_task_library(library("libtest_library"));
  expect_refused(library("libtest_same_name"), {"two tasks", "DoubleIntegrator"});
}

// The library's tasks fulfil the contract on all instruction sets.
TEST(TaskLibraries, TheirTasksFulfilTheContract) {
  load_task_library(library("libtest_library"));
  for (const char* task : {"DoubleIntegrator", "Spring"}) {
    const TaskFindings found = check(task, 200);
    EXPECT_EQ(found.faults, std::vector<std::string>{}) << task;
    EXPECT_GT(found.episodes, 0) << task;
    ASSERT_EQ(found.from_double.size(), 3u) << task;
    for (const Difference& each : found.from_double) EXPECT_LT(each.largest, kLargeDifference) << task << each.what;
    EXPECT_EQ(found.hints.size(), 0u) << found.hints[0];
  }
}

// Options also apply in double: a spring twice as stiff gives the same results in float and double.
TEST(TaskLibraries, TheirOptionsApplyInDouble) {
  load_task_library(library("libtest_library"));
  const EnvSetup stiff = setup_with("Spring", {{"stiffness", "4000"}});
  for (const Difference& each : check_task("Spring", stiff, {.steps = 50, .seconds = 0}).from_double)
    EXPECT_LT(each.largest, 1e-4) << each.what << " " << each.where;
}

TEST(TaskLibraries, OptionsMayHaveNamedValues) {
  load_task_library(library("libtest_library"));
  const TaskRecord& record = task_record("Spring");
  TaskOptions options(record);
  OptionTable& table = options.table;
  const auto wind = [&] {
    for (int k = 0; k < record.param_count; ++k)
      if (record.params[k].name == std::string("wind")) {
        int32_t value = -1;
        std::memcpy(&value, options.params.setup().params.data() + record.params[k].offset, sizeof(value));
        return value;
      }
    return -2;
  };
  EXPECT_EQ(wind(), 1);
  table.set("env.wind", "none");
  EXPECT_EQ(wind(), 0);
  EXPECT_THROW(table.set("env.wind", "storm"), UsageError);
  EXPECT_NE(table.to_ini().find("wind = none"), std::string::npos) << table.to_ini();
}

// A reward with cancellation is a multiple of 1/16, so that its rounding error is at most 1/32.
TEST(TaskLibraries, TheCheckShowsRoundingErrors) {
  load_task_library(library("libtest_faulty"));
  const TaskFindings found = check("Cancels", 200);
  EXPECT_EQ(found.faults, std::vector<std::string>{});
  ASSERT_EQ(found.from_double.size(), 3u);
  EXPECT_LT(found.from_double[0].largest, 1e-6);
  EXPECT_LT(found.from_double[1].largest, 1e-6);
  EXPECT_GT(found.from_double[2].largest, 0.02);
  EXPECT_LE(found.from_double[2].largest, 1. / 32);
  expect_mentions(found.from_double[2].where, {"reward", "environment", "step"});
  EXPECT_GT(found.from_double[2].beyond, 0.8);
  ASSERT_EQ(found.hints.size(), 1u);
  expect_mentions(found.hints[0], {"float", "double", "reward", "0.03"});
}

// The faulty tasks: lanes that depend on their neighbours, NaN, and terms that do not add up to the reward.
TEST(TaskLibraries, TheCheckFindsViolationsOfTheContract) {
  load_task_library(library("libtest_faulty"));
  const std::vector<std::string> lanes = check("LanesMeet", 200).faults, nan = check("GivesNan", 200).faults,
                                 terms = check("WrongTerms", 200).faults;
  EXPECT_TRUE(std::ranges::any_of(lanes, [](const auto& f) { return f.starts_with("trajectories"); }));
  ASSERT_FALSE(nan.empty());
  expect_mentions(nan[0], {"not finite"});
  ASSERT_EQ(terms.size(), 1u);
  expect_mentions(terms[0], {"reward", "terms"});
}

// A built-in task under another name gives bit-identical results from a library.
TEST(TaskLibraries, TheirTasksAreBitIdenticalToBuiltInTasks) {
  load_task_library(library("libtest_programs"));
  const auto hash = check("Pendulum-v1", 250).hash;
  EXPECT_EQ(check("Pendulum-outside", 250).hash, hash);
  EXPECT_NE(check("Acrobot-v1", 250).hash, hash);
}

}  // namespace
}  // namespace drl
