// drl_doctor and the preflight of drl_train on two nodes, without and with faults.
#include "../doctor/program.hpp"
#include "../support/mentions.hpp"
#include "slurm.hpp"

namespace drl::test {
namespace {

class DoctorOnNodes : public SlurmTest {
 protected:
  std::string runs() const { return folder / "runs"; }
  Words doctor(const Words& options = {}) const { return Words{kDoctor, "--runs_dir", runs()} + options; }
  // Starts two ranks on each of two nodes, where a shell runs `script` before `words`.
  Result four_ranks(const std::string& script, const Words& words) const {
    const Words srun = {"srun", "-N2", "--ntasks-per-node=2", "bash", "-c", script + "; exec \"$@\"", "bash"};
    return run_for_long(srun + words);
  }
  // Expects that the line of a check has this status ("ok", "warning", "failed", or "" for any) and mentions all
  // `parts`.
  static void expect_check(const Result& result, const std::string& check, const std::string& status,
                           std::initializer_list<std::string_view> parts) {
    SCOPED_TRACE(check + " in " + result.out + result.err);
    const std::string line = lines_of_check(result.out, check);
    EXPECT_TRUE(line.starts_with(status)) << line;
    expect_mentions(line, parts);
  }
  void expect_no_files_left() const { EXPECT_EQ(folder.names(), std::vector<std::string>{}); }
};

TEST_F(DoctorOnNodes, TheReadmeCommandGivesEachGpuARank) {
  const Result result =
      expect_exit(run_for_long("srun -N2 --gpus-per-node=4"_words + doctor({"--json", folder / "found"})), 0);
  expect_mentions(result.out,
                  {"8 ranks on 2 nodes", "\n  0-3    node1  0-3 ", "\n  4-7    node2  0-3 ", "srun", "SLURM_PROCID"});
  expect_check(result, "MPI exchange", "ok", {"8 ranks", "2 nodes"});
  expect_check(result, "all-reduce, node", "", {"4 ranks"});
  expect_check(result, "all-reduce, all", "", {"8 ranks"});
  expect_check(result, "run directory", "", {"lock"});
  expect_check(result, "time left", "", {"0:09:"});  // of the partition's 10 minutes
  const std::string slurm = output_of("scontrol --version"_words);
  expect_check(result, "Slurm", "", {slurm.substr(0, slurm.find('\n')), "batch job"});
  const auto json = nlohmann::json::parse(slurp(folder / "found"));
  EXPECT_EQ(json.at("ranks").size(), 8u);
  EXPECT_EQ(json.at("ranks")[7].at("host"), "node2");
  EXPECT_EQ(json.at("figures").at("all_reduce_of_all_ranks")[0].at("bytes"), 4);
  fs::remove(folder / "found");
  expect_no_files_left();
}

TEST_F(DoctorOnNodes, ARankThatNeverArrivesIsNamed) {
  const Result result = four_ranks("if [ $SLURM_PROCID = 3 ]; then exec sleep 1000; fi", doctor("--timeout 8"_words));
  EXPECT_NE(result.exit_code, 0);  // that of the sleeping rank, which Slurm kills
  expect_check(result, "MPI start", "failed", {"rank 0", "node1", "MPI_Init", "8 s", "rank 3"});
  expect_no_files_left();
}

TEST_F(DoctorOnNodes, ARankThatStopsIsNamedWithItsNode) {
  const Result result = four_ranks("if [ $SLURM_PROCID = 2 ]; then export FAULT=stop LD_PRELOAD=" + kFaultyMpi + "; fi",
                                   doctor("--timeout 10"_words));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  expect_check(result, "MPI exchange", "failed", {"rank 2 on node2", "10 s"});
}

// Gives each node its own /mnt.
constexpr const char* kOwnMount = "mount -t tmpfs tmpfs /mnt";
Words in_own_mounts(const Words& srun, const Words& words) {
  return srun + Words{"unshare", "--mount", "bash", "-c", std::string(kOwnMount) + "; exec \"$@\"", "bash"} + words;
}

TEST_F(DoctorOnNodes, ARunsDirectoryThatIsNotSharedIsNamed) {
  expect_check(expect_exit(run_for_long(in_own_mounts({"srun", "-N2"}, {kDoctor, "--device", "cpu", "--runs_dir",
                                                                        "/mnt/runs", "--ranks", "1"})),
                           1),
               "run directory", "failed", {"/mnt/runs", "rank 1 on node2", "node1", "No such file or directory"});
}

TEST_F(DoctorOnNodes, TrainingWarnsOfARunsDirectoryThatIsNotShared) {
  const Words train = Words{kTrain} +
                      "--task Cartpole --num_envs 16 --num_steps_per_env 4 --max_iterations 2 --device cpu "
                      "--runs_dir /mnt/runs --ranks 1 --quiet --run_name r"_words;
  const Result result = expect_exit(run_for_long(in_own_mounts({"srun", "-N2"}, train)), 0);
  EXPECT_TRUE(result.err.starts_with("warning: ")) << result.err;
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  expect_mentions(result.err, {"/mnt/runs/Cartpole/r ", "node2", "--runs_dir", "DRL_RUNS_DIR"});
}

TEST_F(DoctorOnNodes, TwoRanksOnOneGpuAreRefused) {
  expect_check(expect_exit(run_for_long("srun -N1 --ntasks-per-node=2 --gpus-per-node=1"_words + doctor()), 1),
               "placement", "failed", {"2 ranks", "1 GPU", "--ntasks-per-node=1"});
}

// Uses the CPU emulation of CUDA in tests/gpu. Each task sees one GPU, of this number.
Words on_gpus(const std::string& number) {
  return {"srun",
          "-N2",
          "--ntasks-per-node=2",
          "bash",
          "-c",
          "export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID DRL_HOST_GPUS=\"H100 $((" + number + "))\"; exec \"$@\"",
          "bash",
          built("tests/doctor/drl_doctor_on_host")};
}

// srun gives each task one core, which is too few for NCCL between nodes.
TEST_F(DoctorOnNodes, FourGpusPassAllChecksButThatOfCores) {
  const Result result = expect_exit(
      run_for_long(on_gpus("SLURM_PROCID + 1") + Words{"--runs_dir", runs(), "--json", folder / "found"}), 1);
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
  expect_check(result, "GPUs", "ok", {"4 ranks"});
  expect_check(result, "GPU setup", "failed",
               {"node1", "one core", "NVLink", "->", "--cpus-per-task", "--gpu-bind=none"});
  expect_check(result, "NCCL network", "ok", {"Socket (eth0)"});
  expect_check(result, "GPU sums, node", "", {"2 ranks"});
  expect_check(result, "GPU sums, all", "", {"4 ranks"});
  const auto json = nlohmann::json::parse(slurp(folder / "found"));
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_in_a_node")[0].at("ranks"), 2);
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_of_all_ranks")[0].at("ranks"), 4);
}

TEST_F(DoctorOnNodes, TwoRanksOnOneGpuAreNamed) {
  expect_check(
      expect_exit(run_for_long(on_gpus("SLURM_PROCID == 3 ? 3 : SLURM_PROCID + 1") + Words{"--runs_dir", runs()}), 1),
      "GPUs", "failed", {"ranks 2, 3 on node2", "H100", "0000:03:00", "GPU-03030303-0303-0303-0303-030303030303"});
}

TEST_F(DoctorOnNodes, AJobThatEndsSoonIsAWarning) {
  expect_check(expect_exit(run_for_long("srun -N1 -t 2"_words + doctor("--ranks 1"_words)), 0), "time left", "warning",
               {" 0:0"});
}

TEST_F(DoctorOnNodes, ABatchJobReportsWhetherItMayBeRequeued) {
  for (const std::string option : {"--requeue", "--no-requeue"}) {
    const std::string out = folder / "out";
    output_of(
        {"sbatch", "--wait", option, "-N1", "-o", out, "--wrap", "srun -n1 " + kDoctor + " --runs_dir " + runs()});
    const std::string line = lines_of_check(slurp(out), "Slurm");
    expect_mentions(line, {"be requeued"});
    EXPECT_EQ(holds(line, "not be"), option == "--no-requeue") << line;
  }
}

TEST_F(DoctorOnNodes, RanksStartedInSallocAreSpreadOverTheNodes) {
  expect_mentions(
      expect_exit(run_for_long("salloc -N2 --ntasks-per-node=2"_words + doctor("--ranks 4 --device cpu"_words)), 0).out,
      {"4 ranks on 2 nodes", "srun"});
}

}  // namespace
}  // namespace drl::test
