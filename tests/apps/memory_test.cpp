// A limit of the address space (ulimit -v) that BLAS would wait at for ever.
#include <gtest/gtest.h>

#include "programs.hpp"

namespace drl::test {
namespace {

Result run_within(int kibibytes, const Words& command) {
  return run_program(Words{"sh", "-c", "ulimit -v " + std::to_string(kibibytes) + "; exec \"$0\" \"$@\""} + command,
                     {{"OPENBLAS_NUM_THREADS", "1"}});  // it makes threads when it is loaded
}

// The least with which the system loads the program at all, KiB: it depends on the libraries that it was built with.
int least_that_loads(const Words& command) {
  int least = 400000;
  while (run_within(least, command).exit_code == 127) least += least / 20;
  return least;
}

TEST(AddressSpace, ThatIsTooSmallIsSaidAtOnce) {
  const Runs runs;
  ASSERT_EQ(runs.train({"--run_name", "r", "--nets", "torch", "--max_iterations", "1"}).exit_code, 0);
  const std::string file = checkpoint_file(runs.run("r"), 1);
  for (const Words& command : {runs.command({"--run_name", "s", "--nets", "torch", "--max_iterations", "1"}),
                               Words{kEval, "--checkpoint", file, "--episodes", "1"}}) {
    const int least = least_that_loads(command);
    const Result result = run_within(least + 150000, command);
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    EXPECT_TRUE(result.err.starts_with("error: the limit of the address space leaves ")) << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_EQ(run_within(least + 4000000, command).exit_code, 0);
  }
}

// Whatever lies between that and enough: never a hang, never a signal.
TEST(AddressSpace, IsEnoughOrRefused) {
  const Runs runs;
  const Words command = runs.command({"--run_name", "s", "--nets", "torch", "--fresh", "--max_iterations", "1"});
  const int least = least_that_loads(command);
  for (int limit = least; limit < least + 700000; limit += 100000) {
    const Result result = run_within(limit, command);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << limit << ": " << result.exit_code << result.err;
    if (result.exit_code == 2) {
      EXPECT_TRUE(result.err.starts_with("error: the limit of the address space leaves ")) << result.err;
    }
  }
}

}  // namespace
}  // namespace drl::test
