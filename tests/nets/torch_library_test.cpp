#include "nets/torch/torch_library.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

// Returns the error message of opening the plugin.
std::string open_error(const std::filesystem::path& file) {
  try {
    const TorchLibrary library(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(TorchLibrary, AMissingOrBrokenPluginIsAUsageError) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "drl_torch.so";
  const std::string missing = open_error(file);
  std::ofstream(file) << "no library";
  const std::string broken = open_error(file);
  for (const std::string& text : {missing, broken}) expect_mentions(text, {"libtorch", "--nets torch", "--nets fused"});
  if (!built_with_torch()) return expect_mentions(missing, {"-DDRL_WITH_TORCH"});
  expect_mentions(missing, {file.string() + " "});
  expect_mentions(broken, {file.string() + ": "});  // the loader's message
}

// Loading libtorch needs 2.25 GiB. Each thread needs 192 MiB, and the run's own arrays need another 192 MiB.
TEST(AddressSpace, MustSufficeForLibtorchAndTheBuffersOfBlas) {
  constexpr uint64_t mib = 1 << 20;
  EXPECT_EQ(address_space_problem(RLIM_INFINITY, 600 * mib, 1000), "");
  EXPECT_EQ(address_space_problem(3288 * mib, 600 * mib, 1), "");
  expect_mentions(address_space_problem(3287 * mib, 600 * mib, 1),
                  {"address space", "2.62 GiB", "libtorch", "1 thread", "3365888", "ulimit -v 3366913"});
  EXPECT_NE(address_space_problem(3288 * mib, 600 * mib, 2), "");
  EXPECT_NE(address_space_problem(500 * mib, 600 * mib, 1), "");
}

}  // namespace
}  // namespace drl
