// drl_doctor, and the preflight of drl_train, on two nodes: all is well, and faults are planted.
#include "../doctor/program.hpp"
#include "slurm.hpp"

namespace drl::test {
namespace {

class DoctorOnNodes : public SlurmTest {
 protected:
  std::string runs() const { return folder / "runs"; }
  Words doctor(const Words& options = {}) const { return Words{kDoctor, "--runs_dir", runs()} + options; }
  // Two nodes with two ranks each, on which a shell runs `script` before `words`.
  Result four_ranks(const std::string& script, const Words& words) const {
    const Words srun = {"srun", "-N2", "--ntasks-per-node=2", "bash", "-c", script + "; exec \"$@\"", "bash"};
    return run_for_long(srun + words);
  }
  std::string found(const Result& result, const std::string& check) const { return lines_of_check(result.out, check); }
  void expect_nothing_left() const { EXPECT_EQ(folder.names(), std::vector<std::string>{}); }
};

// The line that README leads with.
TEST_F(DoctorOnNodes, GiveEachGpuARank) {
  const Result result = run_for_long(Words{"srun", "-N2", "--gpus-per-node=4"} + doctor({"--json", folder / "found"}));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, ": 8 ranks on 2 nodes, started by srun\n")) << result.out;
  EXPECT_TRUE(holds(result.out, "\n  0-3    node1  0-3 ")) << result.out;
  EXPECT_TRUE(holds(result.out, "\n  4-7    node2  0-3 ")) << result.out;
  EXPECT_EQ(found(result, "MPI exchange"), "ok       MPI exchange       8 ranks on 2 nodes, and all answer");
  EXPECT_TRUE(holds(found(result, "all-reduce, node"), "4 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(found(result, "all-reduce, all"), "8 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(found(result, "run directory"), "all nodes read it, its lock holds, ")) << result.out;
  EXPECT_TRUE(holds(found(result, "time left"), "0:09:")) << result.out;  // the partition's 10 minutes
  const std::string slurm = output_of({"scontrol", "--version"});
  EXPECT_TRUE(holds(found(result, "Slurm"), "  " + slurm.substr(0, slurm.find('\n')) + "; job ") &&
              holds(found(result, "Slurm"), " is no batch job"))
      << result.out;
  EXPECT_TRUE(holds(result.out, "launcher     srun (SLURM_PROCID, SLURM_")) << result.out;
  const auto json = nlohmann::json::parse(slurp(folder / "found"));
  EXPECT_EQ(json.at("ranks").size(), 8u);
  EXPECT_EQ(json.at("ranks")[7].at("host"), "node2");
  EXPECT_EQ(json.at("figures").at("all_reduce_of_all_ranks")[0].at("bytes"), 4);
  fs::remove(folder / "found");
  expect_nothing_left();
}

TEST_F(DoctorOnNodes, ARankThatNeverArrivesIsNamed) {
  const Result result = four_ranks("if [ $SLURM_PROCID = 3 ]; then exec sleep 1000; fi", doctor({"--timeout", "8"}));
  EXPECT_NE(result.exit_code, 0);  // Slurm kills the sleeping rank, and returns that
  EXPECT_TRUE(found(result, "MPI start")
                  .starts_with("failed   MPI start          rank 0 of 4 (node1) has been in MPI_Init for 8 s; rank 3 "
                               "never arrived\n         -> look for rank 3 ("))
      << result.out << result.err;
  expect_nothing_left();
}

TEST_F(DoctorOnNodes, ARankThatStopsIsNamedWithItsNode) {
  const Result result = four_ranks("if [ $SLURM_PROCID = 2 ]; then export FAULT=stop LD_PRELOAD=" DRL_FAULTY_MPI "; fi",
                                   doctor({"--timeout", "10"}));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(found(result, "MPI exchange")
                  .starts_with("failed   MPI exchange       no answer from rank 2 on node2 within 10 s\n"))
      << result.out << result.err;
}

// Each node has a /mnt of its own.
constexpr const char* kOwnMount = "mount -t tmpfs tmpfs /mnt";
Words in_own_mounts(const Words& srun, const Words& words) {
  return srun + Words{"unshare", "--mount", "bash", "-c", std::string(kOwnMount) + "; exec \"$@\"", "bash"} + words;
}

TEST_F(DoctorOnNodes, AFolderThatIsNotSharedIsNamed) {
  const Result result = run_for_long(
      in_own_mounts({"srun", "-N2"}, {kDoctor, "--device", "cpu", "--runs_dir", "/mnt/runs", "--ranks", "1"}));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(found(result, "run directory")
                  .starts_with("failed   run directory      /mnt/runs is not shared: rank 1 on node2 cannot read what "
                               "node1 wrote (No such file or directory)\n         -> name a folder of a file system"))
      << result.out;
}

TEST_F(DoctorOnNodes, SoItIsBeforeARun) {
  const Words train = {DRL_BIN "/drl_train",
                       "--task",
                       "Cartpole",
                       "--num_envs",
                       "16",
                       "--num_steps_per_env",
                       "4",
                       "--max_iterations",
                       "2",
                       "--device",
                       "cpu",
                       "--runs_dir",
                       "/mnt/runs",
                       "--ranks",
                       "1",
                       "--quiet",
                       "--run_name",
                       "r"};
  const Result result = run_for_long(in_own_mounts({"srun", "-N2"}, train));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(
      result.err,
      "warning: the run directory /mnt/runs/Cartpole/r is not on node2 (it is not shared): a requeued job may not "
      "find it again; name a shared folder by --runs_dir or DRL_RUNS_DIR\n");
}

TEST_F(DoctorOnNodes, TwoRanksOnOneGpuAreRefused) {
  const Result result = run_for_long(Words{"srun", "-N1", "--ntasks-per-node=2", "--gpus-per-node=1"} + doctor());
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(
      found(result, "placement")
          .starts_with("failed   placement          2 ranks of this node have only 1 GPU (0; each rank needs its "
                       "own)\n         -> start one rank per GPU, by srun --ntasks-per-node=1"))
      << result.out;
}

// The stand-in of tests/gpu pretends the GPUs: each task sees one, of this number.
Words on_gpus(const std::string& number) {
  return {"srun",
          "-N2",
          "--ntasks-per-node=2",
          "bash",
          "-c",
          "export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID DRL_HOST_GPUS=\"H100 $((" + number + "))\"; exec \"$@\"",
          "bash",
          DRL_DOCTOR_ON_HOST};
}

TEST_F(DoctorOnNodes, FourGpusAreWell) {
  const Result result =
      run_for_long(on_gpus("SLURM_PROCID + 1") + Words{"--runs_dir", runs(), "--json", folder / "found"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(found(result, "GPUs").starts_with("ok       GPUs               4 ranks, each with a GPU of its own"))
      << result.out;
  EXPECT_EQ(found(result, "NCCL network"),
            "ok       NCCL network       Socket (eth0): plain TCP, and nothing faster is there");
  EXPECT_TRUE(holds(found(result, "GPU sums, node"), "2 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(found(result, "GPU sums, all"), "4 ranks, sums right: ")) << result.out;
  const auto json = nlohmann::json::parse(slurp(folder / "found"));
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_in_a_node")[0].at("ranks"), 2);
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_of_all_ranks")[0].at("ranks"), 4);
}

TEST_F(DoctorOnNodes, TwoRanksOnOneGpuAreNamed) {
  const Result result = run_for_long(on_gpus("SLURM_PROCID == 3 ? 3 : SLURM_PROCID + 1") + Words{"--runs_dir", runs()});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(found(result, "GPUs")
                  .starts_with("failed   GPUs               ranks 2, 3 on node2 would compute on the same GPU (H100, "
                               "0000:03:00, GPU-03030303-0303-0303-0303-030303030303)\n         -> start as many "))
      << result.out;
}

TEST_F(DoctorOnNodes, AJobThatEndsSoonIsAWarning) {
  const Result result = run_for_long(Words{"srun", "-N1", "-t", "2"} + doctor({"--ranks", "1"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(found(result, "time left").starts_with("warning  time left          only 0:0")) << result.out;
}

TEST_F(DoctorOnNodes, ABatchJobKnowsWhetherItMayBeRequeued) {
  for (const auto& [option, meaning] :
       {std::pair{"--requeue", " may be requeued"}, {"--no-requeue", " may not be requeued"}}) {
    const std::string out = folder / "out";
    output_of(
        {"sbatch", "--wait", option, "-N1", "-o", out, "--wrap", "srun -n1 " + kDoctor + " --runs_dir " + runs()});
    EXPECT_TRUE(holds(lines_of_check(slurp(out), "Slurm"), meaning)) << slurp(out);
  }
}

TEST_F(DoctorOnNodes, TheJobsShellCanSpreadRanks) {
  const Result result =
      run_for_long(Words{"salloc", "-N2", "--ntasks-per-node=2"} + doctor({"--ranks", "4", "--device", "cpu"}));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, ": 4 ranks on 2 nodes, started by srun\n")) << result.out;
}

}  // namespace
}  // namespace drl::test
