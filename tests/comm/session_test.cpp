#include "comm/session.hpp"

#include <gtest/gtest.h>

#include "../support/environment.hpp"

namespace drl {
namespace {

// Returns the variables that change: "NAME=value" if set, "NAME" if unset.
std::vector<std::string> changes(const Variables& variables, bool mpich) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : host_data_only(environment_of(variables), mpich))
    texts.push_back(name + (value ? "=" + std::string(value) : ""));
  return texts;
}

using Texts = std::vector<std::string>;

// The settings of Open MPI 4 and 5, one of which each version reads.
const Texts kOpenMpi = {"OMPI_MCA_opal_cuda_support=0", "OMPI_MCA_accelerator=null"};

Texts joined(Texts a, const Texts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// If MPICH_GPU_SUPPORT_ENABLED is 1, as it is by default at some sites, Cray MPICH ends programs that are not linked to
// its GTL library. See https://eth-cscs.github.io/cscs-docs/software/communication/cray-mpich.
TEST(HostDataOnly, GpuSupportIsSwitchedOff) {
  for (const auto& [mpich, rest] : {std::pair{false, kOpenMpi}, {true, Texts{}}}) {
    for (const char* value : {"1", ""})
      EXPECT_EQ(changes({{"MPICH_GPU_SUPPORT_ENABLED", value}}, mpich), joined({"MPICH_GPU_SUPPORT_ENABLED=0"}, rest));
    EXPECT_EQ(changes({{"MPICH_GPU_SUPPORT_ENABLED", "0"}}, mpich), rest);
  }
}

TEST(HostDataOnly, UnsetVariablesMayHaveOtherDefaultsInMpich) {
  EXPECT_EQ(changes({}, true), Texts{"MPICH_GPU_SUPPORT_ENABLED=0"});
  EXPECT_EQ(changes({}, false), kOpenMpi);
}

TEST(HostDataOnly, NetworkPortsAreNotChosenByGpu) {
  EXPECT_EQ(changes({{"MPICH_GPU_SUPPORT_ENABLED", "0"}, {"MPICH_OFI_NIC_POLICY", "GPU"}}, true),
            Texts{"MPICH_OFI_NIC_POLICY"});
  EXPECT_EQ(changes({{"MPICH_GPU_SUPPORT_ENABLED", "0"}, {"MPICH_OFI_NIC_POLICY", "NUMA"}}, true), Texts{});
}

}  // namespace
}  // namespace drl
