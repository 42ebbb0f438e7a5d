#include "placement/device.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <tuple>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "placement/gpu_vendors.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Gpus gpus_of(const std::map<std::string, std::string>& variables, const fs::path& root = "/nowhere") {
  return visible_gpus(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      root);
}

template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// The variables are those that Slurm 22.05 set for tasks on a node with 4 GPUs (tests/slurm/cluster).

TEST(VisibleGpus, AreAllOfTheNodeWithGpusPerNode) {  // srun --gpus-per-node=4
  const Gpus gpus = gpus_of({{"SLURM_JOB_ID", "1"},
                             {"CUDA_VISIBLE_DEVICES", "0,1,2,3"},
                             {"SLURM_STEP_GPUS", "0,1,2,3"},
                             {"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(gpus.visible, (Names{"0", "1", "2", "3"}));
  EXPECT_EQ(gpus.ids, gpus.visible);
  EXPECT_TRUE(gpus.in_job);
  EXPECT_TRUE(gpus.granted);
  EXPECT_FALSE(gpus.physical);
}

TEST(VisibleGpus, AreAtMostAsManyAsANodeCanHave) {
  EXPECT_EQ(gpus_of({{"SLURM_GPUS_ON_NODE", "4096"}}).visible.size(), 4096u);
  try {
    gpus_of({{"SLURM_GPUS_ON_NODE", "2147483647"}});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    expect_mentions(error.what(), {"SLURM_GPUS_ON_NODE = 2147483647", "unset SLURM_GPUS_ON_NODE"});
  }
}

TEST(VisibleGpus, AreOneForEachTaskWithGpusPerTask) {  // srun -n4 --gpus-per-task=1, task 2
  const Gpus gpus = gpus_of({{"CUDA_VISIBLE_DEVICES", "2"}, {"SLURM_STEP_GPUS", "2"}, {"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(gpus.visible, Names{"2"});
  EXPECT_EQ(gpus.ids, Names{"2"});
}

TEST(VisibleGpus, KeepTheirIdsIfSlurmHidesTheOthers) {  // the same with ConstrainDevices: CUDA counts from 0
  const Gpus gpus = gpus_of({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_STEP_GPUS", "2"}, {"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(gpus.visible, Names{"0"});
  EXPECT_EQ(gpus.ids, Names{"2"});
}

TEST(VisibleGpus, KeepTheirIdsIfSlurmHidesTheLowerHalf) {
  const Gpus gpus = gpus_of({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}, {"SLURM_STEP_GPUS", "4,5,6,7"}});
  EXPECT_EQ(gpus.ids, (Names{"4", "5", "6", "7"}));
}

TEST(VisibleGpus, AreNumberedFromZeroIfNothingIsBound) {  // srun -n4 --gpus-per-task=1 --gpu-bind=none
  const Gpus gpus = gpus_of({{"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(gpus.visible, (Names{"0", "1", "2", "3"}));
  EXPECT_TRUE(gpus.granted);
}

TEST(VisibleGpus, MayHaveUuidsAndMigNames) {
  const Names names = {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0",
                       "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"};
  EXPECT_EQ(gpus_of({{"CUDA_VISIBLE_DEVICES", names[0] + "," + names[1] + ", " + names[2]}}).visible, names);
}

TEST(VisibleGpus, EndAtTheFirstEntryThatIsNotADevice) {  // CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES
  EXPECT_EQ(gpus_of({{"CUDA_VISIBLE_DEVICES", "1,-1,0"}}).visible, Names{"1"});
  const Gpus none = gpus_of({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}, {"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(none.visible, Names{});
  EXPECT_FALSE(none.granted);
}

TEST(VisibleGpus, AreNotListedOutsideSlurm) {
  const Gpus gpus = gpus_of({});
  EXPECT_EQ(gpus.visible, Names{});
  EXPECT_FALSE(gpus.granted);
  EXPECT_FALSE(gpus.in_job);
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

const std::map<std::string, std::string> kGrantsEight = {{"SLURM_JOB_ID", "1"}, {"SLURM_GPUS_ON_NODE", "8"}};

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
  std::map<std::string, std::string> job = {{"SLURM_JOB_ID", "1"}};
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
  const Names visible = {"0", "1", "2", "3"};
  expect_mentions(error_of([&] { selected(visible, "0,4"); }),
                  {"--gpu_ids 0,4", "4 GPUs visible", "--gpu_ids all", "--gpu_ids None", "0 to 3", "--gpu_ids 0"});
  const std::string error = error_of([&] { selected({}, "0"); });
  expect_mentions(error, {"--gpu_ids 0 ", "0 GPUs visible", "--gpu_ids all", "--gpu_ids None"});
  EXPECT_EQ(error.find("list"), std::string::npos) << error;
  expect_mentions(error_of([&] { selected(visible, "1,1"); }), {"--gpu_ids 1,1", "1 is", "twice"});
  expect_mentions(error_of([&] { selected(visible, "-1"); }), {"\"-1\" is not a number"});
  expect_mentions(error_of([&] { selected(visible, "[]"); }), {"--gpu_ids []", "empty"});
}

// Returns the name of each rank's device.
Names assigned(const std::vector<Names>& ids) {
  Names names;
  for (int place : assign_devices(ids)) names.push_back(place < 0 ? "cpu" : "cuda:" + std::to_string(place));
  return names;
}

TEST(AssignDevice, RanksWithoutDevicesUseTheCpu) {
  EXPECT_EQ(assigned({{}, {}}), (Names{"cpu", "cpu"}));
  EXPECT_EQ(assigned({{}}), Names{"cpu"});
}

TEST(AssignDevice, RanksTakeDevicesInOrderIfAllSeeAll) {
  const Names all = {"0", "1", "2", "3"};
  EXPECT_EQ(assigned({all, all, all, all}), (Names{"cuda:0", "cuda:1", "cuda:2", "cuda:3"}));
  EXPECT_EQ(assigned({all, all}), (Names{"cuda:0", "cuda:1"}));
}

TEST(AssignDevice, RanksThatSeeOneDeviceEachUseIt) {
  EXPECT_EQ(assigned({{"0"}, {"1"}, {"2"}, {"3"}}), (Names{"cuda:0", "cuda:0", "cuda:0", "cuda:0"}));
}

TEST(AssignDevice, DevicesOfUnknownNumberAreAssumedToDiffer) {
  std::vector<Names> ids;
  for (const char* task : {"0", "1"})
    ids.push_back(gpus_of({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_LOCALID", task}}).ids);
  EXPECT_EQ(assigned(ids), (Names{"cuda:0", "cuda:0"}));
}

TEST(AssignDevice, AcceptsIndicesUuidsAndMigNames) {
  const Names indices = {"5", "2"}, uuids = {"GPU-a", "GPU-b"}, mig = {"MIG-GPU-a/1/0", "MIG-GPU-a/2/0"};
  for (const Names& list : {indices, uuids, mig}) EXPECT_EQ(assigned({list, list}), (Names{"cuda:0", "cuda:1"}));
}

TEST(AssignDevice, RanksMaySeeDifferentPartsOfTheNode) {
  EXPECT_EQ(assigned({{"0", "1"}, {"2", "3"}, {"0", "1"}, {"2", "3"}}),
            (Names{"cuda:0", "cuda:0", "cuda:1", "cuda:1"}));
}

TEST(AssignDevice, AnEarlierRankMovesToAnotherDevice) {
  // Rank 0 would take 0 and rank 1 take 1; rank 2 can only have 0, so rank 0 moves to 1, and rank 1 to 2.
  EXPECT_EQ(assigned({{"0", "1"}, {"1", "2"}, {"0"}}), (Names{"cuda:1", "cuda:1", "cuda:0"}));
}

TEST(AssignDevice, MoreRanksThanDevicesAreAnError) {
  const Names all = {"0", "1"};
  expect_mentions(error_of([&] {
                    assign_devices({all, all, all});
                  }),
                  {"3 ranks", "2 GPUs (0, 1;", "srun --ntasks-per-node=2", "--ranks 2"});
  expect_mentions(error_of([&] { assign_devices({{"0"}, {"0"}}); }), {"2 ranks", "1 GPU (0;", "--ranks 1"});
}

TEST(AssignDevice, RanksThatSeeTooFewDevicesAreAnError) {
  expect_mentions(error_of([&] {
                    assign_devices({{"0"}, {"0"}, {"1", "2", "3"}});
                  }),
                  {"3 ranks", "0, 1, 2, 3", "srun --gpu-bind=none"});
  expect_mentions(error_of([&] { assign_devices({{"0", "1"}, {}}); }), {"2 ranks", "0, 1", "srun --gpu-bind=none"});
}

// --- --device in builds with and without CUDA ---

const Gpus kFour = {.visible = {"0", "1", "2", "3"}, .ids = {"0", "1", "2", "3"}, .in_job = true, .granted = true};

const CudaSupport kNoCuda, kCudaWithoutGpu{true, 0, "no CUDA-capable device is detected"}, kTwoGpus{true, 2, ""};

TEST(ChooseDevice, AcceptsTheCpuAndRefusesInvalidDevices) {
  for (const char* device : {"auto", "cpu"}) {
    const DeviceChoice choice = choose_device(device, "all", {}, kNoCuda);
    EXPECT_FALSE(choice.cuda);
    EXPECT_FALSE(choice.one_rank_per_gpu());
    EXPECT_EQ(choice.warning + choice.info, "");
  }
  expect_mentions(error_of([] { choose_device("cuda:0", "all", kFour, kNoCuda); }),
                  {"--device cuda:0 ", "no GPU support", "docs/install.md, \"GPUs\"", "--device cpu"});
  expect_mentions(error_of([] { choose_device("tpu", "all", {}, kNoCuda); }),
                  {"--device tpu ", "auto, cpu, cuda, cuda:N", "--device auto"});
  expect_mentions(error_of([] { choose_device("cuda:x", "all", {}, kTwoGpus); }),
                  {"--device cuda:x ", "number", "--device cuda:0"});
}

TEST(ChooseDevice, GrantedGpusMustNotBeIdle) {
  Gpus gpus = kFour;
  gpus.physical = true;
  expect_mentions(error_of([&] { choose_device("auto", "all", gpus, kNoCuda); }),
                  {"idle", "no GPU support", "docs/install.md, \"GPUs\"", "--device cpu"});
  expect_mentions(error_of([&] { choose_device("auto", "all", gpus, kCudaWithoutGpu); }),
                  {"idle", kCudaWithoutGpu.trouble, "nvidia-smi", "drl_doctor", "--device cpu"});
  EXPECT_FALSE(choose_device("cpu", "all", gpus, kNoCuda).one_rank_per_gpu());
  EXPECT_FALSE(choose_device("auto", "None", gpus, kNoCuda).one_rank_per_gpu());
}

TEST(ChooseDevice, ADriverThatCannotBeUsedHasItsOwnRemedy) {
  const CudaSupport old{true, 0, "insufficient driver", "update the driver"};
  Gpus gpus = kFour;
  gpus.physical = true;
  for (const char* device : {"auto", "cuda"})
    expect_mentions(error_of([&] { choose_device(device, "all", gpus, old); }),
                    {"insufficient driver", "update the driver", "--device cpu"});
}

TEST(ChooseDevice, GrantedAmdGpusMustNotBeIdle) {
  Gpus gpus = kFour;
  gpus.vendor = "AMD", gpus.vendor_granted = true;
  for (const CudaSupport& cuda : {kNoCuda, kCudaWithoutGpu})
    expect_mentions(error_of([&] { choose_device("auto", "all", gpus, cuda); }),
                    {"idle", "AMD", "NVIDIA", "--device cpu"});
  EXPECT_FALSE(choose_device("cpu", "all", gpus, kNoCuda).one_rank_per_gpu());
  EXPECT_FALSE(choose_device("auto", "None", gpus, kNoCuda).one_rank_per_gpu());
}

TEST(ChooseDevice, CudaNeedsANodeWithNvidiaGpus) {
  for (const CudaSupport& cuda : {kNoCuda, kCudaWithoutGpu})
    for (const char* device : {"cuda", "cuda:0"}) {
      expect_mentions(error_of([&] { choose_device(device, "all", {.vendor = "AMD"}, cuda); }),
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
  expect_mentions(error_of([&] { choose_device("cuda:2", "", gpus, kTwoGpus); }), {"--gpu_ids 2", "2 GPUs visible"});
  expect_mentions(error_of([&] { choose_device("cuda:1", "0", gpus, kTwoGpus); }), {"--device cuda:1", "--gpu_ids 0"});
  expect_mentions(error_of([&] { choose_device("cuda", "", {}, kCudaWithoutGpu); }),
                  {"--device cuda ", kCudaWithoutGpu.trouble, "srun --gpus-per-node=", "nvidia-smi", "--device cpu"});
}

}  // namespace
}  // namespace drl
