// Environments on a GPU's queue do what they do on the host's, to the bit: on the device functions are compiled without
// fused multiplications and use the same polynomials.
#include "envs/check_task.hpp"
#include "envs/task_params.hpp"
#include "envs_rig.hpp"
#include "own_task_table.hpp"

namespace drl {
namespace {

using namespace test;

class GpuEnvs : public GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(GpuEnvs, DoWhatThoseOfTheHostDo) {
  const int64_t n = 300;
  EXPECT_GT(expect_same_environments(GetParam(), n, 14), n / 2);
}

// The whole check of a task, on a GPU too; but of that which gives what is not finite.
TEST_P(GpuEnvs, KeepTheContract) {
  if (GetParam() == "Breaking") GTEST_SKIP() << "is not finite";
  CheckPlan plan{.num_envs = 35, .steps = 100, .seconds = 0};
  plan.gpu_queue = [] { return make_gpu_queue(); };
  const TaskFindings found = check_task(GetParam(), TaskParams(task_record(GetParam())).bytes(), plan);
  EXPECT_EQ(found.faults, std::vector<std::string>{});
  EXPECT_EQ(found.same.back(), "on the GPU and on the host");
  ASSERT_EQ(found.from_double.size(), 3u);
  for (const Difference& each : found.from_double)
    EXPECT_LT(each.largest, kLargeDifference) << each.what << ": " << each.where;
}

// Ours, and those of the tests; asked for by each TEST_P.
std::vector<std::string> all_names() {
  static const std::vector<std::string> names = [] {
    register_tasks(test_tasks(), "the tests");
    return task_names();
  }();
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuEnvs, testing::ValuesIn(all_names()),
                         [](const auto& info) { return without_hyphens(info.param); });

}  // namespace
}  // namespace drl
