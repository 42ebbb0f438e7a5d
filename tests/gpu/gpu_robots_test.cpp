// Tests robots in lanes on a GPU queue. They use the same executor as other tasks, and are bit-identical to the host's
// lanes if the host's instruction set fuses multiplications and additions as GPUs do.
#include <deque>

#include "envs/task_params.hpp"
#include "envs_rig.hpp"

namespace drl {

const TaskLibrary& robots_in_lanes();

namespace {

using namespace test;

int32_t inspect(const RobotChoice*, RobotFacts* facts, char*, int64_t) {
  *facts = {.dt = 1, .file = "", .id = "", .iterations = 0, .in_double = 0};
  return 0;
}

// Returns the robots' tasks as a library of robots defines them, each with its compiled physics in lanes.
const std::vector<const TaskRecord*>& robots() {
  static std::deque<RobotRecord> lanes;
  static std::deque<TaskRecord> records;
  static const std::vector<const TaskRecord*> all = [] {
    std::vector<const TaskRecord*> tasks;
    const TaskLibrary& library = robots_in_lanes();
    for (int k = 0; k < library.count; ++k) {
      lanes.push_back({{"", 1}, library.tasks[k], nullptr, inspect, nullptr, nullptr});
      records.push_back(*library.tasks[k]);
      records.back().robot = &lanes.back();
      tasks.push_back(&records.back());
    }
    return tasks;
  }();
  return all;
}
std::vector<std::string> names_of_robots() {
  static const std::vector<std::string> names = [] {
    TaskLibrary library = robots_in_lanes();
    library.tasks = robots().data();
    register_tasks(library, "the robots");
    std::vector<std::string> all;
    for (const TaskRecord* record : robots()) all.emplace_back(record->name);
    return all;
  }();
  return names;
}

class GpuRobots : public GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(GpuRobots, StepOnTheLearnersDevice) {
  const auto host = make_host_queue(isa_of("auto")), gpu = make_gpu_queue();
  EXPECT_FALSE(make_env(GetParam(), {.num_envs = 3}, *host)->steps_on_host());
  EXPECT_FALSE(make_env(GetParam(), {.num_envs = 3}, *gpu)->steps_on_host());
}

TEST_P(GpuRobots, StepOnTheRanksCoresIfTheOptionsSaySo) {
  TaskParams params(task_record(GetParam()));
  OptionTable table;
  table.section("env", "Task", params);
  EXPECT_FALSE(is_robot_on_cores(params.setup()));
  table.set("env.device", "cpu");
  EXPECT_TRUE(is_robot_on_cores(params.setup()));
  const auto gpu = make_gpu_queue(isa_of("auto"));
  EXPECT_TRUE(make_env(GetParam(), {.num_envs = 3, .setup = params.setup()}, *gpu)->steps_on_host());
}

TEST_P(GpuRobots, EqualTheHostsLanes) {
  if (isa_of("auto") == available_isas().front()) GTEST_SKIP() << "this instruction set has no fused multiply-adds";
  expect_same_environments(GetParam(), 37, 3);
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuRobots, testing::ValuesIn(names_of_robots()),
                         [](const auto& info) { return without_hyphens(info.param); });

}  // namespace
}  // namespace drl
