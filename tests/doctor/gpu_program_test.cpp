// drl_doctor on pretended GPUs: the stand-in of tests/gpu, whose variables (DRL_HOST_...) plant the faults.
#include <nlohmann/json.hpp>

#include "ranks.hpp"

namespace drl::test {
namespace {

class GpuDoctor : public RanksTest {
 protected:
  Words doctor(const Words& variables, const Words& options = {}) const {
    return Words{"env"} + variables + Words{DRL_DOCTOR_ON_HOST, "--runs_dir", (folder / "runs").string()} + options;
  }
  // One rank on the GPU of number 1.
  Result alone(const Words& variables, const Words& options = {}) const {
    return run_program(doctor(Words{"DRL_HOST_GPUS=H100 1"} + variables, options));
  }
  // Two ranks that each see one GPU, of these kinds and numbers.
  Result two(const std::string& first, const std::string& second, const Words& first_variables = {},
             const Words& second_variables = {}, const Words& options = {}) const {
    return mpirun(
        {{1, doctor(Words{"CUDA_VISIBLE_DEVICES=0", "DRL_HOST_GPUS=" + first} + first_variables, options)},
         {1, doctor(Words{"CUDA_VISIBLE_DEVICES=1", "DRL_HOST_GPUS=" + second} + second_variables, options)}});
  }
};

TEST_F(GpuDoctor, FindsOneGpuWell) {
  const Result result = alone({}, {"--json", folder / "found.json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_FALSE(holds(result.out, "failed") || holds(result.out, "skipped")) << result.out;
  EXPECT_TRUE(holds(result.out, "  UUID    GPU-01010101-0101-0101-0101-010101010101\n")) << result.out;
  EXPECT_TRUE(holds(result.out, "  PCI     0000:01:00\n")) << result.out;
  EXPECT_EQ(lines_of_check(result.out, "GPU kernel"), "ok       GPU kernel         right results on 1 GPU");
  EXPECT_EQ(lines_of_check(result.out, "NCCL end"), "ok       NCCL end           on all ranks");
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("ranks")[0].at("gpu"), "H100");
  EXPECT_EQ(json.at("ranks")[0].at("device"), "cuda:0");
  EXPECT_EQ(json.at("ranks")[0].at("nccl"), "2.28.9");
  EXPECT_EQ(json.at("figures").at("nccl_network")[0].at("name"), "Socket");
  EXPECT_EQ(folder.names(), Words{"found.json"}) << "something was left behind";
}

TEST_F(GpuDoctor, FindsFourWell) {
  const Result result =
      mpirun({{4, doctor({"DRL_HOST_GPUS=H100 1,H100 2,H100 3,H100 4"}, {"--json", folder / "found.json"})}});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_FALSE(holds(result.out, "failed")) << result.out;
  EXPECT_TRUE(holds(result.out, "GPU-04040404-0404-0404-0404-040404040404  0000:04:00\n")) << result.out;
  EXPECT_EQ(lines_of_check(result.out, "NCCL network"),
            "ok       NCCL network       Socket (eth0), not needed: the ranks are on one node");
  EXPECT_TRUE(holds(lines_of_check(result.out, "GPU sums, node"), "4 ranks, sums right: 4 B in ")) << result.out;
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("ranks")[3].at("device"), "cuda:3");
  EXPECT_EQ(json.at("figures").at("gpu_all_reduce_in_a_node")[1].at("bytes"), 37000);
}

TEST_F(GpuDoctor, LeavesGpusAloneWhereTheCpuIsAskedFor) {
  for (const Words& options : {Words{"--device", "cpu"}, Words{"--gpu_ids", "None"}}) {
    const Result result = alone({}, options);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_EQ(lines_of_check(result.out, "GPUs"),
              "skipped  GPUs               the ranks shall compute on the CPU (--device, --gpu_ids)");
    EXPECT_FALSE(holds(result.out, "NCCL start")) << result.out;
  }
}

TEST_F(GpuDoctor, TwoRanksOnOneGpuAreNamed) {
  const Result result = two("H100 1", "H100 1");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const std::string found = lines_of_check(result.out, "GPUs");
  EXPECT_TRUE(found.starts_with("failed   GPUs               ranks 0, 1 on ")) << result.out;
  EXPECT_TRUE(holds(found, " would compute on the same GPU (H100, 0000:01:00, GPU-01010101-")) << found;
  EXPECT_EQ(lines_of_check(result.out, "NCCL start"), "") << result.out;
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
}

TEST_F(GpuDoctor, PlacementSeesOneGpuForTwo) {
  const Result result = mpirun({{2, doctor({"DRL_HOST_GPUS=H100 1"})}});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(lines_of_check(result.out, "placement").starts_with("failed   placement ")) << result.out;
  EXPECT_EQ(lines_of_check(result.out, "GPUs"), "skipped  GPUs               no rank has one: see \"placement\"");
}

TEST_F(GpuDoctor, OtherModelsAreNamed) {
  const Result result = two("H100 1", "A100 2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(lines_of_check(result.out, "hardware")
                  .starts_with("warning  hardware           ranks compute on different hardware (GPUs: H100 (rank 0"))
      << result.out;
}

// The stand-in adds up in host memory, far below what NVLink attains.
TEST_F(GpuDoctor, NvlinkThatIsAsSlowAsHostMemoryIsAWarning) {
  const Result result = two("H100 1", "H100 2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string found = lines_of_check(result.out, "GPU sums, node");
  EXPECT_TRUE(found.starts_with("warning  GPU sums, node     2 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(found, "-> less than a quarter of 150 GB/s, which slow NVLink attains: ")) << found;
}

TEST_F(GpuDoctor, AGpuThisBuildHasNoCodeForIsNamed) {
  const Result result = two("H100 1", "H100 2", {}, {"DRL_HOST_FAULT=no_kernel_image"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const std::string found = lines_of_check(result.out, "GPU kernel");
  EXPECT_TRUE(found.starts_with(
      "failed   GPU kernel         no right result: the GPU failed (NoKernelImageForDevice: no kernel "
      "image is available for execution on the device, in "))
      << result.out;
  EXPECT_TRUE(holds(found, "-DDRL_CUDA_ARCHITECTURES")) << found;
  EXPECT_EQ(lines_of_check(result.out, "NCCL start"), "") << result.out;
}

TEST_F(GpuDoctor, AGpuThatHangsIsNamed) {
  const Result result = two("H100 1", "H100 2", {}, {"DRL_HOST_FAULT=kernel_hangs"}, {"--timeout", "4"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const std::string found = lines_of_check(result.out, "GPU kernel");
  EXPECT_TRUE(found.starts_with("failed   GPU kernel         no right result: it did not end within 2 s (rank 1 on "))
      << result.out;
  EXPECT_TRUE(holds(found, "dmesg | grep -i xid")) << found;
}

// While a rank is missing, NCCL looks for it on all others.
TEST_F(GpuDoctor, RanksThatNcclDoesNotConnectAreNamed) {
  const Words hangs = {"DRL_HOST_FAULT=init_hangs"};
  const Result result = two("H100 1", "H100 2", hangs, hangs, {"--timeout", "4"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const std::string found = lines_of_check(result.out, "NCCL start");
  EXPECT_TRUE(found.starts_with("failed   NCCL start         NCCL did not connect all ranks within 4 s (rank 0 on "))
      << result.out << result.err;
  EXPECT_TRUE(holds(found, "\n         -> ") && found.ends_with("NCCL_DEBUG=INFO tells more; --timeout allows more"))
      << found;
  EXPECT_TRUE(holds(result.out, ", 1 failed\n")) << result.out;
}

TEST_F(GpuDoctor, ARankThatStopsInNcclIsNamed) {
  const Result result =
      two("H100 1", "H100 2", {"DRL_HOST_FAULT=init_hangs"}, {"DRL_HOST_FAULT=init_stops"}, {"--timeout", "4"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(holds(lines_of_check(result.out, "NCCL start"), "within 4 s (no answer from rank 1 on "))
      << result.out << result.err;
}

// Rank 0's node is well, and hears why the other one is not.
TEST_F(GpuDoctor, ANodeWhereNcclHangsIsNamed) {
  const auto node = [&](const std::string& name, const std::string& first_gpu, const std::string& second_gpu,
                        const Words& fault) {
    return Part{2, doctor(Words{"LD_PRELOAD=" DRL_FAULTY_MPI, "HOST_NAME=" + name,
                                "DRL_HOST_GPUS=H100 " + first_gpu + ",H100 " + second_gpu} +
                              fault,
                          {"--timeout", "4"})};
  };
  const Result result = mpirun({node("node1", "1", "2", {}), node("node2", "3", "4", {"DRL_HOST_FAULT=node_hangs"})});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(lines_of_check(result.out, "GPU sums, all").find("4 ranks, sums right"), std::string::npos) << result.out;
  EXPECT_TRUE(lines_of_check(result.out, "GPU sums, node")
                  .starts_with("failed   GPU sums, node     NCCL did not connect all ranks within 4 s (rank 2 on node2 "
                               "waits in a first all-reduce; rank 3 on node2 waits in a first all-reduce"))
      << result.out << result.err;
}

TEST_F(GpuDoctor, WrongSumsFail) {
  const Result result = two("H100 1", "H100 2", {}, {"DRL_HOST_FAULT=wrong_sum"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(lines_of_check(result.out, "GPU sums, node")
                  .starts_with("failed   GPU sums, node     sums are wrong on rank 1 on "))
      << result.out;
}

TEST_F(GpuDoctor, LeavesNcclsLogToThoseWhoAskForIt) {
  const Result result = alone({"NCCL_DEBUG=INFO"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of_check(result.out, "NCCL network"),
            "skipped  NCCL network       not known (NCCL_DEBUG is set: see NCCL's own lines, or unset it)");
}

}  // namespace
}  // namespace drl::test
