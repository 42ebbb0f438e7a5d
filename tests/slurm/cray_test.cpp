// The launch lines on a cluster whose tasks get the variables of Slurm's mpi/cray_shasta, as on HPE Cray machines
// (./cray_prolog); MPI itself goes over PMIx here.
#include "../doctor/program.hpp"
#include "batch.hpp"

namespace drl::test {
namespace {

const Words kCard = {"srun", "-N2", "--gpus-per-node=4"};  // the line that README leads with

class Cray : public BatchTest {
 protected:
  // Of a run on all GPUs.
  void expect_eight_ranks(const std::string& name) const {
    const nlohmann::json record = run_json(run(name));
    EXPECT_EQ(record["world_size"], 8);
    EXPECT_EQ(record["hosts"].size(), 2u);
    EXPECT_EQ(record["launcher"], "srun");
    EXPECT_EQ(record["status"], "done");
  }
};

TEST_F(Cray, TasksHaveVariablesOfPals) {
  const std::string tasks = output_of({"srun", "-n2", "env"});
  for (const char* variable : {"\nPALS_RANKID=1\n", "\nPALS_LOCAL_RANKID=1\n", "\nPMI_SIZE=2\n"})
    EXPECT_TRUE(says(tasks, variable));
  EXPECT_EQ(tasks.find("PALS_SIZE"), std::string::npos);
}

// Sites set MPICH_GPU_SUPPORT_ENABLED for all.
TEST_F(Cray, TheCardsLineUsesAllGpus) {
  const Result result = run_for_long(kCard + Words{kTrain, "--run_name", "card"} + small_run(2),
                                     {{"MPICH_GPU_SUPPORT_ENABLED", "1"}, {"MPICH_OFI_NIC_POLICY", "GPU"}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_eight_ranks("card");
  const std::string said =
      "MPI carries host data only: MPICH_GPU_SUPPORT_ENABLED=1 is set to 0, MPICH_OFI_NIC_POLICY=GPU is unset\n";
  const size_t first = result.err.find(said);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("MPICH_", first + said.size()), std::string::npos) << "said once: " << result.err;
}

TEST_F(Cray, TheBatchScriptsToo) {
  const std::string job = submit(Words{kBatch + "train_2node.sbatch"} + small_run(2));
  ASSERT_TRUE(completes(job));
  expect_eight_ranks("slurm-" + job);
  const std::string eval =
      submit({kBatch + "eval.sbatch", "--run", "runs/CartPole-v1/slurm-" + job, "--episodes", "4"});
  ASSERT_TRUE(completes(eval)) << log("drl-eval-" + eval + ".out");
  EXPECT_TRUE(log("drl-eval-" + eval + ".out").starts_with("return mean "));
  EXPECT_TRUE(output_of({"srun", kEval, "--run", "runs/CartPole-v1/slurm-" + job, "--episodes", "4"})
                  .starts_with("return mean "));
}

TEST_F(Cray, TheDoctorToo) {
  const Result result = run_for_long(kCard + Words{kDoctor}, {{"MPICH_GPU_SUPPORT_ENABLED", "1"}});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(says(result.out, ": 8 ranks on 2 nodes, started by srun\n"));
  EXPECT_TRUE(says(result.out, "  GTL          off (MPICH_GPU_SUPPORT_ENABLED=0)\n"));
}

}  // namespace
}  // namespace drl::test
