#include "run/preflight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "device/isa.hpp"

namespace drl {
namespace {

TEST(HardwareDifference, IsEmptyForEqualHardware) {
  EXPECT_EQ(hardware_difference({}, {}, {}), "");
  EXPECT_EQ(hardware_difference({"x86-64-v4"}, {""}, {"n1"}), "");
  EXPECT_EQ(hardware_difference({"x86-64-v3", "x86-64-v3"}, {"A100", "A100"}, {"n1", "n2"}), "");
}

TEST(HardwareDifference, NamesModelsWithTheirRanks) {
  const std::vector<std::string> cpus = {"x86-64-v4", "x86-64-v4", "x86-64-v3"}, hosts = {"n1", "n1", "n2"};
  const std::string cpus_alone = hardware_difference(cpus, {"", "", ""}, hosts);
  expect_mentions(cpus_alone, {"CPUs: ", "x86-64-v4 (ranks 0, 1 on n1)", "x86-64-v3 (rank 2 on n2)"});
  EXPECT_EQ(cpus_alone.find("GPUs"), std::string::npos) << cpus_alone;
  expect_mentions(hardware_difference(cpus, {"A100", "H100", ""}, hosts),
                  {"GPUs: ", "A100 (rank 0 on n1)", "H100 (rank 1 on n1)", "none (rank 2 on n2)",
                   "CPUs: ", "x86-64-v4 (ranks 0, 1 on n1)", "x86-64-v3 (rank 2 on n2)"});
}

TEST(BuildDifference, NamesBuildsWithTheirRanksAndIgnoresEmptyOnes) {
  EXPECT_EQ(build_difference({"A", "A", ""}, {"n1", "n1", "n2"}), "");
  expect_mentions(build_difference({"A", "B", ""}, {"n1", "n1", "n2"}), {"A (rank 0 on n1)", "B (rank 1 on n1)"});
}

TEST(DeviceDifference, IsAboutGpusOnSomeRanksOnly) {
  EXPECT_EQ(device_difference({"", ""}, {"n1", "n2"}), "");
  EXPECT_EQ(device_difference({"A100", "H100"}, {"n1", "n2"}), "");
  expect_mentions(device_difference({"A100", "", ""}, {"n1", "n2", "n2"}), {"rank 0 on n1", "ranks 1, 2 on n2"});
}

TEST(OptionsDifference, IsEmptyForEqualOptions) {
  const std::string same = options_text({{"seed", "1"}, {"task", "a=b\nc"}});
  EXPECT_EQ(options_difference({same, same}, {"n1", "n2"}), "");
  EXPECT_EQ(options_difference({"", ""}, {"n1", "n2"}), "");
}

TEST(OptionsDifference, NamesTheOptionAndTheValuesWithTheirRanks) {
  const std::string one = options_text({{"seed", "1"}, {"task", "A"}}),
                    two = options_text({{"seed", "2"}, {"task", "A"}}), none = options_text({{"task", "A"}});
  const std::string text = options_difference({one, two, one, none}, {"n1", "n1", "n2", "n2"});
  expect_mentions(text, {"--seed: ", "1 (rank 0 on n1; rank 2 on n2)", "2 (rank 1 on n1)", "(rank 3 on n2)"});
  EXPECT_EQ(text.find("task"), std::string::npos) << text;
}

// 1000 ranks with a seed of their own, and 50 options that only one of two ranks has.
TEST(OptionsDifference, IsBounded) {
  std::vector<std::string> seeds;
  for (int rank = 0; rank < 1000; ++rank) seeds.push_back(options_text({{"seed", std::to_string(rank)}}));
  EXPECT_LT(options_difference(seeds, std::vector<std::string>(1000, "a_host")).size(), 300u);
  std::vector<NamedValue> many;
  for (int k = 0; k < 50; ++k) many.push_back({"option_" + std::to_string(k), std::string(1000, 'x')});
  const std::string text = options_difference({options_text(many), ""}, {"n1", "n2"});
  expect_mentions(text, {"--option_0"});
  EXPECT_LT(text.size(), 600u) << text;
}

#ifdef __x86_64__
// Compares with the flags of /proc/cpuinfo. The x86-64 psABI lists the flags that each level requires.
TEST(InstructionSet, IsTheBestThatTheCpuSupports) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  while (std::getline(file, flags) && !flags.starts_with("flags")) {
  }
  const auto has_all = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) {
      return (flags + " ").find(" " + std::string(name) + " ") != std::string::npos;
    });
  };
  const bool v3 = has_all({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"});
  const bool v4 = v3 && has_all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  EXPECT_EQ(name_of(isa_of("auto")), v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64-v2");
  EXPECT_EQ(available_isas().size(), v4 ? 3u : v3 ? 2u : 1u);
  EXPECT_THROW(isa_of("x86-64-v9"), UsageError);
}
#endif

}  // namespace
}  // namespace drl
