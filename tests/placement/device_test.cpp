#include "placement/device.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "../support/environment.hpp"
#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "gpu/remedies.hpp"
#include "placement/gpu_vendors.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Gpus gpus_of(const Variables& variables, const fs::path& root = "/nowhere") {
  return visible_gpus(environment_of(variables), root);
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  spill(file, text);
}

// The variables are those that Slurm 22.05 set for tasks on a node with 4 GPUs (tests/slurm/cluster).
TEST(VisibleGpus, AreThoseThatSlurmAndCudaList) {
  const Names none, all = {"0", "1", "2", "3"};
  const Names uuids = {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0",
                       "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"};
  const struct {
    const char* what;
    std::string list, of_step, on_node;  // CUDA_VISIBLE_DEVICES, SLURM_STEP_GPUS, SLURM_GPUS_ON_NODE
    Names visible, ids;
    bool is_granted;
  } cases[] = {{"srun --gpus-per-node=4", "0,1,2,3", "0,1,2,3", "4", all, all, true},
               {"srun -n4 --gpus-per-task=1, task 2", "2", "2", "4", {"2"}, {"2"}, true},
               {"the same with ConstrainDevices: CUDA counts from 0", "0", "2", "4", {"0"}, {"2"}, true},
               {"Slurm hides the lower half", "0,1,2,3", "4,5,6,7", "", all, {"4", "5", "6", "7"}, true},
               {"srun -n4 --gpus-per-task=1 --gpu-bind=none", "", "", "4", all, all, true},
               {"UUIDs and MIG names", uuids[0] + "," + uuids[1] + ", " + uuids[2], "", "", uuids, uuids, false},
               // CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES
               {"the list ends at the first entry that is not a device", "1,-1,0", "", "", {"1"}, {"1"}, false},
               {"no device", "NoDevFiles", "", "4", none, none, false},
               {"outside Slurm", "", "", "", none, none, false}};
  for (const auto& [what, list, of_step, on_node, visible, ids, is_granted] : cases) {
    Variables variables = {
        {"CUDA_VISIBLE_DEVICES", list}, {"SLURM_STEP_GPUS", of_step}, {"SLURM_GPUS_ON_NODE", on_node}};
    std::erase_if(variables, [](const auto& variable) { return variable.second.empty(); });
    const Gpus gpus = gpus_of(variables);
    EXPECT_EQ(gpus.visible, visible) << what;
    EXPECT_EQ(gpus.ids, ids) << what;
    EXPECT_EQ(gpus.granted, is_granted) << what;
    EXPECT_FALSE(gpus.physical || gpus.in_job) << what;
    EXPECT_TRUE(gpus_of(variables + Variables{{"SLURM_JOB_ID", "1"}}).in_job) << what;
  }
}

TEST(VisibleGpus, AreAtMostAsManyAsANodeCanHave) {
  EXPECT_EQ(gpus_of({{"SLURM_GPUS_ON_NODE", "4096"}}).visible.size(), 4096u);
  expect_mentions(error_from<UsageError>([] {
                    gpus_of({{"SLURM_GPUS_ON_NODE", "2147483647"}});
                  }),
                  {"SLURM_GPUS_ON_NODE = 2147483647", "unset SLURM_GPUS_ON_NODE"});
}

// A container that got only GPU 3 has no /dev/nvidia0.
TEST(VisibleGpus, ArePhysicalIfTheDriverShowsOne) {
  EXPECT_FALSE(gpus_of({}, TempFolder().path()).physical);
  for (const char* file : {"dev/nvidia0", "dev/nvidiactl", "proc/driver/nvidia/gpus/0000:3b:00.0/information"}) {
    TempFolder root;
    write(root.path() / file, "");
    EXPECT_TRUE(gpus_of({}, root.path()).physical) << file;
  }
  TempFolder root;
  fs::create_directories(root.path() / "proc/driver/nvidia/gpus");
  EXPECT_FALSE(gpus_of({}, root.path()).physical) << "the driver without a GPU";
}

TEST(VisibleGpus, ArePhysicalIfPciListsAnNvidiaGpu) {
  TempFolder root;
  const fs::path devices = root.path() / "sys/bus/pci/devices";
  write(devices / "0000:00:02.0/vendor", "0x8086\n"), write(devices / "0000:00:02.0/class", "0x030000\n");
  write(devices / "0000:01:00.1/vendor", "0x10de\n"), write(devices / "0000:01:00.1/class", "0x040300\n");
  EXPECT_FALSE(gpus_of({}, root.path()).physical) << "an Intel display controller and an NVIDIA sound device";
  write(devices / "0000:07:00.0/vendor", "0x10de\n"), write(devices / "0000:07:00.0/class", "0x030200\n");
  EXPECT_TRUE(gpus_of({}, root.path()).physical);
}

// --- AMD GPUs, as on Frontier and LUMI ---

const Variables kGrantsEight = {{"SLURM_JOB_ID", "1"}, {"SLURM_GPUS_ON_NODE", "8"}};

void plant_kfd(const TempFolder& root) {
  write(root.path() / "dev/kfd", "");
  write(root.path() / "dev/dri/renderD128", "");
}
void plant_pci(const TempFolder& root, const std::string& vendor, const std::string& kind,
               const std::string& driver = "", const std::string& address = "0000:c1:00.0") {
  const fs::path device = root.path() / "sys/bus/pci/devices" / address;
  write(device / "vendor", vendor + "\n"), write(device / "class", kind + "\n");
  if (!driver.empty()) fs::create_symlink("../../../../bus/pci/drivers/" + driver, device / "driver");
}

TEST(VisibleGpus, AreAmdIfTheDriverHasAGpu) {
  TempFolder root;
  EXPECT_FALSE(gpus_of(kGrantsEight, root.path()).vendor_granted);
  write(root.path() / "dev/kfd", "");
  EXPECT_FALSE(gpus_of(kGrantsEight, root.path()).vendor_granted) << "the driver without a GPU";
  plant_kfd(root);
  EXPECT_TRUE(gpus_of(kGrantsEight, root.path()).vendor_granted);
  EXPECT_FALSE(gpus_of(kGrantsEight, root.path()).physical) << "physical means NVIDIA";
}

TEST(VisibleGpus, AreAmdIfPciListsAnAmdGpu) {
  for (const auto& [vendor, kind, driver, amd] :
       {std::tuple{"0x1002", "0x030000", "amdgpu", true},  // a graphics card
        {"0x1002", "0x030000", "radeon", false},           // ES1000, a server's management controller
        {"0x1002", "0x030000", "", false},
        {"0x1002", "0x038000", "", true},                // MI250X
        {"0x1002", "0x120000", "", true},                // MI300A
        {"0x1002", "0x040300", "snd_hda_intel", false},  // sound
        {"0x1022", "0x060000", "", false},               // the processor's bridges
        {"0x8086", "0x030000", "i915", false}}) {
    TempFolder root;
    plant_pci(root, vendor, kind, driver);
    EXPECT_EQ(gpus_of(kGrantsEight, root.path()).vendor_granted, amd) << vendor << " " << kind;
  }
}

// gres.conf(5): AutoDetect=rsmi sets ROCR_VISIBLE_DEVICES alone.
TEST(VisibleGpus, AreAmdIfTheVariablesOfTheJobListThem) {
  TempFolder root;
  plant_kfd(root);
  Variables job = {{"SLURM_JOB_ID", "1"}};
  EXPECT_FALSE(gpus_of(job, root.path()).vendor_granted) << "a job without GPUs";
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    job = {{"SLURM_JOB_ID", "1"}, {name, "0,1"}};
    EXPECT_TRUE(gpus_of(job, root.path()).vendor_granted) << name;
    job = kGrantsEight;
    job[name] = "";
    EXPECT_FALSE(gpus_of(job, root.path()).vendor_granted) << "hidden by " << name;
  }
}

// A laptop, for example, may have integrated AMD graphics.
TEST(VisibleGpus, AreNotAmdOutsideAJob) {
  TempFolder root;
  plant_kfd(root), plant_pci(root, "0x1002", "0x030000", "amdgpu");
  EXPECT_FALSE(gpus_of({}, root.path()).vendor_granted);
  EXPECT_FALSE(gpus_of({{"HIP_VISIBLE_DEVICES", "0"}}, root.path()).vendor_granted);
}

TEST(VisibleGpus, AreNotAmdBesideNvidiaGpus) {
  TempFolder root;
  plant_kfd(root);
  write(root.path() / "dev/nvidia0", "");
  EXPECT_FALSE(gpus_of(kGrantsEight, root.path()).vendor_granted);
  EXPECT_TRUE(gpus_of(kGrantsEight, root.path()).physical);
}

TEST(OtherGpuVendor, IsThatOfCardsThatDrlCannotUse) {
  const char *card = "0000:c1:00.0", *processor = "0000:00:02.0";
  for (const auto& [vendor, kind, driver, address, expected] :
       {std::tuple{"0x1002", "0x038000", "amdgpu", card, "AMD"},  // MI250X
        {"0x8086", "0x038000", "i915", card, "Intel"},            // Data Center GPU Max
        {"0x8086", "0x038000", "xe", card, "Intel"},
        {"0x8086", "0x038000", "i915", processor, ""},  // a processor's graphics beside another card
        {"0x8086", "0x030000", "i915", processor, ""},  // a processor's graphics
        {"0x8086", "0x120000", "intel_vpu", card, ""},  // a neural processing unit
        {"0x8086", "0x120000", "", card, ""},           // an FPGA
        {"0x10de", "0x030200", "nvidia", card, ""},     // NVIDIA
        {"0x1a03", "0x030000", "ast", card, ""}}) {     // a server's management controller
    TempFolder root;
    plant_pci(root, vendor, kind, driver, address);
    EXPECT_EQ(other_gpu_vendor(root.path()), expected) << vendor << " " << kind << " " << driver;
    EXPECT_EQ(gpus_of({}, root.path()).vendor, expected);
  }
  TempFolder root;
  EXPECT_EQ(other_gpu_vendor(root.path()), "");
  plant_kfd(root);
  EXPECT_EQ(other_gpu_vendor(root.path()), "AMD");
}

// gres.conf(5): AutoDetect=oneapi sets ZE_AFFINITY_MASK. Its entries may be parts of a GPU.
TEST(OtherGpuVendor, IntelsAreGrantedByTheJobsVariables) {
  TempFolder root;
  plant_pci(root, "0x8086", "0x038000", "xe");
  EXPECT_TRUE(gpus_of(kGrantsEight, root.path()).vendor_granted);
  EXPECT_FALSE(gpus_of({{"SLURM_JOB_ID", "1"}}, root.path()).vendor_granted);
  for (const char* list : {"0,1", "0.0,0.1"})
    EXPECT_TRUE(gpus_of({{"SLURM_JOB_ID", "1"}, {"ZE_AFFINITY_MASK", list}}, root.path()).vendor_granted) << list;
}

Names selected(const Names& visible, const std::string& gpu_ids) {
  return select_gpus(Gpus{.visible = visible, .ids = visible}, gpu_ids).visible;
}

TEST(SelectGpus, SyntaxIsThatOfMjlab) {
  const Names visible = {"4", "5", "6", "7"};
  EXPECT_EQ(selected(visible, "all"), visible);
  EXPECT_EQ(selected(visible, ""), visible);
  EXPECT_EQ(selected(visible, "0,2"), (Names{"4", "6"}));
  EXPECT_EQ(selected(visible, "3 1"), (Names{"7", "5"}));
  EXPECT_EQ(selected(visible, "[0, 3]"), (Names{"4", "7"}));
  EXPECT_EQ(selected(visible, "None"), Names{});
  EXPECT_EQ(selected({}, "all"), Names{});
}

TEST(SelectGpus, AListMayBeSeveralArguments) {
  EXPECT_EQ(with_gpu_ids_joined({"--gpu_ids", "0", "2", "--seed", "3", "4"}),
            (Names{"--gpu_ids", "0,2", "--seed", "3", "4"}));
  EXPECT_EQ(with_gpu_ids_joined({"--seed", "3", "4", "--gpu-ids", "1"}), (Names{"--seed", "3", "4", "--gpu-ids", "1"}));
  EXPECT_EQ(with_gpu_ids_joined({"--gpu_ids", "all", "0"}), (Names{"--gpu_ids", "all", "0"}));
  const Names visible = {"4", "5", "6", "7"}, brackets = with_gpu_ids_joined({"--gpu-ids", "[0,", "3]"});
  ASSERT_EQ(brackets.size(), 2u);
  EXPECT_EQ(selected(visible, brackets[1]), (Names{"4", "7"}));
}

TEST(SelectGpus, KeepsBothNames) {
  const Gpus chosen = select_gpus(Gpus{.visible = {"0", "1"}, .ids = {"6", "7"}}, "1");
  EXPECT_EQ(chosen.visible, Names{"1"});
  EXPECT_EQ(chosen.ids, Names{"7"});
}

TEST(SelectGpus, ErrorsShowTheVisibleGpus) {
  const auto refused = [](const Names& visible, const std::string& ids) {
    return error_from<UsageError>([&] { selected(visible, ids); });
  };
  const Names four = {"0", "1", "2", "3"};
  expect_mentions(refused(four, "0,4"),
                  {"--gpu_ids 0,4", "4 GPUs visible", "--gpu_ids all", "--gpu_ids None", "0 to 3", "--gpu_ids 0"});
  expect_mentions(refused({}, "0"), {"--gpu_ids 0 ", "0 GPUs visible", "--gpu_ids all", "--gpu_ids None"});
  EXPECT_EQ(refused({}, "0").find("list"), std::string::npos) << refused({}, "0");
  expect_mentions(refused(four, "1,1"), {"--gpu_ids 1,1", "1 is", "twice"});
  expect_mentions(refused(four, "-1"), {"\"-1\" is not a number"});
  expect_mentions(refused(four, "[]"), {"--gpu_ids []", "empty"});
}

// Returns the name of each rank's device.
Names assigned(const std::vector<Names>& ids) {
  Names names;
  for (int place : assign_devices(ids)) names.push_back(place < 0 ? "cpu" : "cuda:" + std::to_string(place));
  return names;
}

TEST(AssignDevice, GivesEachRankOneThatItSees) {
  const Names all = {"0", "1", "2", "3"}, firsts = {"cuda:0", "cuda:0", "cuda:0", "cuda:0"};
  const struct {
    const char* what;
    std::vector<Names> ids;
    Names expected;
  } cases[] = {
      {"no devices", {{}, {}}, {"cpu", "cpu"}},
      {"one rank without devices", {{}}, {"cpu"}},
      {"all see all: in order", {all, all, all, all}, {"cuda:0", "cuda:1", "cuda:2", "cuda:3"}},
      {"fewer ranks than devices", {all, all}, {"cuda:0", "cuda:1"}},
      {"one device each", {{"0"}, {"1"}, {"2"}, {"3"}}, firsts},
      {"UUIDs", {{"GPU-a", "GPU-b"}, {"GPU-a", "GPU-b"}}, {"cuda:0", "cuda:1"}},
      {"MIG names", {2, {"MIG-GPU-a/1/0", "MIG-GPU-a/2/0"}}, {"cuda:0", "cuda:1"}},
      {"parts of the node", {{"0", "1"}, {"2", "3"}, {"0", "1"}, {"2", "3"}}, {"cuda:0", "cuda:0", "cuda:1", "cuda:1"}},
      // Rank 0 would take 0 and rank 1 take 1; rank 2 can only have 0, so rank 0 moves to 1, and rank 1 to 2.
      {"an earlier rank moves", {{"0", "1"}, {"1", "2"}, {"0"}}, {"cuda:1", "cuda:1", "cuda:0"}}};
  for (const auto& [what, ids, expected] : cases) EXPECT_EQ(assigned(ids), expected) << what;
}

TEST(AssignDevice, DevicesOfUnknownNumberAreAssumedToDiffer) {
  std::vector<Names> ids;
  for (const char* task : {"0", "1"})
    ids.push_back(gpus_of({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_LOCALID", task}}).ids);
  EXPECT_EQ(assigned(ids), (Names{"cuda:0", "cuda:0"}));
}

TEST(AssignDevice, MoreRanksThanDevicesThatTheySeeAreAnError) {
  const auto refused = [](const std::vector<Names>& ids) {
    return error_from<UsageError>([&] { assign_devices(ids); });
  };
  expect_mentions(refused({3, {"0", "1"}}), {"3 ranks", "2 GPUs (0, 1;", "srun --ntasks-per-node=2", "--ranks 2"});
  expect_mentions(refused({{"0"}, {"0"}}), {"2 ranks", "1 GPU (0;", "--ranks 1"});
  expect_mentions(refused({{"0"}, {"0"}, {"1", "2", "3"}}), {"3 ranks", "0, 1, 2, 3", "srun --gpu-bind=none"});
  expect_mentions(refused({{"0", "1"}, {}}), {"2 ranks", "0, 1", "srun --gpu-bind=none"});
}

// --- --device in builds with and without CUDA ---

const Gpus kFour = {.visible = {"0", "1", "2", "3"}, .ids = {"0", "1", "2", "3"}, .in_job = true, .granted = true};

const CudaSupport kNoCuda, kCudaWithoutGpu{true, 0, "no CUDA-capable device is detected"}, kTwoGpus{true, 2, ""};

std::string refused(const std::string& device, const Gpus& gpus, const CudaSupport& cuda,
                    const std::string& gpu_ids = "all") {
  return error_from<UsageError>([&] { choose_device(device, gpu_ids, gpus, cuda); });
}

TEST(ChooseDevice, AcceptsTheCpuAndRefusesInvalidDevices) {
  for (const char* device : {"auto", "cpu"}) {
    const DeviceChoice choice = choose_device(device, "all", {}, kNoCuda);
    EXPECT_FALSE(choice.cuda || choice.one_rank_per_gpu());
    EXPECT_EQ(choice.warning + choice.info, "");
  }
  expect_mentions(refused("cuda:0", kFour, kNoCuda),
                  {"--device cuda:0 ", "no GPU support", "docs/howto/install.md, \"GPUs\"", "--device cpu"});
  expect_mentions(refused("tpu", {}, kNoCuda), {"--device tpu ", "auto, cpu, cuda, cuda:N", "--device auto"});
  expect_mentions(refused("cuda:x", {}, kTwoGpus), {"--device cuda:x ", "number", "--device cuda:0"});
}

TEST(ChooseDevice, GrantedGpusMustNotBeIdle) {
  Gpus nvidia = kFour, amd = kFour;
  nvidia.physical = true, amd.vendor = "AMD", amd.vendor_granted = true;
  expect_mentions(refused("auto", nvidia, kNoCuda),
                  {"idle", "no GPU support", "docs/howto/install.md, \"GPUs\"", "--device cpu"});
  expect_mentions(refused("auto", nvidia, kCudaWithoutGpu),
                  {"idle", kCudaWithoutGpu.trouble, "nvidia-smi", "drl_doctor", "--device cpu"});
  for (const CudaSupport& cuda : {kNoCuda, kCudaWithoutGpu})
    expect_mentions(refused("auto", amd, cuda), {"idle", "AMD", "NVIDIA", "--device cpu"});
  for (const Gpus& gpus : {nvidia, amd}) {
    EXPECT_FALSE(choose_device("cpu", "all", gpus, kNoCuda).one_rank_per_gpu());
    EXPECT_FALSE(choose_device("auto", "None", gpus, kNoCuda).one_rank_per_gpu());
  }
}

TEST(ChooseDevice, ADriverThatCannotBeUsedHasItsOwnRemedy) {
  const CudaSupport old{true, 0, "insufficient driver", "update the driver"};
  Gpus gpus = kFour;
  gpus.physical = true;
  for (const char* device : {"auto", "cuda"})
    expect_mentions(refused(device, gpus, old), {"insufficient driver", "update the driver", "--device cpu"});
}

TEST(ChooseDevice, CudaNeedsANodeWithNvidiaGpus) {
  for (const CudaSupport& cuda : {kNoCuda, kCudaWithoutGpu})
    for (const char* device : {"cuda", "cuda:0"}) {
      expect_mentions(refused(device, {.vendor = "AMD"}, cuda),
                      {std::string("--device ") + device + " ", "AMD GPUs", "NVIDIA",
                       cuda.built ? "only)" : "no GPU support", "--device cpu"});
      EXPECT_FALSE(choose_device("auto", "all", {.vendor = "AMD"}, cuda).cuda);
    }
  EXPECT_TRUE(choose_device("cuda", "all", {.vendor = "AMD"}, kTwoGpus).cuda) << "CUDA shows GPUs";
}

TEST(ChooseDevice, GrantedGpusThatDoNotExistDetermineTheNumberOfRanks) {
  for (const CudaSupport& cuda : {kNoCuda, kCudaWithoutGpu}) {
    const DeviceChoice choice = choose_device("auto", "all", kFour, cuda);
    EXPECT_EQ(choice.gpus.visible.size(), 4u);
    EXPECT_FALSE(choice.cuda);
    expect_mentions(choice.warning, {"Slurm granted GPUs", "no NVIDIA GPU", "CPU", "one rank per"});
  }
}

TEST(ChooseDevice, AnIdleGpuOutsideAJobIsNotAnError) {
  const DeviceChoice laptop = choose_device("auto", "all", Gpus{.physical = true}, kNoCuda);
  expect_mentions(laptop.info, {"NVIDIA GPU", "not used"});
  EXPECT_EQ(laptop.warning, "");
  const DeviceChoice job = choose_device("auto", "all", Gpus{.in_job = true, .physical = true}, kNoCuda);
  EXPECT_EQ(job.warning + job.info, "") << "this job requested no GPU";
}

TEST(ChooseDevice, AutoUsesTheGpusThatTheDriverShows) {
  const DeviceChoice choice = choose_device("auto", "", Gpus{.physical = true}, kTwoGpus);
  EXPECT_TRUE(choice.cuda);
  EXPECT_EQ(choice.gpus.indices, (std::vector<int>{0, 1}));
  EXPECT_EQ(choice.gpus.ids, (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(choose_device("cpu", "", Gpus{.physical = true}, kTwoGpus).cuda);
  EXPECT_FALSE(choose_device("auto", "None", Gpus{.physical = true}, kTwoGpus).cuda);
}

// CUDA numbers the devices of CUDA_VISIBLE_DEVICES from 0.
TEST(ChooseDevice, MayUseSomeOfTheVisibleGpus) {
  Gpus gpus{.visible = {"5", "7"}, .ids = {"5", "7"}, .indices = {0, 1}, .physical = true};
  EXPECT_EQ(choose_device("cuda:1", "", gpus, kTwoGpus).gpus.indices, (std::vector<int>{1}));
  EXPECT_EQ(choose_device("cuda:1", "", gpus, kTwoGpus).gpus.ids, (std::vector<std::string>{"7"}));
  EXPECT_EQ(choose_device("cuda", "1,0", gpus, kTwoGpus).gpus.indices, (std::vector<int>{1, 0}));
  expect_mentions(refused("cuda:2", gpus, kTwoGpus, ""), {"--gpu_ids 2", "2 GPUs visible"});
  expect_mentions(refused("cuda:1", gpus, kTwoGpus, "0"), {"--device cuda:1", "--gpu_ids 0"});
  expect_mentions(refused("cuda", {}, kCudaWithoutGpu, ""),
                  {"--device cuda ", kCudaWithoutGpu.trouble, "srun --gpus-per-node=", "nvidia-smi", "--device cpu"});
}

// CUDA's binary code runs on GPUs with the same major and an equal or larger minor number (CUDA Programming Guide,
// "Binary Compatibility").
TEST(CompilationNotice, AppearsIfTheBuildHasNoCodeForTheGpu) {
  const std::string standard = "80-real,90,100-real,120-real,121-virtual";
  for (const auto& [major, minor] : {std::pair(8, 0), {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}})
    EXPECT_EQ(compilation_notice(standard, major, minor), "") << major << "." << minor;
  expect_mentions(compilation_notice(standard, 11, 0), {"11.0", "-DDRL_CUDA_ARCHITECTURES=110"});
  expect_mentions(compilation_notice("80-virtual", 8, 0), {"8.0"});
  expect_mentions(compilation_notice("86,90a", 8, 0), {"8.0"});
  EXPECT_EQ(compilation_notice("86,90a", 9, 0), "");
  EXPECT_EQ(compilation_notice("native", 7, 5), "");
}

}  // namespace
}  // namespace drl
