#include "cluster/mpirun.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/check.hpp"
#include "cluster/device.hpp"

namespace drl {
namespace {

using Words = std::vector<std::string>;

// The word behind `option`.
std::string value_of(const Words& command, const std::string& option) {
  const auto at = std::find(command.begin(), command.end(), option);
  return at == command.end() || at + 1 == command.end() ? "" : at[1];
}

TEST(MpirunCommand, BeginsWithTheRanksAndEndsWithTheProgram) {
  const Words program = {"/opt/drl_train", "--task", "a b"}, command = mpirun_command(3, 8, program);
  EXPECT_EQ((Words{command.begin(), command.begin() + 3}), (Words{"mpirun", "-n", "3"}));
  EXPECT_EQ((Words{command.end() - 3, command.end()}), program);
}

// Options of Open MPI, which this build's mpirun may not be.
TEST(MpirunCommand, PinsRanksIfTheyTakeAllCores) {
  if (value_of(mpirun_command(2, 2, {"p"}), "--bind-to").empty()) GTEST_SKIP() << "this MPI is not Open MPI";
  EXPECT_EQ(value_of(mpirun_command(2, 2, {"p"}), "--bind-to"), "core");
  EXPECT_EQ(value_of(mpirun_command(3, 2, {"p"}), "--bind-to"), "none");
  EXPECT_EQ(value_of(mpirun_command(2, 8, {"p"}), "--bind-to"), "none");
}

TEST(ChooseDevice, CpuOnly) {
  EXPECT_EQ(choose_device("auto"), "cpu");
  EXPECT_EQ(choose_device("cpu"), "cpu");
  EXPECT_THROW(choose_device("cuda:0"), UsageError);
  EXPECT_THROW(choose_device("tpu"), UsageError);
}

}  // namespace
}  // namespace drl
