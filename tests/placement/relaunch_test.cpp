#include "placement/relaunch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "../support/environment.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

StepNode gpu_node(const std::string& name, int tasks, std::vector<std::string> gpus, int cores = 64, int memory = 0) {
  const int devices = static_cast<int>(gpus.size());
  return {.name = name,
          .tasks = tasks,
          .gpus = std::move(gpus),
          .devices = devices,
          .cpus = cores,
          .cores = cores,
          .memory = memory};
}

StepNode cpu_node(const std::string& name, int tasks, int devices) {
  return {.name = name, .tasks = tasks, .devices = devices, .cpus = devices, .cores = devices};
}

const std::vector<std::string> kFour = {"0", "1", "2", "3"};

std::string error_of_ranks(const std::string& launcher, int wanted, int started, bool may_start) {
  return error_from<UsageError>([&] { check_ranks({.launcher = launcher}, wanted, started, may_start); });
}

TEST(CheckRanks, RefusesAnotherNumberThanTheLaunchers) {
  expect_mentions(error_of_ranks("mpirun", 4, 2, false), {"--ranks 4", "2 ranks", "mpirun"});
  expect_mentions(error_of_ranks("mpirun", 4, 1, false), {"--ranks 4", "1 rank ", "mpirun"});
  expect_mentions(error_of_ranks("srun", 2, 4, true), {"--ranks 2", "4 ranks", "srun"});
  EXPECT_EQ(error_of_ranks("srun", 4, 2, true), "no error") << "drl starts the missing ranks";
  EXPECT_EQ(error_of_ranks("mpirun", 4, 4, false), "no error");
  for (int nothing_special : {0, 1}) EXPECT_EQ(error_of_ranks("mpirun", nothing_special, 4, false), "no error");
  EXPECT_EQ(error_of_ranks("", 4, 1, false), "no error");
}

TEST(PlanRanks, GivesEachGpuARank) {
  EXPECT_EQ(plan_ranks({gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)}, 0), (std::vector<int>{4, 4}));
  EXPECT_EQ(plan_ranks({gpu_node("n1", 2, kFour)}, 0), (std::vector<int>{4}));
}

TEST(PlanRanks, KeepsAStepThatHasEnoughTasks) {
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 4, kFour), gpu_node("n2", 4, kFour)}, 0).empty());
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 7, kFour), gpu_node("n2", 1, kFour)}, 0).empty());  // 7+1
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 1, {"2"})}, 0).empty());                            // a step with one GPU
  EXPECT_TRUE(plan_ranks({cpu_node("n1", 2, 0)}, 0).empty());  // with -c, cores are threads
}

TEST(PlanRanks, GivesEachCoreARankWithoutGpus) {
  EXPECT_EQ(plan_ranks({cpu_node("n1", 1, 8), cpu_node("n2", 1, 6)}, 0), (std::vector<int>{8, 6}));
}

TEST(PlanRanks, FollowsTheOptionRanks) {
  const std::vector<StepNode> nodes = {gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)};
  EXPECT_EQ(plan_ranks(nodes, 6), (std::vector<int>{3, 3}));
  EXPECT_EQ(plan_ranks(nodes, 5), (std::vector<int>{3, 2}));
  EXPECT_TRUE(plan_ranks(nodes, 1).empty());
  EXPECT_TRUE(plan_ranks(nodes, 2).empty());
}

TEST(SrunCommand, SharesTheResourcesOfTheOuterStep) {
  const Environment job = environment_of({{"SLURM_JOB_ID", "12"},
                                          {"SLURM_STEP_ID", "0"},
                                          {"SLURM_MPI_TYPE", "cray_shasta"},
                                          {"SLURM_CPU_BIND", "quiet,mask_cpu:0x1"}});
  EXPECT_EQ(srun_command(job, {gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)}, {4, 4}),
            (std::vector<std::string>{"srun", "--jobid=12", "--export=ALL", "--overlap", "--overcommit",
                                      "--kill-on-bad-exit=1", "--immediate=60", "--mpi=cray_shasta", "--cpu-bind=none",
                                      "--gpus-per-node=4", "--ntasks=8", "--distribution=arbitrary"}));
}

// man srun: --het-group takes a list of components; a colon separates the commands of components that differ.
TEST(HeterogeneousLine, StartsTheRanksOfEachComponent) {
  EXPECT_TRUE(nodes_of_components(environment_of({{"SLURM_JOB_NUM_NODES", "2"}})).empty());
  const Environment job = environment_of(
      {{"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_NUM_NODES_HET_GROUP_0", "1"}, {"SLURM_JOB_NUM_NODES_HET_GROUP_1", "2"}});
  const std::vector<int> components = nodes_of_components(job);
  EXPECT_EQ(components, (std::vector<int>{1, 2}));
  EXPECT_EQ(heterogeneous_line(components, {4, 2, 2}, "pmix", {"drl_train", "--ranks", "8", "--seed", "3"}),
            "srun --mpi=pmix --het-group=0,1 -n4 drl_train --seed 3");
  EXPECT_EQ(heterogeneous_line(components, {4, 4, 4}, "", {"drl_train", "--ranks=12", "--run_name", "a b"}),
            "srun --het-group=0 -n4 drl_train --run_name 'a b' : --het-group=1 -n8 drl_train --run_name 'a b'");
}

// The step has two of the job's four GPUs; Slurm must not choose which two the ranks get.
TEST(SrunCommand, RequestsAllGpusOfTheJob) {
  const std::vector<std::string> words = srun_command(
      environment_of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_GPUS", "0,1,2,3"}}), {gpu_node("n1", 1, {"2", "3"})}, {2});
  EXPECT_NE(std::find(words.begin(), words.end(), "--gpus-per-node=4"), words.end());
}

// A binding that Slurm chose for the outer tasks is replaced by "none"; one that the user listed is kept (srun(1),
// --cpu-bind: SLURM_CPU_BIND of a task contains its binding).
TEST(SrunCommand, KeepsOnlyTheUsersCpuBinding) {
  const auto bind = [](const std::string& value, const std::string& step = "0", const std::string& tasks = "1(x2)") {
    const Environment job = environment_of({{"SLURM_JOB_ID", "12"},
                                            {"SLURM_STEP_ID", step},
                                            {"SLURM_NODEID", "1"},
                                            {"SLURM_STEP_TASKS_PER_NODE", tasks},
                                            {"SLURM_CPU_BIND", value}});
    for (const std::string& word : srun_command(job, {cpu_node("n1", 1, 2), cpu_node("n2", 1, 2)}, {2, 2}))
      if (word.starts_with("--cpu-bind=")) return word.substr(11);
    return std::string("no option");
  };
  EXPECT_EQ(bind("quiet,mask_cpu:0x1"), "none");
  EXPECT_EQ(bind("quiet,mask_cpu:0x1,0x2", "0", "1,2"), "none") << "one mask for each of this node's two tasks";
  EXPECT_EQ(bind("verbose,cores,mask_cpu:0x1"), "verbose,none");
  EXPECT_EQ(bind("quiet,none"), "none");
  for (const char* value : {"quiet,map_cpu:48,56", "quiet,mask_cpu:0xf0,0x0f", "quiet,rank_ldom",
                            "verbose,map_ldom:1,0", "quiet,mask_ldom:0x2,0x1"})
    EXPECT_EQ(bind(value), value) << "chosen by the user";
  EXPECT_EQ(bind("cores", "4294967291"), "cores") << "set in a batch script";
}

TEST(SrunCommand, ListsTheHostOfEachRank) {
  EXPECT_EQ(hosts_of_ranks({cpu_node("n1", 1, 2), cpu_node("n2", 1, 1)}, {2, 1}), "n1\nn1\nn2\n");
}

// The inner step uses the plugin of the outer step, which is not always pmix.
TEST(SrunCommand, UsesTheMpiPluginOfTheOuterStep) {
  const auto plugin = [](Variables variables) {
    variables["SLURM_JOB_ID"] = "12";
    for (const std::string& word : srun_command(environment_of(variables), {cpu_node("n1", 1, 2)}, {2}))
      if (word.starts_with("--mpi=")) return word.substr(6);
    return std::string("no option");
  };
  EXPECT_EQ(plugin({{"PMIX_RANK", "0"}, {"PMI_RANK", "0"}}), "pmix");
  EXPECT_EQ(plugin({{"PMI_RANK", "0"}}), "pmi2");
  EXPECT_EQ(plugin({}), "no option");
}

TEST(InnerEnvironment, DropsVariablesOfTheOuterStep) {
  EXPECT_EQ(inner_environment({"PATH=/bin", "SLURM_JOB_ID=12", "SLURM_CONF=/etc/slurm.conf", "SLURM_NTASKS=2",
                               "SLURM_STEP_ID=0", "SLURM_NTASKS_PER_GPU=1", "SLURMD_NODENAME=n1",
                               "SRUN_CPUS_PER_TASK=2", "PMIX_RANK=0", "PMI_FD=5", "OMPI_COMM_WORLD_RANK=0",
                               "OMPI_MCA_btl=self,tcp", "OMP_NUM_THREADS=1"}),
            (std::vector<std::string>{"PATH=/bin", "SLURM_JOB_ID=12", "SLURM_CONF=/etc/slurm.conf",
                                      "OMPI_MCA_btl=self,tcp", "OMP_NUM_THREADS=1", "SLURM_PMIX_FENCE=ring"}));
}

TEST(InnerEnvironment, KeepsVariablesOfTheJob) {
  const std::vector<std::string> job = {"SLURM_JOB_ID=12",        "SLURM_RESTART_COUNT=1",   "SLURM_JOB_START_TIME=100",
                                        "SLURM_JOB_END_TIME=400", "SLURM_CLUSTER_NAME=alps", "SLURM_ARRAY_JOB_ID=12",
                                        "SLURM_ARRAY_TASK_ID=3",  "SLURM_PMIX_FENCE=tree"};
  EXPECT_EQ(inner_environment(job), job);
}

TEST(InnerEnvironment, KeepsSettingsOfUsersAndSites) {
  const std::vector<std::string> set = {
      "PMIX_MCA_gds=hash",          "PMI_MMAP_SYNC_WAIT_TIME=600", "SLURM_NETWORK=single_node_vni",
      "SLURM_MEM_BIND=quiet,local", "OMPI_MCA_btl=self,tcp",       "SLURM_PMIX_FENCE=mixed"};
  EXPECT_EQ(inner_environment(set), set);
}

TEST(SlurmVersion, IsParsedFromSrunsOutput) {
  using Version = std::array<int, 3>;
  EXPECT_EQ(slurm_version("slurm 22.05.8\n"), (Version{22, 5, 8}));
  EXPECT_EQ(slurm_version("slurm 23.02.7-1.el8"), (Version{23, 2, 7}));
  EXPECT_EQ(slurm_version("slurm-wlm 24.11.5"), (Version{24, 11, 5}));
  EXPECT_EQ(slurm_version("slurm 26.05.0-0rc1"), (Version{26, 5, 0}));
  EXPECT_EQ(slurm_version("slurm 25.11"), (Version{25, 11, 0}));
  for (const char* other : {"", "slurm", "srun: error: no version", "slurm 7", "flux 0.62.1", "slurm 123456.05.1"})
    EXPECT_EQ(slurm_version(other), std::nullopt) << other;
}

TEST(SlurmVersion, StepsShareGpusAndMemorySince2205) {
  const std::vector<StepNode> gpus = {gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)},
                              cores = {cpu_node("n1", 1, 8)};
  expect_mentions(step_cannot_share("slurm 21.08.8-2", gpus), {"GPUs", "22.05", "slurm 21.08.8-2"});
  EXPECT_EQ(step_cannot_share("slurm 22.05.0", gpus), "");
  EXPECT_EQ(step_cannot_share("slurm-wlm 24.11.5", gpus), "");
  EXPECT_EQ(step_cannot_share("something else", gpus), "") << "the version is unknown: srun is tried";
  EXPECT_EQ(step_cannot_share("slurm 21.08.8", cores), "") << "CPUs could be shared before";
  expect_mentions(step_cannot_share("slurm 21.08.8", {StepNode{.name = "n1", .tasks = 1, .devices = 8, .memory = 900}}),
                  {"memory", "22.05", "slurm 21.08.8"});
}

TEST(SlurmVersion, StepsKeepTheirGpusSince26053) {
  expect_mentions(step_may_lose_gpus("slurm 26.05.2"), {"26.05.3", "sockets", "slurm 26.05.2"});
  EXPECT_NE(step_may_lose_gpus("slurm 22.05.8"), "");
  EXPECT_EQ(step_may_lose_gpus("slurm 26.05.3"), "");
  EXPECT_EQ(step_may_lose_gpus("slurm 26.11.0"), "");
  EXPECT_EQ(step_may_lose_gpus(""), "");
}

// The inner step got only two of the four GPUs.
TEST(RestrictToOuterStep, ReportsTheMissingGpusAndWhatToType) {
  const Variables step = {{"DRL_OUTER_STEP", "n1:0,1,2,3:8"},
                          {"SLURMD_NODENAME", "n1"},
                          {"SLURM_STEP_GPUS", "0,1"},
                          {"CUDA_VISIBLE_DEVICES", "0,1"},
                          {"DRL_SLURM_VERSION", "slurm 24.11.5"},
                          {"DRL_DIRECT_LINE", "srun -N1 drl_train"},
                          {"SLURM_STEP_ID", "1"},
                          {"SLURM_PROCID", "0"}};
  for (const auto& [name, value] : step) ::setenv(name.c_str(), value.c_str(), 1);
  expect_mentions(error_from<UsageError>([] { restrict_to_outer_step(); }),
                  {"GPUs 0,1 of n1", "0,1,2,3", "26.05.3", "slurm 24.11.5", "\n  srun -N1 drl_train\n", "--ranks 1"});
  for (const auto& [name, value] : step) ::unsetenv(name.c_str());
}

// Ranks that see only one GPU each cannot map the others' memory, so each rank sees all GPUs of its node.
TEST(DirectLine, NeverBindsGpusToTasks) {
  const StepNode four = gpu_node("n1", 1, kFour), two = gpu_node("n2", 1, {"0", "1"}), one = gpu_node("n3", 1, {"0"});
  EXPECT_EQ(direct_line({four, four}, {4, 4}, 0, {"P"}), "srun -N2 --ntasks-per-node=4 --gpus-per-node=4 P");
  EXPECT_EQ(direct_line({four, four}, {2, 1}, 0, {"P"}), "srun -N2 -n3 --gpus-per-node=4 P");
  EXPECT_EQ(direct_line({four, two}, {4, 2}, 0, {"P"}), "srun -N2 --ntasks-per-node=3 --gpus-per-node=3 P");
  EXPECT_EQ(direct_line({four, one}, {4, 1}, 2, {"P"}), "srun -N2 --ntasks-per-node=2 --gpus-per-node=2 -c2 P");
  EXPECT_EQ(direct_line({cpu_node("n1", 1, 8), cpu_node("n2", 1, 6)}, {8, 6}, 0, {"P"}), "srun -N2 -n14 P");
}

TEST(ShortageWarning, ReportsTooFewCores) {
  expect_mentions(shortage_warning({gpu_node("n1", 1, kFour, 1)}, {4}, {"drl_train", "--task", "Cart Pole"}),
                  {"4 ranks", "1 core ", "n1",
                   "\n  srun -N1 --ntasks-per-node=4 --gpus-per-node=4 -c1 drl_train --task 'Cart Pole'"});
  EXPECT_EQ(shortage_warning({gpu_node("n1", 1, kFour, 4)}, {4}, {"drl_train"}), "");
}

TEST(ShortageWarning, ReportsTooLittleMemory) {
  expect_mentions(shortage_warning({gpu_node("n1", 1, kFour, 4, 900)}, {4}, {"drl_train"}),
                  {"4 ranks", "900 MiB", "n1", "--mem=1024M"});
  EXPECT_EQ(shortage_warning({gpu_node("n1", 1, kFour, 4, 1024)}, {4}, {"drl_train"}), "");
}

TEST(IdleDevicesHint, AppearsWithoutSrunInAJob) {
  Variables batch = {{"SLURM_JOB_ID", "12"},
                     {"SLURM_JOB_NUM_NODES", "2"},
                     {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"},
                     {"SLURM_PROCID", "0"}};
  expect_mentions(idle_devices_hint(environment_of(batch), {"./drl_train", "--task", "Cartpole"}),
                  {"16 CPUs on 2 nodes", "srun ./drl_train --task Cartpole"});
  batch["SLURM_GPUS_ON_NODE"] = "4";
  expect_mentions(idle_devices_hint(environment_of(batch), {"drl_train"}), {"8 GPUs on 2 nodes"});
  batch.erase("SLURM_GPUS_ON_NODE");  // not set in salloc's shell
  batch["SLURM_GPUS_PER_NODE"] = "a100:4";
  expect_mentions(idle_devices_hint(environment_of(batch), {"drl_train"}), {"8 GPUs on 2 nodes"});
  batch["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(idle_devices_hint(environment_of(batch), {"drl_train"}), "");
  EXPECT_EQ(idle_devices_hint(environment_of({}), {"drl_train"}), "");
  EXPECT_EQ(
      idle_devices_hint(environment_of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_CPUS_PER_NODE", "1"}}), {"drl_train"}), "");
}

}  // namespace
}  // namespace drl
