// Tests of drl_train on the CPU emulation of the CUDA runtime (tests/gpu). Variables DRL_HOST_... define the GPUs and
// plant faults.
#include "../support/pretended_gpu.hpp"
#include "comm/mpi_library.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

class GpuRun : public testing::Test {
 protected:
  void SetUp() override {
    if (!mpi_version().starts_with("Open MPI")) GTEST_SKIP() << "needs Open MPI's mpirun";
  }
  // Trains on `ranks` ranks. The command of each rank begins with the words of `wrapper`.
  Result train(const Words& wrapper, int ranks = 1, const Words& more = {}) const {
    Words words;
    if (ranks > 1) words = {mpiexec(), "--quiet", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
    words = words + wrapper + Words{built("tests/apps/drl_train_on_host"), "--task", "Cartpole", "--num_envs", "16"};
    words = words + Words{"--num_steps_per_env", "4", "--max_iterations", "2", "--runs_dir", runs()} + more;
    return run_program(words, {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  }
  // Expects one line, this exit code, and no files.
  void expect_error(const Result& result, int exit_code, std::initializer_list<std::string_view> parts) const {
    drl::expect_error(result, parts, exit_code);
    EXPECT_FALSE(fs::exists(runs())) << "a run was begun";
  }
  fs::path runs() const { return folder / "runs"; }

  TempFolder folder;
};

const Words kTwoGpus = {"env", "DRL_HOST_GPUS=H100 1,H100 2"};

TEST_F(GpuRun, TrainsOnOneGpuAndOnTwo) {
  for (int ranks : {1, 2}) {
    const Result result =
        expect_exit(train(kTwoGpus, ranks, {"--run_name", std::to_string(ranks), "--device", "cuda"}), 0);
    EXPECT_NE(result.out.find("NCCL 2.28.9"), std::string::npos) << result.out;
    EXPECT_TRUE(fs::exists(runs() / "Cartpole" / std::to_string(ranks) / "checkpoints" / "iter_000002.h5"));
  }
}

// A student with a GRU learns from a teacher with an LSTM.
TEST_F(GpuRun, TrainsRecurrentPoliciesAndDistillsThem) {
  const Words on_gpu = "--device cuda --policy.rnn_hidden_dim 8"_words;
  const Result teacher = expect_exit(train(kTwoGpus, 2, on_gpu + "--run_name teacher --policy.rnn_type lstm"_words), 0);
  const Result student = expect_exit(
      train(kTwoGpus, 2,
            on_gpu + Words{"--run_name", "student", "--policy.rnn_type", "gru", "--algorithm", "distill", "--teacher",
                           (runs() / "Cartpole" / "teacher").string(), "--distill.gradient_length", "2"}),
      0);
  EXPECT_TRUE(fs::exists(runs() / "Cartpole" / "student" / "checkpoints" / "iter_000002.h5"));
}

// Slurm and hwloc number GPUs by PCI address; CUDA's default begins with the fastest one.
TEST_F(GpuRun, NumbersGpusByTheirPciAddress) {
  const Words fastest_first = {"env", "DRL_HOST_GPUS=H100 2,A100 1"};
  const auto model = [&](const Words& variables, const std::string& name) {
    const Result result =
        expect_exit(train(fastest_first + variables, 1, {"--run_name", name, "--device", "cuda:0"}), 0);
    std::string names;
    for (const char* one : {"A100", "H100"})
      if (result.out.find(one) != std::string::npos) names += one;
    return names;
  };
  EXPECT_EQ(model({}, "a"), "A100");
  EXPECT_EQ(model({"CUDA_DEVICE_ORDER=FASTEST_FIRST"}, "b"), "H100") << "the user's setting is kept";
}

TEST_F(GpuRun, CublasAndNcclAreOpenedOnlyForAGpu) {
  const Words missing = kTwoGpus + Words{"DRL_HOST_FAULT=no_libraries"};
  for (int ranks : {1, 2})
    expect_error(train(missing, ranks), 2, {"cuBLAS and NCCL", "drl_gpu.so", "install drl again", "--device cpu"});
  expect_exit(train(missing, 1, {"--device", "cpu"}), 0);
}

// Runs two ranks, for each of which a shell executes `setup` with its number in $rank first.
Words two_ranks(const std::string& setup) {
  return {"bash", "-c", "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; " + setup + "; exec \"$@\"", "bash"};
}

TEST_F(GpuRun, WarnsOnceOfSettingsWithWhichNcclIsSlow) {
  const std::string own_gpu = "export CUDA_VISIBLE_DEVICES=$rank DRL_HOST_GPUS=\"H100 $((rank + 1))\"",
                    own_node = "export LD_PRELOAD=" + built("tests/doctor/libfaulty_mpi.so") + " HOST_NAME=node$rank";
  const Result hidden = expect_exit(train(two_ranks(own_gpu), 2, {"--quiet"}), 0,
                                    {"warning: ", "2 ranks on ", "NVLink", "--gpu-bind=none"});
  EXPECT_EQ(count_lines(hidden.err), 1u) << hidden.err;

  const Result one_core =
      expect_exit(train(two_ranks("taskset -cp 0 $$ >/dev/null; " + own_gpu + "; " + own_node), 2, {"--quiet"}), 0,
                  {"warning: ", "node0", "one core", "--cpus-per-task"});
  EXPECT_EQ(count_lines(one_core.err), 1u) << one_core.err;
}

TEST_F(GpuRun, ADriverThatIsTooOldIsAUsageError) {
  const Words old = kTwoGpus + Words{"DRL_HOST_FAULT=old_driver"};
  for (int ranks : {1, 2})
    expect_error(train(old, ranks, {"--device", "cuda"}), 2,
                 {"--device cuda ", "insufficient", "CUDA 12.2", "CUDA 13.0", "update the driver", "--device cpu"});
  expect_exit(train(old, 1, {"--device", "cpu"}), 0);
}

// The engine is recorded with the run, so an engine that the device does not have is an error.
TEST_F(GpuRun, EnginesOfOtherDevicesAreUsageErrors) {
  for (int ranks : {1, 2}) {
    expect_error(train(kTwoGpus, ranks, {"--nets", "torch"}), 2,
                 {"--nets torch ", "GPUs", "--nets auto", "--device cpu"});
    expect_error(train(kTwoGpus, ranks, {"--precision", "bf16"}), 2,
                 {"--precision bf16 ", "GPUs", "--nets fused", "--precision fp32", "--device cpu"});
  }
  expect_error(train(kTwoGpus, 1, {"--precision", "fp16", "--device", "cpu"}), 2,
               {"--precision fp16 ", "CPUs", "--precision bf16", "--nets fused"});
  expect_error(train(kTwoGpus, 1, {"--precision", "tf32", "--device", "cpu"}), 2,
               {"--precision tf32 ", "CPUs", "--precision bf16", "--device cuda"});
  expect_error(train(kTwoGpus, 1, {"--precision", "tf32", "--nets", "fused"}), 2,
               {"--precision tf32 ", "--nets fused", "--precision fp16", "--nets auto"});
  expect_exit(train(kTwoGpus, 1, {"--nets", "fused", "--device", "cpu"}), 0);
}

TEST_F(GpuRun, Tf32IsNamedAtTheStart) {
  expect_mentions(expect_exit(train(kTwoGpus, 1, {"--precision", "tf32"}), 0).out, {"cuBLAS in TF32"});
}

// Cartpole's preset has layers of 32 units.
TEST_F(GpuRun, TheFusedEngineTrainsAndIsNamedAtTheStart) {
  for (const std::string precision : {"fp32", "fp16", "bf16"}) {
    expect_mentions(
        expect_exit(train(kTwoGpus, 1, {"--nets", "fused", "--precision", precision, "--eval_interval", "2"}), 0).out,
        {"fused kernels"});
  }
  const Words wide = "--nets fused --policy.actor_hidden_dims [40]"_words;
  expect_mentions(expect_exit(train(kTwoGpus, 1, wide), 0).out,
                  {"cuBLAS", "fused engine is not used", "32, 64 or 128"});
}

TEST_F(GpuRun, AGpuOfAnotherVendorIsAUsageError) {
  const Words node = with_amd_gpu();
  if (node.empty()) GTEST_SKIP() << "needs the right to mount a directory, and no NVIDIA GPU";
  const Words no_driver = node + "env DRL_HOST_FAULT=no_driver"_words;
  expect_error(train(no_driver, 1, {"--device", "cuda"}), 2, {"--device cuda ", "AMD GPUs", "NVIDIA", "--device cpu"});
  const Words granted = no_driver + "SLURM_JOB_ID=1 ROCR_VISIBLE_DEVICES=0"_words;
  expect_error(train(granted), 2, {"idle", "AMD GPUs", "NVIDIA", "--device cpu"});
  EXPECT_EQ(train(no_driver).exit_code, 0) << "by default, drl computes on the CPU";
}

// In the exclusive compute mode, one process at a time can use a GPU.
TEST_F(GpuRun, AGpuThatIsTakenIsOneLine) {
  for (int ranks : {1, 2})
    expect_error(train(kTwoGpus + Words{"DRL_HOST_FAULT=taken"}, ranks), 1,
                 {"GPU 0 cannot be used", "DevicesUnavailable", "exclusively", "nvidia-smi -q -d COMPUTE"});
  const std::string second = "export DRL_HOST_GPUS=\"H100 1,H100 2\"; [ $rank = 0 ] || export DRL_HOST_FAULT=taken";
  expect_error(train(two_ranks(second), 2), 1, {"rank 1", "GPU 1 cannot be used", "nvidia-smi -q -d COMPUTE"});
}

TEST_F(GpuRun, AFullGpuIsOneLine) {
  for (int ranks : {1, 2})
    expect_error(train(kTwoGpus + Words{"DRL_HOST_FAULT=no_memory"}, ranks), 1,
                 {"no GPU memory for ", "are free", "--num_envs", "no other program"});
  for (int ranks : {1, 2})
    expect_error(train(kTwoGpus + Words{"DRL_HOST_FAULT=no_blas"}, ranks), 1, {"cuBLAS cannot start", "--num_envs"});
}

// Makes the program open the stand-in for NVML (tests/comm/nvml_stub.cpp), in which GPU N uses 1000 N joules between
// two reads of its counter. `fault`: as in STUB_NVML.
Words with_nvml(const std::string& fault = "") {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  return kTwoGpus + Words{"LD_LIBRARY_PATH=" + built("tests/comm/nvml") + ":" + std::string(path ? path : ""),
                          "STUB_NVML=" + fault};
}

// The counters are read at the start and at each save.
TEST_F(GpuRun, TheEnergyOfAllStartsIsInRunJson) {
  const auto joules_after = [&](const std::string& iterations, const std::string& shown) {
    const Result result = expect_exit(
        train(with_nvml(), 1, {"--run_name", "r", "--save_interval", "2", "--max_iterations", iterations}), 0);
    EXPECT_NE(result.out.find(shown), std::string::npos) << result.out;
    return run_json(runs() / "Cartpole" / "r").at("gpu_energy_joules").get<double>();
  };
  EXPECT_EQ(joules_after("5", "3.00 kJ on 1 GPU ("), 3000) << "saved after iterations 2, 4 and 5";
  EXPECT_EQ(joules_after("5", "nothing to do"), 3000);
  EXPECT_EQ(joules_after("6", "4.00 kJ"), 4000);
}

TEST_F(GpuRun, TheEnergyOfAllRanksIsInRunJson) {
  const Result result =
      expect_exit(train(with_nvml(), 2, {"--run_name", "r", "--save_interval", "1", "--max_iterations", "3"}), 0);
  EXPECT_EQ(run_json(runs() / "Cartpole" / "r").at("gpu_energy_joules"), 3 * (1000 + 2000));
  EXPECT_NE(result.out.find("9.00 kJ on 2 GPUs (0.0025 kWh)"), std::string::npos) << result.out;
}

TEST_F(GpuRun, UnknownEnergyIsNotShown) {
  const auto expect_none = [&](const std::string& name, const Words& wrapper, const Words& more = {}) {
    const Result result = expect_exit(train(wrapper, 1, Words{"--run_name", name} + more), 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out.find("energy"), std::string::npos) << result.out;
    EXPECT_FALSE(run_json(runs() / "Cartpole" / name).contains("gpu_energy_joules"));
  };
  expect_none("without_nvml", kTwoGpus);
  for (const char* fault : {"no_driver", "no_counter", "mig"}) expect_none(fault, with_nvml(fault));
  expect_none("cpu", with_nvml(), {"--device", "cpu"});
}

}  // namespace
}  // namespace drl::test
