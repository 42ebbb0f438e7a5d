// Tests bench/gpu_kernels with the CPU emulation of the CUDA runtime. CartPole-v1 has 4 observations and 2 actions; the
// networks have the layers 4-64-64-2 and 4-64-64-1. 64 environments and 32 steps are 2048 samples, which 5 epochs
// divide into 4 mini-batches of 512.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../support/process.hpp"
#include "../support/temp_folder.hpp"

namespace drl::test {
namespace {

class GpuKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TempFolder folder;
    const std::string file = folder / "kernels.json";
    const Result result = expect_exit(
        run_program({built("tests/tools/gpu_kernels_on_host"), "--num_envs", "64", "--times=false", "--json", file}),
        0);
    text = result.out;
    found = nlohmann::json::parse(slurp(file));
  }
  static nlohmann::json kernel(const std::string& name) {
    for (const auto& one : found.at("kernels"))
      if (one.at("name") == name) return one;
    ADD_FAILURE() << name << " was not launched";
    return {{"launches", 0}, {"bytes", 0}, {"flops", 0}};
  }
  static Words program(const char* num_envs) {
    return {built("tests/tools/gpu_kernels_on_host"), "--num_envs", num_envs, "--times=false"};
  }
  // Counts the launches of all kernels whose names begin like this.
  static int launches(const std::string& begin) {
    int sum = 0;
    for (const auto& one : found.at("kernels"))
      if (one.at("name").get<std::string>().starts_with(begin)) sum += one.at("launches").get<int>();
    return sum;
  }
  static void expect(const std::string& name, int launches, double bytes, double flops = 0) {
    const nlohmann::json one = kernel(name);
    EXPECT_EQ(one.at("launches"), launches) << name;
    EXPECT_EQ(one.at("bytes"), bytes) << name;
    EXPECT_EQ(one.at("flops"), flops) << name;
  }

  static inline std::string text;
  static inline nlohmann::json found;
};

constexpr int kUpdates = 20, kSteps = 32, kEnvs = 64, kRows = 512;

TEST_F(GpuKernels, EveryLaunchHasACost) {
  for (const auto& one : found.at("kernels")) EXPECT_FALSE(one.at("bytes").is_null()) << one.at("name");
  EXPECT_EQ(text.find("unknown"), std::string::npos) << text;
}

TEST_F(GpuKernels, ProductsAreThoseOfTheLayers) {
  // Collection: y [64 envs, out] = x [64 envs, in] w^T reads x and w and writes y. The critic's first layer has the
  // same shape for the last observations of 64 truncated episodes.
  const int first = kSteps + 1;
  expect("forward product 64 x 64 x 4", first, first * 4.0 * (64 * 4 + 4 * 64 + 64 * 64), first * 2.0 * 64 * 64 * 4);
  expect("forward product 2 x 64 x 64", kSteps, kSteps * 4.0 * (2 * 64 + 64 * 64 + 2 * 64), kSteps * 2.0 * 2 * 64 * 64);
  // Update: the hidden layers of actor and critic
  const double read = kRows * 64 + 64 * 64, flops = 2.0 * kRows * 64 * 64;
  expect("forward product 64 x 512 x 64", 2 * kUpdates, 2 * kUpdates * 4 * (read + kRows * 64), 2 * kUpdates * flops);
  expect("backward product 64 x 512 x 64", 2 * kUpdates, 2 * kUpdates * 4 * (read + kRows * 64), 2 * kUpdates * flops);
  // The gradient of the weights is added: read and written.
  expect("weights product 64 x 64 x 512", 2 * kUpdates, 2 * kUpdates * 4.0 * (2 * kRows * 64 + 2 * 64 * 64),
         2 * kUpdates * flops);
  expect("weights product 64 x 2 x 512", kUpdates, kUpdates * 4.0 * (64 * kRows + kRows * 2 + 2 * 64 * 2),
         kUpdates * 2.0 * 64 * 2 * kRows);
  expect("weights product 64 x 1 x 512", kUpdates, kUpdates * 4.0 * (64 * kRows + kRows + 2 * 64),
         kUpdates * 2.0 * 64 * kRows);
}

TEST_F(GpuKernels, OtherKernelsAreThoseOfAnIteration) {
  expect("ChooseActions<Categorical>", kSteps, kSteps * kEnvs * 4.0 * (2 + 1 + 1));  // logits, action, log-probability
  expect("MiniBatchRows", kUpdates, kUpdates * kRows * 4.0);
  EXPECT_EQ(kernel("step of CartPole-v1").at("launches"), kSteps);
  EXPECT_EQ(kernel("GpuSumRows<PpoLoss<Categorical>>").at("launches"), kUpdates);
  // The gradient is read, for its norm and for the step; parameters and two moments are read and written. Slices of
  // parameters may be padded.
  const double parameters = (4 * 64 + 64) + (64 * 64 + 64) + (64 * 2 + 2) + (4 * 64 + 64) + (64 * 64 + 64) + (64 + 1);
  const nlohmann::json adam = kernel("OneBlockStep<AdamStep>");
  EXPECT_EQ(adam.at("launches"), kUpdates);
  EXPECT_GE(adam.at("bytes").get<double>(), kUpdates * 32 * parameters);
  EXPECT_LE(adam.at("bytes").get<double>(), kUpdates * 32 * 1.05 * parameters);
  // Each of a network's two hidden layers reads and writes its outputs.
  expect("forward product 2 x 512 x 64", kUpdates, kUpdates * 4.0 * (2 * 64 + 64 * kRows + 2 * kRows),
         kUpdates * 2.0 * 2 * kRows * 64);
}

TEST_F(GpuKernels, HasNoTimesWithoutAGpu) {
  for (const auto& one : found.at("kernels"))
    for (const char* name : {"us", "gb_per_s", "tflop_per_s"}) EXPECT_TRUE(one.at(name).is_null()) << name;
}

TEST_F(GpuKernels, TheModelFollowsTheCard) {
  const TempFolder folder;
  const std::string file = folder / "kernels.json";
  const Words card = "--bandwidth 1000 --peak 1"_words;
  expect_exit(
      run_program(Words{built("tests/tools/gpu_kernels_on_host"), "--num_envs", "64", "--times=false", "--json", file} +
                  card),
      0);
  found = nlohmann::json::parse(slurp(file));
  // 1 us for each launch, and the bytes at 1000 GB/s, or the operations at 1 TFLOP/s, which take longer in products.
  EXPECT_NEAR(kernel("MiniBatchRows").at("model_us").get<double>(), kUpdates + kUpdates * kRows * 4 * 1e-6, 1e-6);
  EXPECT_NEAR(kernel("weights product 64 x 64 x 512").at("model_us").get<double>(),
              2 * kUpdates * (1 + 2.0 * kRows * 64 * 64 * 1e-6), 1e-6);
}

// With the fused engine, an update takes one gradient kernel a network and none of the layers' products.
TEST_F(GpuKernels, MeasuresTheFusedEngineWithEachPrecision) {
  for (const char* precision : {"fp32", "fp16", "bf16"}) {
    const TempFolder folder;
    const std::string file = folder / "kernels.json";
    expect_exit(run_program(program("2") + Words{"--nets", "fused", "--precision", precision, "--json", file}), 0);
    found = nlohmann::json::parse(slurp(file));
    EXPECT_EQ(found.at("nets"), "fused");
    EXPECT_EQ(found.at("precision"), precision);
    EXPECT_EQ(launches("FusedGradient<"), 2 * kUpdates);
    EXPECT_GE(launches("FusedForward<"), kSteps);  // the choice of actions
    EXPECT_EQ(launches("OneBlockStep<AdamStep>"), kUpdates);
    EXPECT_EQ(launches("backward product"), 0);
    EXPECT_EQ(launches("weights product"), 0);
  }
}

TEST_F(GpuKernels, PrecisionsThatTheNetworksLackAreErrors) {
  expect_exit(run_program(program("2") + "--nets fused --precision tf32"_words), 2, {"--precision tf32", "fused"});
  expect_exit(run_program(program("2") + "--precision fp16"_words), 2, {"--precision fp16", "--nets fused"});
  expect_exit(run_program(program("2") + "--precision tf32"_words), 0);
}

TEST_F(GpuKernels, NeedsAGpu) {
  expect_exit(run_program({built("tests/tools/gpu_kernels_on_host"), "--device", "cpu"}), 2,
              {"needs a GPU", "--device cuda"});
}

}  // namespace
}  // namespace drl::test
