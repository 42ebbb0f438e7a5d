// Launch lines on a cluster whose tasks get the variables of Slurm's mpi/cray_shasta (./cray_prolog), as on HPE Cray
// machines. MPI itself uses PMIx here.
#include "../doctor/program.hpp"
#include "batch.hpp"

namespace drl::test {
namespace {

const Words kReadmeCommand = "srun -N2 --gpus-per-node=4"_words;

class Cray : public BatchTest {
 protected:
  // Expects that the run used all GPUs.
  void expect_eight_ranks(const std::string& name) const {
    const nlohmann::json record = run_json(run(name));
    EXPECT_EQ(record["world_size"], 8);
    EXPECT_EQ(record["hosts"].size(), 2u);
    EXPECT_EQ(record["launcher"], "srun");
    EXPECT_EQ(record["status"], "done");
  }
};

TEST_F(Cray, TasksHaveVariablesOfPals) {
  const std::string tasks = output_of("srun -n2 env"_words);
  for (const char* variable : {"\nPALS_RANKID=1\n", "\nPALS_LOCAL_RANKID=1\n", "\nPMI_SIZE=2\n"})
    expect_mentions(tasks, {variable});
  EXPECT_EQ(tasks.find("PALS_SIZE"), std::string::npos);
}

// Sites may set MPICH_GPU_SUPPORT_ENABLED for all users.
TEST_F(Cray, TheReadmeCommandUsesAllGpus) {
  const Result result = run_for_long(kReadmeCommand + Words{kTrain, "--run_name", "card"} + small_run(2),
                                     {{"MPICH_GPU_SUPPORT_ENABLED", "1"}, {"MPICH_OFI_NIC_POLICY", "GPU"}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_eight_ranks("card");
  const size_t first = result.err.find("MPICH_");
  ASSERT_NE(first, std::string::npos) << result.err;
  const size_t end = result.err.find('\n', first);
  expect_mentions(result.err.substr(first, end - first), {"MPICH_GPU_SUPPORT_ENABLED=1", "MPICH_OFI_NIC_POLICY=GPU"});
  EXPECT_EQ(result.err.find("MPICH_", end), std::string::npos) << "it should be reported once: " << result.err;
}

TEST_F(Cray, BatchScriptsUseAllGpus) {
  const std::string job = complete(Words{kBatch + "train_2node.sbatch"} + small_run(2));
  expect_eight_ranks("slurm-" + job);
  const std::string eval =
      submit({kBatch + "eval.sbatch", "--run", "runs/CartPole-v1/slurm-" + job, "--episodes", "4"});
  ASSERT_TRUE(completes(eval)) << log("drl-eval-" + eval + ".out");
  EXPECT_TRUE(log("drl-eval-" + eval + ".out").starts_with("return mean "));
  EXPECT_TRUE(output_of({"srun", kEval, "--run", "runs/CartPole-v1/slurm-" + job, "--episodes", "4"})
                  .starts_with("return mean "));
}

TEST_F(Cray, TheDoctorChecksAllGpus) {
  expect_mentions(
      expect_exit(run_for_long(kReadmeCommand + Words{kDoctor}, {{"MPICH_GPU_SUPPORT_ENABLED", "1"}}), 0).out,
      {"8 ranks on 2 nodes", "GTL", "MPICH_GPU_SUPPORT_ENABLED=0"});
}

}  // namespace
}  // namespace drl::test
