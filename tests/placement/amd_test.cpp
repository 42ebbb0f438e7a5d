// Tests the choice of GPUs in builds for AMD's GPUs.
#include <gtest/gtest.h>

#include "../support/environment.hpp"
#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "gpu/remedies.hpp"
#include "placement/device.hpp"
#include "placement/gpu_vendors.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

using Names = std::vector<std::string>;

Gpus gpus_of(const Variables& variables, const std::filesystem::path& root = "/nowhere") {
  return visible_gpus(environment_of(variables), root, kAmd);
}

// Makes a machine with one PCI device of this vendor and class.
void plant_pci(const TempFolder& root, const std::string& vendor, const std::string& kind) {
  const std::filesystem::path device = root.path() / "sys/bus/pci/devices/0000:c1:00.0";
  std::filesystem::create_directories(device);
  spill(device / "vendor", vendor);
  spill(device / "class", kind);
}

DeviceChoice choose(const std::string& device, const Gpus& gpus, const CudaSupport& found) {
  return choose_device(device, "", gpus, found, kAmd);
}
std::string refused(const std::string& device, const Gpus& gpus, const CudaSupport& found) {
  return error_from<UsageError>([&] { choose(device, gpus, found); });
}

const CudaSupport kNoGpu{true, 0, "no ROCm-capable device is detected"}, kTwoGpus{true, 2, ""};

TEST(AmdGpus, AreThoseThatTheBuildUses) {
  TempFolder root;
  plant_pci(root, "0x1002", "0x038000");  // MI250X
  EXPECT_TRUE(gpus_of({}, root.path()).physical);
  EXPECT_EQ(gpus_of({}, root.path()).vendor, "");
  EXPECT_EQ(other_gpu_vendor(root.path(), kAmd), "");
}

TEST(AmdGpus, AreNotNvidias) {
  TempFolder root;
  plant_pci(root, "0x10de", "0x030200");
  const Variables job = {{"SLURM_JOB_ID", "1"}, {"SLURM_GPUS_ON_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}};
  const Gpus gpus = gpus_of(job, root.path());
  EXPECT_FALSE(gpus.physical);
  EXPECT_EQ(gpus.vendor, "NVIDIA");
  EXPECT_TRUE(gpus.vendor_granted);
  expect_mentions(refused("auto", gpus, kNoGpu), {"idle", "NVIDIA GPUs", "AMD GPUs and CPUs only", "--device cpu"});
  expect_mentions(refused("cuda", gpus, kNoGpu), {"--device cuda ", "NVIDIA GPUs", "AMD GPUs", "--device cpu"});
}

// ROCR_VISIBLE_DEVICES hides GPUs from HIP, and HIP_VISIBLE_DEVICES numbers those that are left
// (rocm.docs.amd.com, "GPU isolation techniques").
TEST(AmdGpus, AreListedByTheirOwnVariables) {
  Variables job = {{"SLURM_JOB_ID", "1"}, {"SLURM_STEP_GPUS", "4,5"}, {"ROCR_VISIBLE_DEVICES", "0,1"}};
  Gpus gpus = gpus_of(job);
  EXPECT_EQ(gpus.visible, (Names{"0", "1"}));
  EXPECT_EQ(gpus.ids, (Names{"4", "5"})) << "Slurm hides the other devices";
  EXPECT_STREQ(gpus.list, "ROCR_VISIBLE_DEVICES");
  job["HIP_VISIBLE_DEVICES"] = "1";
  gpus = gpus_of(job);
  EXPECT_EQ(gpus.visible, Names{"1"});
  EXPECT_EQ(gpus.ids, Names{"5"});
  EXPECT_STREQ(gpus.list, "HIP_VISIBLE_DEVICES");
  EXPECT_STREQ(gpus_of({}).list, "ROCR_VISIBLE_DEVICES") << "the list that Slurm sets";
}

// A DGX A100 whose GPUs are said to be MI250X, with their class.
TEST(AmdGpus, HaveCoresNearThem) {
  TempFolder root;
  const std::string nvidia = test_data("placement/data/dgx_a100.xml");
  std::string text = slurp(nvidia);
  for (size_t at = 0; (at = text.find("0302 [10de:", at)) != std::string::npos;) text.replace(at, 11, "0380 [1002:");
  spill(root / "amd.xml", text);
  const Topology machine = Topology::of_file(root.path() / "amd.xml");
  const std::vector<Topology::Gpu> gpus = machine.gpus(kAmd), same = Topology::of_file(nvidia).gpus(kNvidia);
  EXPECT_TRUE(machine.gpus(kNvidia).empty());
  ASSERT_EQ(gpus.size(), 8u);
  for (size_t k = 0; k < gpus.size(); ++k) {
    EXPECT_EQ(gpus[k].pci, same[k].pci);
    EXPECT_EQ(gpus[k].near, same[k].near);
  }
}

TEST(AmdGpus, HaveCudasNameOrTheirOwn) {
  for (const char* device : {"auto", "cuda", "hip"})
    EXPECT_EQ(choose(device, {}, kTwoGpus).gpus.indices, (std::vector<int>{0, 1})) << device;
  for (const char* device : {"cuda:1", "hip:1"})
    EXPECT_EQ(choose(device, {}, kTwoGpus).gpus.indices, std::vector<int>{1}) << device;
  EXPECT_EQ(kind_of_device("hip:1"), kind_of_device("cuda:0")) << "ranks may use both names";
  expect_mentions(refused("hip", {}, kNoGpu), {"--device hip ", kNoGpu.trouble, "rocm-smi", "--device cpu"});
  expect_mentions(refused("hip:x", {}, kTwoGpus), {"--device hip:x ", "number", "--device cuda:0"});
}

TEST(AmdGpus, NeedABuildForThem) {
  for (const CudaSupport& found : {CudaSupport{}, kTwoGpus})
    expect_mentions(error_from<UsageError>([&] { choose_device("hip", "", {}, found, kNvidia); }),
                    {"--device hip ", "AMD", "-DDRL_WITH_HIP=ON", "--device cpu"});
}

TEST(AmdGpus, HaveRemediesOfTheirOwn) {
  const auto remedy = [](const std::string& reason) { return gpu_remedy(reason, kAmd); };
  expect_mentions(remedy("hipErrorNoBinaryForGpu: no kernel image"), {"-DDRL_HIP_ARCHITECTURES", "rocminfo"});
  expect_mentions(remedy("hipErrorNoDevice: none"), {"ROCR_VISIBLE_DEVICES", "rocm-smi"});
  expect_mentions(remedy("hipErrorOutOfMemory: out of memory"), {"rocm-smi --showpids"});
  expect_mentions(remedy("hipErrorLaunchFailure: unspecified"), {"dmesg | grep -i amdgpu"});
  for (const char* reason : {"hipErrorNoBinaryForGpu", "hipErrorNoDevice", "hipErrorUnknown", "hipErrorLaunchFailure"})
    EXPECT_EQ(remedy(reason).find("nvidia"), std::string::npos) << reason;
}

}  // namespace
}  // namespace drl
