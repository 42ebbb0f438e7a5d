#include "placement/mpirun.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "comm/mpi_library.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

using Words = std::vector<std::string>;

// Returns the word after `option`, or "".
std::string value_of(const Words& command, const std::string& option) {
  const auto at = std::find(command.begin(), command.end(), option);
  return at == command.end() || at + 1 == command.end() ? "" : at[1];
}

TEST(MpirunCommand, BeginsWithTheRanksAndEndsWithTheProgram) {
  const Words program = {"/opt/drl_train", "--task", "a b"}, command = mpirun_command(3, 8, program);
  EXPECT_EQ((Words{command.begin(), command.begin() + 3}), (Words{command.front(), "-n", "3"}));
  EXPECT_EQ((Words{command.end() - 3, command.end()}), program);
}

// The command is the mpirun of the MPI library that this program is linked to, not the first mpirun on PATH.
TEST(MpirunCommand, UsesTheMpirunOfTheBuild) { EXPECT_EQ(mpirun_command(2, 2, {"p"}).front(), mpiexec()); }

TEST(MpirunCommand, PinsRanksIfTheyUseAllCores) {
  if (value_of(mpirun_command(2, 2, {"p"}), "--bind-to").empty()) GTEST_SKIP() << "this MPI is not Open MPI";
  EXPECT_EQ(value_of(mpirun_command(2, 2, {"p"}), "--bind-to"), "core");
  EXPECT_EQ(value_of(mpirun_command(3, 2, {"p"}), "--bind-to"), "none");
  EXPECT_EQ(value_of(mpirun_command(2, 8, {"p"}), "--bind-to"), "none");
}

TEST(LauncherFailure, NamesWhatToLookAt) {
  LauncherPlace place{
      .mpi = "Open MPI", .folder = "/scratch/tmp", .free_bytes = 1e9, .settings = {"OMPI_MCA_btl=tcpp"}};
  const std::string unknown = launcher_failure(place, 1);
  expect_mentions(unknown,
                  {"Open MPI", "exit code 1", "/scratch/tmp", "TMPDIR", "HOME", "network", "OMPI_MCA_btl=tcpp"});
  expect_mentions(launcher_failure(place, 139), {"signal 11"});
  place.has_network = false;
  expect_mentions(launcher_failure(place, 1), {"no network interface"});
  place.free_bytes = 65536;  // this would fail first
  const std::string full = launcher_failure(place, 137);
  expect_mentions(full, {"Open MPI", "64.0 KiB", "/scratch/tmp", "TMPDIR"});
  for (const std::string& text : {unknown, full}) EXPECT_EQ(text.find("--load_run"), std::string::npos) << text;
}

// The texts are those of Debian's two libraries and of a Cray's.
TEST(ShortMpiVersion, IsNameAndVersion) {
  EXPECT_EQ(short_mpi_version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(short_mpi_version("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"),
            "MPICH 4.0.2");
  EXPECT_EQ(short_mpi_version("MPI VERSION    : CRAY MPICH version 8.1.28 (ANL base 3.4a2)\nMPI BUILD INFO : Wed\n"),
            "CRAY MPICH version 8.1.28 (ANL base 3.4a2)");
}

// The texts are /proc/cpuinfo of x86 and of Arm.
TEST(CpuModel, IsANameOnX86AndNumbersOnArm) {
  EXPECT_EQ(cpu_model_of("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n", "x86_64"), "AMD EPYC 9654");
  EXPECT_EQ(cpu_model_of("processor\t: 0\nFeatures\t: fp\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "aarch64"),
            "aarch64 (implementer 0x41, part 0xd4f)");
  EXPECT_EQ(cpu_model_of("", "ppc64le"), "ppc64le");
}

}  // namespace
}  // namespace drl
