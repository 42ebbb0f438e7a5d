#include "cluster/relaunch.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/check.hpp"

namespace drl {
namespace {

Environment of(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

StepNode gpu_node(const std::string& name, int tasks, std::vector<std::string> gpus, int cores = 64, int memory = 0) {
  const int devices = static_cast<int>(gpus.size());
  return {name, tasks, std::move(gpus), devices, cores, cores, memory};
}

StepNode cpu_node(const std::string& name, int tasks, int devices) {
  return {name, tasks, {}, devices, devices, devices, 0};
}

const std::vector<std::string> kFour = {"0", "1", "2", "3"};

TEST(PlanRanks, OnePerGpu) {
  EXPECT_EQ(plan_ranks({gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)}, 0), (std::vector<int>{4, 4}));
  EXPECT_EQ(plan_ranks({gpu_node("n1", 2, kFour)}, 0), (std::vector<int>{4}));
}

TEST(PlanRanks, StepStaysWhereTasksSuffice) {
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 4, kFour), gpu_node("n2", 4, kFour)}, 0).empty());
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 7, kFour), gpu_node("n2", 1, kFour)}, 0).empty());  // 7+1
  EXPECT_TRUE(plan_ranks({gpu_node("n1", 1, {"2"})}, 0).empty());                            // a packed one-GPU step
  EXPECT_TRUE(plan_ranks({cpu_node("n1", 2, 0)}, 0).empty());                                // -c: cores are threads
}

TEST(PlanRanks, OnePerCore) {
  EXPECT_EQ(plan_ranks({cpu_node("n1", 1, 8), cpu_node("n2", 1, 6)}, 0), (std::vector<int>{8, 6}));
}

TEST(PlanRanks, RanksOptionOverrides) {
  const std::vector<StepNode> nodes = {gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)};
  EXPECT_EQ(plan_ranks(nodes, 6), (std::vector<int>{3, 3}));
  EXPECT_EQ(plan_ranks(nodes, 5), (std::vector<int>{3, 2}));
  EXPECT_TRUE(plan_ranks(nodes, 1).empty());
  EXPECT_TRUE(plan_ranks(nodes, 2).empty());
}

TEST(SrunCommand, BesideAndWithinTheOuterStep) {
  const Environment job =
      of({{"SLURM_JOB_ID", "12"}, {"SLURM_MPI_TYPE", "cray_shasta"}, {"SLURM_CPU_BIND", "quiet,mask_cpu:0x1"}});
  EXPECT_EQ(srun_command(job, {gpu_node("n1", 1, kFour), gpu_node("n2", 1, kFour)}, {4, 4}),
            (std::vector<std::string>{"srun", "--jobid=12", "--overlap", "--overcommit", "--kill-on-bad-exit=1",
                                      "--immediate=60", "--mpi=cray_shasta", "--cpu-bind=none", "--gpus-per-node=4",
                                      "--ntasks=8", "--distribution=arbitrary"}));
}

// A packed step has two GPUs of the job's four: Slurm must not choose which two the ranks get.
TEST(SrunCommand, AsksForAllGpusOfTheJob) {
  const std::vector<std::string> words =
      srun_command(of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_GPUS", "0,1,2,3"}}), {gpu_node("n1", 1, {"2", "3"})}, {2});
  EXPECT_NE(std::find(words.begin(), words.end(), "--gpus-per-node=4"), words.end());
}

TEST(SrunCommand, ListOfHosts) {
  EXPECT_EQ(hosts_of_ranks({cpu_node("n1", 1, 2), cpu_node("n2", 1, 1)}, {2, 1}), "n1\nn1\nn2\n");
}

// The plugin that the outer step used, not always pmix.
TEST(SrunCommand, MpiPlugin) {
  const auto plugin = [](std::map<std::string, std::string> variables) {
    variables["SLURM_JOB_ID"] = "12";
    for (const std::string& word : srun_command(of(variables), {cpu_node("n1", 1, 2)}, {2}))
      if (word.starts_with("--mpi=")) return word.substr(6);
    return std::string("none named");
  };
  EXPECT_EQ(plugin({{"PMIX_RANK", "0"}, {"PMI_RANK", "0"}}), "pmix");
  EXPECT_EQ(plugin({{"PMI_RANK", "0"}}), "pmi2");
  EXPECT_EQ(plugin({}), "none named");
}

TEST(InnerEnvironment, LosesTheOuterStep) {
  EXPECT_EQ(inner_environment({"PATH=/bin", "SLURM_JOB_ID=12", "SLURM_CONF=/etc/slurm.conf", "SLURM_NTASKS=2",
                               "SLURM_STEP_ID=0", "SLURM_NTASKS_PER_GPU=1", "SLURMD_NODENAME=n1",
                               "SRUN_CPUS_PER_TASK=2", "PMIX_RANK=0", "PMI_FD=5", "OMPI_COMM_WORLD_RANK=0",
                               "OMPI_MCA_btl=self,tcp", "OMP_NUM_THREADS=1"}),
            (std::vector<std::string>{"PATH=/bin", "SLURM_JOB_ID=12", "SLURM_CONF=/etc/slurm.conf",
                                      "OMPI_MCA_btl=self,tcp", "OMP_NUM_THREADS=1"}));
}

TEST(Shortage, OfCores) {
  EXPECT_EQ(shortage({gpu_node("n1", 1, kFour, 1)}, {4}, {"drl_train", "--task", "Cart Pole"}),
            "4 ranks share 1 core of n1 (the job was granted no more): faster is\n"
            "  srun -N1 --ntasks-per-node=4 --gpus-per-node=4 -c1 drl_train --task 'Cart Pole'");
  EXPECT_EQ(shortage({gpu_node("n1", 1, kFour, 4)}, {4}, {"drl_train"}), "");
}

TEST(Shortage, OfMemory) {
  EXPECT_EQ(shortage({gpu_node("n1", 1, kFour, 4, 900)}, {4}, {"drl_train"}),
            "4 ranks share 900 MiB of n1 (the job was granted no more): safer is --mem=1024M or more");
  EXPECT_EQ(shortage({gpu_node("n1", 1, kFour, 4, 1024)}, {4}, {"drl_train"}), "");
}

TEST(IdleDevices, OfAPlainStartInAJob) {
  std::map<std::string, std::string> batch = {{"SLURM_JOB_ID", "12"},
                                              {"SLURM_JOB_NUM_NODES", "2"},
                                              {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"},
                                              {"SLURM_PROCID", "0"}};
  EXPECT_EQ(idle_devices(of(batch), {"./drl_train", "--task", "Cartpole"}),
            "this job has 16 CPUs on 2 nodes, and a start without srun uses one: \"srun ./drl_train --task Cartpole\" "
            "uses all");
  batch["SLURM_GPUS_ON_NODE"] = "4";
  EXPECT_TRUE(idle_devices(of(batch), {"drl_train"}).starts_with("this job has 8 GPUs on 2 nodes"));
  batch.erase("SLURM_GPUS_ON_NODE");  // salloc's shell has not got it
  batch["SLURM_GPUS_PER_NODE"] = "a100:4";
  EXPECT_TRUE(idle_devices(of(batch), {"drl_train"}).starts_with("this job has 8 GPUs on 2 nodes"));
  batch["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(idle_devices(of(batch), {"drl_train"}), "");
  EXPECT_EQ(idle_devices(of({}), {"drl_train"}), "");
  EXPECT_EQ(idle_devices(of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_CPUS_PER_NODE", "1"}}), {"drl_train"}), "");
}

}  // namespace
}  // namespace drl
