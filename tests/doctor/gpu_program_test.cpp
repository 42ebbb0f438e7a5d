// Tests of drl_doctor with the CPU emulation of the CUDA runtime (tests/gpu). Variables DRL_HOST_... define the GPUs
// and plant faults.
#include <nlohmann/json.hpp>

#include "ranks.hpp"

namespace drl::test {
namespace {

class GpuDoctor : public RanksTest {
 protected:
  Words doctor(const Words& variables, const Words& options = {}) const {
    return Words{"env"} + variables +
           Words{built("tests/doctor/drl_doctor_on_host"), "--runs_dir", (folder / "runs").string()} + options;
  }
  // Runs one rank on GPU 1.
  Result alone(const Words& variables, const Words& options = {}) const {
    return run_program(doctor(Words{"DRL_HOST_GPUS=H100 1"} + variables, options));
  }
  // Runs two ranks that each see one GPU, such as "H100 1": its model and number.
  Result two(const std::string& first, const std::string& second, const Words& first_variables = {},
             const Words& second_variables = {}, const Words& options = {}) const {
    return mpirun(
        {{1, doctor(Words{"CUDA_VISIBLE_DEVICES=0", "DRL_HOST_GPUS=" + first} + first_variables, options)},
         {1, doctor(Words{"CUDA_VISIBLE_DEVICES=1", "DRL_HOST_GPUS=" + second} + second_variables, options)}});
  }
};

TEST_F(GpuDoctor, PassesOnOneGpu) {
  const Result result = expect_exit(alone({}, {"--json", folder / "found.json"}), 0);
  EXPECT_FALSE(holds(result.out, "failed") || holds(result.out, "skipped")) << result.out;
  EXPECT_TRUE(holds(result.out, "  UUID    GPU-01010101-0101-0101-0101-010101010101\n")) << result.out;
  EXPECT_TRUE(holds(result.out, "  PCI     0000:01:00\n")) << result.out;
  expect_check(result, "GPU kernel", "ok", {"1 GPU"});
  expect_check(result, "NCCL end", "ok", {});
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("ranks")[0].at("gpu"), "H100");
  EXPECT_EQ(json.at("ranks")[0].at("device"), "cuda:0");
  EXPECT_EQ(json.at("ranks")[0].at("nccl"), "2.28.9");
  EXPECT_EQ(json.at("figures").at("nccl_network")[0].at("name"), "Socket");
  EXPECT_EQ(folder.names(), Words{"found.json"}) << "files were left behind";
}

TEST_F(GpuDoctor, PassesOnFourGpus) {
  const Result result = expect_exit(
      mpirun({{4, doctor({"DRL_HOST_GPUS=H100 1,H100 2,H100 3,H100 4"}, {"--json", folder / "found.json"})}}), 0);
  EXPECT_FALSE(holds(result.out, "failed")) << result.out;
  EXPECT_TRUE(holds(result.out, "GPU-04040404-0404-0404-0404-040404040404  0000:04:00\n")) << result.out;
  expect_check(result, "NCCL network", "ok", {"Socket (eth0)", "one node"});
  expect_check(result, "GPU sums, node", "", {"4 ranks", "4 B in "});
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("ranks")[3].at("device"), "cuda:3");
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_in_a_node")[1].at("bytes"), 37000);
}

// mpirun's ranks see all GPUs here, and drl asks CUDA for Slurm's order of devices.
TEST_F(GpuDoctor, NamesSettingsThatSlowNcclDown) {
  const Words all = {"DRL_HOST_GPUS=H100 1,H100 2"};
  expect_check(mpirun({{2, doctor(all, {"--json", folder / "found.json"})}}), "GPU setup", "ok", {});
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("ranks")[1].at("device_order"), "PCI_BUS_ID");
  EXPECT_EQ(json.at("ranks")[1].at("visible_gpus"), 2);

  const Result hidden = expect_exit(two("H100 1", "H100 2"), 0);
  expect_check(hidden, "GPU setup", "warning", {"2 ranks on ", "NVLink", "->", "--gpu-bind=none"});
  expect_check(hidden, "placement", "ok", {});

  expect_check(expect_exit(mpirun({{2, doctor(all + Words{"CUDA_DEVICE_ORDER=FASTEST_FIRST"})}}), 0), "GPU setup",
               "warning", {"FASTEST_FIRST", "->", "unset CUDA_DEVICE_ORDER"});

  const auto node = [&](const std::string& name, const std::string& gpu) {
    return Part{1, "taskset -c 0"_words +
                       doctor({"LD_PRELOAD=" + kFaultyMpi, "HOST_NAME=" + name, "DRL_HOST_GPUS=H100 " + gpu})};
  };
  const Result one_core = expect_exit(mpirun({node("node1", "1"), node("node2", "2")}), 1);
  expect_check(one_core, "GPU setup", "failed", {"one core", "->", "--cpus-per-task"});
  expect_check(one_core, "NCCL end", "ok", {});
}

TEST_F(GpuDoctor, SkipsGpusIfTheOptionsSelectTheCpu) {
  for (const Words& options : {"--device cpu"_words, "--gpu_ids None"_words}) {
    const Result result = expect_exit(alone({}, options), 0);
    expect_check(result, "GPUs", "skipped", {"--device", "--gpu_ids"});
    EXPECT_FALSE(holds(result.out, "NCCL start")) << result.out;
  }
}

TEST_F(GpuDoctor, FailsIfTwoRanksShareAGpu) {
  const Result result = expect_exit(two("H100 1", "H100 1"), 1);
  expect_check(result, "GPUs", "failed", {"ranks 0, 1 on ", "H100, 0000:01:00, GPU-01010101-"});
  EXPECT_EQ(lines_of_check(result.out, "NCCL start"), "") << result.out;
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
}

TEST_F(GpuDoctor, FailsInPlacementIfTwoRanksSeeOneGpu) {
  const Result result = expect_exit(mpirun({{2, doctor({"DRL_HOST_GPUS=H100 1"})}}), 1);
  expect_check(result, "placement", "failed", {"1 GPU"});
  expect_check(result, "GPUs", "skipped", {"\"placement\""});
}

// The emulation adds in host memory, which is far slower than NVLink.
TEST_F(GpuDoctor, WarnsOfSlowNvlink) {
  expect_check(expect_exit(two("H100 1", "H100 2"), 0), "GPU sums, node", "warning",
               {"2 ranks", "->", "150 GB/s", "NVLink"});
}

TEST_F(GpuDoctor, NamesAnOldDriverAndATakenGpu) {
  expect_check(expect_exit(alone({"DRL_HOST_FAULT=old_driver"}), 0), "GPUs", "warning",
               {"CUDA 12.2", "CUDA 13.0", "->", "update the driver"});
  expect_check(expect_exit(alone({"DRL_HOST_FAULT=taken"}), 1), "GPU kernel", "failed",
               {"DevicesUnavailable", "->", "nvidia-smi -q -d COMPUTE"});
}

// Rank 0's node has no trouble.
TEST_F(GpuDoctor, NamesAnOldDriverOfAnotherNode) {
  const auto node = [&](const std::string& name, const Words& fault) {
    return Part{1, doctor(Words{"LD_PRELOAD=" + kFaultyMpi, "HOST_NAME=" + name, "DRL_HOST_GPUS=H100 1"} + fault)};
  };
  expect_check(expect_exit(mpirun({node("node1", {}), node("node2", {"DRL_HOST_FAULT=old_driver"})}), 1), "GPUs",
               "failed", {"CUDA 12.2", "CUDA 13.0", "rank 1 on node2", "->", "update the driver", "--exclude"});
}

TEST_F(GpuDoctor, NamesAGpuThatHangs) {
  expect_check(expect_exit(two("H100 1", "H100 2", {}, {"DRL_HOST_FAULT=kernel_hangs"}, {"--timeout", "4"}), 1),
               "GPU kernel", "failed", {"within 2 s (rank 1 on ", "dmesg | grep -i xid"});
}

// NCCL's start hangs on both ranks.
TEST_F(GpuDoctor, NamesRanksThatNcclDoesNotConnect) {
  const Words hangs = {"DRL_HOST_FAULT=init_hangs"};
  const Result result = expect_exit(two("H100 1", "H100 2", hangs, hangs, {"--timeout", "4"}), 1);
  expect_check(result, "NCCL start", "failed", {"4 s", "rank 0 on ", "->", "NCCL_DEBUG=INFO", "--timeout"});
  EXPECT_TRUE(holds(result.out, ", 1 failed\n")) << result.out;
}

TEST_F(GpuDoctor, NamesARankThatStopsInNccl) {
  expect_check(
      expect_exit(
          two("H100 1", "H100 2", {"DRL_HOST_FAULT=init_hangs"}, {"DRL_HOST_FAULT=init_stops"}, {"--timeout", "4"}), 1),
      "NCCL start", "failed", {"4 s", "no answer from rank 1"});
}

// NCCL works on rank 0's node and hangs on the other one; rank 0 reports the reason.
TEST_F(GpuDoctor, NamesTheRanksOfANodeOnWhichNcclHangs) {
  const auto node = [&](const std::string& name, const std::string& first_gpu, const std::string& second_gpu,
                        const Words& fault) {
    return Part{2, doctor(Words{"LD_PRELOAD=" + kFaultyMpi, "HOST_NAME=" + name,
                                "DRL_HOST_GPUS=H100 " + first_gpu + ",H100 " + second_gpu} +
                              fault,
                          {"--timeout", "4"})};
  };
  const Result result =
      expect_exit(mpirun({node("node1", "1", "2", {}), node("node2", "3", "4", {"DRL_HOST_FAULT=node_hangs"})}), 1);
  expect_check(result, "GPU sums, all", "", {"4 ranks"});
  expect_check(result, "GPU sums, node", "failed", {"4 s", "rank 2 on node2", "rank 3 on node2", "all-reduce"});
}

TEST_F(GpuDoctor, FailsIfSumsAreWrong) {
  expect_check(expect_exit(two("H100 1", "H100 2", {}, {"DRL_HOST_FAULT=wrong_sum"}), 1), "GPU sums, node", "failed",
               {"sums", "rank 1 on ", "NCCL_P2P_DISABLE=1"});
}

TEST_F(GpuDoctor, DoesNotCaptureALogThatTheUserRequested) {
  expect_check(expect_exit(alone({"NCCL_DEBUG=INFO"}), 0), "NCCL network", "skipped", {"NCCL_DEBUG is set"});
}

}  // namespace
}  // namespace drl::test
