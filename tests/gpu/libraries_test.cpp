// Tests of opening the plugin that links cuBLAS and NCCL, without these libraries.
#include "gpu/libraries.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/host.hpp"

namespace drl::gpu {
namespace {

// Returns the error message of opening the plugin, "" if that works. The error must be one of usage.
std::string open_error(const std::filesystem::path& file, size_t size = sizeof(LibrariesHead)) {
  try {
    (void)open_plugin(file, size);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}
std::string plugin(const std::string& name) { return built("tests/gpu/libgpu_plugin_" + name + ".so"); }

TEST(GpuLibraries, AreUsableIfThePluginIs) { EXPECT_EQ(open_error(plugin("good")), ""); }

TEST(GpuLibraries, OfEveryUnusablePluginTheMessageNamesTheReasonAndTheRemedy) {
  const TempFolder folder;
  const std::filesystem::path missing = folder / "drl_gpu.so", text = folder / "text.so";
  std::ofstream(text) << "no library";
  const std::string again = "install drl again", path = "LD_LIBRARY_PATH";
  const std::vector<std::array<std::string, 3>> errors = {
      {open_error(missing), missing.string() + ": ", again},
      {open_error(text), text.string() + ": ", path},
      {open_error(plugin("old")), "ncclFunctionOfANewerVersion", path},
      {open_error(plugin("magic")), plugin("magic") + " belongs to another version of drl", again},
      {open_error(plugin("symbol")), plugin("symbol") + " belongs to another version of drl", again},
      {open_error(plugin("good"), 1000), plugin("good") + " belongs to another version of drl", again},
  };
  for (const auto& [error, reason, remedy] : errors)
    expect_mentions(error, {"cuBLAS and NCCL", reason, remedy, "--device cpu", host_name()});
}

}  // namespace
}  // namespace drl::gpu
