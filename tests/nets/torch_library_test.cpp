#include "nets/torch/torch_library.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

std::string refusal(const std::filesystem::path& file) {
  try {
    const TorchLibrary library(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(TorchLibrary, ThatCannotBeHadSaysWhyAndWhatToDo) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "drl_torch.so";
  const std::string missing = refusal(file);
  std::ofstream(file) << "no library";
  const std::string broken = refusal(file);
  for (const std::string& text : {missing, broken}) {
    EXPECT_TRUE(text.starts_with("libtorch, which --nets torch and CPUs without multiply-add take, cannot be ")) << text;
    EXPECT_NE(text.find("): use --nets fused, or"), std::string::npos) << text;
  }
  if (!built_with_torch()) {
    EXPECT_NE(missing.find("-DDRL_WITH_TORCH=OFF"), std::string::npos) << missing;
    return;
  }
  EXPECT_NE(missing.find(file.string() + " is not there"), std::string::npos) << missing;
  EXPECT_NE(broken.find(file.string() + ": "), std::string::npos) << broken;  // the loader's words
}

// 2.25 GiB while it is loaded, 192 MiB for each thread, and as much besides.
TEST(AddressSpace, MustHoldLibtorchAndTheBuffersOfBlas) {
  constexpr uint64_t mib = 1 << 20;
  EXPECT_EQ(address_space_problem(RLIM_INFINITY, 600 * mib, 1000), "");
  EXPECT_EQ(address_space_problem(3288 * mib, 600 * mib, 1), "");
  EXPECT_EQ(address_space_problem(3287 * mib, 600 * mib, 1),
            "the limit of the address space leaves 2.62 GiB (ulimit -v 3365888), and libtorch with 1 thread of matrix "
            "products may take 2.62 GiB: ulimit -v 3366913, or unlimited; in a job ask for more memory");
  EXPECT_NE(address_space_problem(3288 * mib, 600 * mib, 2), "");
  EXPECT_NE(address_space_problem(500 * mib, 600 * mib, 1), "");
}

}  // namespace
}  // namespace drl
