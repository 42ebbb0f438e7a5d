// Tests of drl_train on the CPU emulation of the CUDA runtime (tests/gpu). Variables DRL_HOST_... define the GPUs and
// plant faults.
#include <gtest/gtest.h>

#include "programs.hpp"

namespace drl::test {
namespace {

class GpuRun : public testing::Test {
 protected:
  // Trains on `ranks` ranks. `variables` apply to all of them.
  Result train(const Words& variables, int ranks = 1, const Words& more = {}) const {
    Words words = {"env"};
    if (ranks > 1) words = {DRL_MPIEXEC, "--quiet", "--oversubscribe", "-n", std::to_string(ranks), "env"};
    words = words + variables + Words{DRL_TRAIN_ON_HOST, "--task", "Cartpole", "--num_envs", "16"};
    words = words + Words{"--num_steps_per_env", "4", "--max_iterations", "2", "--runs_dir", runs().string()} + more;
    return run_program(words, {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  }
  // Expects one line, this exit code, and no files.
  void expect_error(const Result& result, int exit_code, const std::vector<std::string>& parts) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) EXPECT_NE(result.err.find(part), std::string::npos) << part << result.err;
    EXPECT_FALSE(fs::exists(runs())) << "a run was begun";
  }
  fs::path runs() const { return folder / "runs"; }

  TempFolder folder;
};

const Words kTwoGpus = {"DRL_HOST_GPUS=H100 1,H100 2"};

TEST_F(GpuRun, TrainsOnOneGpuAndOnTwo) {
  for (int ranks : {1, 2}) {
    const Result result = train(kTwoGpus, ranks, {"--run_name", std::to_string(ranks), "--device", "cuda"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("NCCL 2.28.9"), std::string::npos) << result.out;
    EXPECT_TRUE(fs::exists(runs() / "Cartpole" / std::to_string(ranks) / "checkpoints" / "iter_000002.h5"));
  }
}

TEST_F(GpuRun, CublasAndNcclAreOpenedOnlyForAGpu) {
  const Words missing = kTwoGpus + Words{"DRL_HOST_FAULT=no_libraries"};
  for (int ranks : {1, 2})
    expect_error(train(missing, ranks), 2, {"cuBLAS and NCCL", "drl_gpu.so", "LD_LIBRARY_PATH", "--device cpu"});
  EXPECT_EQ(train(missing, 1, {"--device", "cpu"}).exit_code, 0);
}

}  // namespace
}  // namespace drl::test
