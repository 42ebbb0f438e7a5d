// Environments on a GPU queue are bit-identical to those on a host queue: GPU code is compiled without fused
// multiply-adds and uses the same polynomials.
#include "../support/mentions.hpp"
#include "envs/check_task.hpp"
#include "envs/task_params.hpp"
#include "envs_rig.hpp"
#include "own_task_table.hpp"

namespace drl {
namespace {

using namespace test;

class GpuEnvs : public GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(GpuEnvs, EqualTheHostsEnvironments) {
  const int64_t n = 300;
  EXPECT_GT(expect_same_environments(GetParam(), n, 14), n / 2);
}

// Runs all checks of check_task, including those on a GPU.
TEST_P(GpuEnvs, PassTheChecksOfTasks) {
  if (GetParam() == "Breaking") GTEST_SKIP() << "this task has values that are not finite";
  CheckPlan plan{.num_envs = 35, .steps = 100, .seconds = 0};
  plan.gpu_queue = [] { return make_gpu_queue(); };
  const TaskFindings found = check_task(GetParam(), TaskParams(task_record(GetParam())).setup(), plan);
  EXPECT_EQ(found.faults, std::vector<std::string>{});
  expect_mentions(found.identical.back(), {"GPU", "host"});
  ASSERT_EQ(found.from_double.size(), 3u);
  for (const Difference& each : found.from_double)
    EXPECT_LT(each.largest, kLargeDifference) << each.what << ": " << each.where;
}

// Actions, observations and errors of sensors are the same on a GPU, whose graph of a step contains their kernels.
TEST(GpuDelays, EqualTheHosts) {
  for (const std::string task : {"CartPole-v1", "Pendulum-v1"}) {
    TaskParams params(task_record(task));
    OptionTable table;
    table.section("env", "Task", params);
    table.set("env.delay.action", "0,3"), table.set("env.delay.observation", "1,2");
    table.set("env.delay.action_hold", "0.2"), table.set("env.delay.observation_hold", "0.2");
    table.set("env.sensor_error", "theta_dot=-0.1,0.1");
    CheckPlan plan{.num_envs = 35, .steps = 250, .seconds = 0};
    plan.gpu_queue = [] { return make_gpu_queue(); };
    const TaskFindings found = check_task(task, params.setup(), plan);
    EXPECT_EQ(found.faults, std::vector<std::string>{}) << task;
    expect_mentions(found.identical.back(), {"GPU", "host"});
  }
}

#if defined(DRL_GPU_RUNTIME)
// The driver reserves a stack for each thread that the GPU can run at once: on 132 multiprocessors with 2048 threads
// each, Go1's 39,120 bytes are 10.6 GB. The emulated GPU has 1.1 GB.
TEST(GpuStacks, ThatDoNotFitIntoTheMemoryAreAnErrorThatTellsBothSizes) {
  gpu::host_attributes().localSizeBytes = 39120;
  const auto queue = make_gpu_queue();
  std::string message;
  try {
    make_env("MountainCar-v0", {.num_envs = 4}, *queue);
  } catch (const Error& error) {
    message = error.what();
  }
  gpu::host_attributes().localSizeBytes = 0;
  expect_mentions(message, {"MountainCar-v0", "no GPU memory", "10.6 GB", "1.1 GB"});
}
#endif

// Returns the names of the built-in tasks and of the tests' own.
std::vector<std::string> all_names() {
  static const std::vector<std::string> names = [] {
    register_test_tasks();
    return task_names();
  }();
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuEnvs, testing::ValuesIn(all_names()),
                         [](const auto& info) { return without_hyphens(info.param); });

}  // namespace
}  // namespace drl
