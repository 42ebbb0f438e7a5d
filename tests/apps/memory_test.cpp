// Limits of the system (ulimit): the address space, open files, the stack, threads.
#include "programs.hpp"

namespace drl::test {
namespace {

#ifdef DRL_SANITIZER
constexpr bool kCanLimitAddresses = false;
#else
constexpr bool kCanLimitAddresses = true;
#endif
constexpr const char* kReserved = "the sanitizer reserves terabytes of addresses";

Result run_within(int kibibytes, const Words& command) {
  return run_program(Words{"sh", "-c", "ulimit -v " + std::to_string(kibibytes) + "; exec \"$0\" \"$@\""} + command);
}

// Returns the smallest limit, in KiB, with which the program and its libraries start. It depends on the libraries.
int least_that_loads(const Words& command) {
  int least = 40000;
  while (run_within(least, {command.front(), "--version"}).exit_code != 0) least += least / 20;
  return least;
}

// BLAS would hang forever.
TEST(AddressSpace, IsRefusedIfItIsTooSmallForLibtorch) {
  if (!kCanLimitAddresses) GTEST_SKIP() << kReserved;
  if (!built_with_torch()) GTEST_SKIP() << "built without libtorch";
  const Runs runs;
  const Words torch = "--nets torch --max_iterations 1"_words;
  expect_exit(runs.train(torch + "--run_name r"_words), 0);
  const std::string file = checkpoint_file(runs.run("r"), 1);
  for (const Words& command :
       {runs.command(torch + "--run_name s"_words), Words{kEval, "--checkpoint", file, "--episodes", "1"}}) {
    const int least = least_that_loads(command);
    expect_error(run_within(least + 500000, command), {"address space"});
    expect_exit(run_within(least + 4000000, command), 0);
  }
}

// With any limit, the program must neither hang nor be killed by a signal. The first 100 MB are skipped, because
// functions of the system may fail there without reporting it.
TEST(AddressSpace, IsEnoughOrRefused) {
  if (!kCanLimitAddresses) GTEST_SKIP() << kReserved;
  const Runs runs;
  for (const char* nets : {"fused", "torch"}) {
    if (nets == std::string("torch") && !built_with_torch()) continue;
    const Words command =
        runs.command({"--run_name", "s", "--fresh", "--max_iterations", "1", "--quiet", "--nets", nets});
    const int least = least_that_loads(command);
    for (int limit = least + 100000; limit < least + 1800000; limit += 200000) {
      const Result result = run_within(limit, command);
      EXPECT_TRUE(result.exit_code >= 0 && result.exit_code <= 2) << limit << ": " << result.exit_code << result.err;
      if (result.exit_code > 0) {
        EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
      }
    }
  }
}

Result run_limited(const std::string& limits, const Words& command) {
  return run_program(Words{"sh", "-c", limits + "; exec \"$0\" \"$@\""} + command);
}

// libtorch and mpirun would hang without files, and the physics of large robots would overflow the stack.
TEST(Limits, OfFilesAndTheStackAreRefusedIfTheyAreTooLow) {
  const Runs runs;
  for (const auto& [limit, number] : {std::pair{"ulimit -n ", "16"}, {"ulimit -s ", "256"}}) {
    for (const Words& command :
         {runs.command("--max_iterations 1"_words), runs.command("--max_iterations 1 --ranks 2"_words),
          Words{kEval, "--checkpoint", "missing.h5"}}) {
      expect_error(run_limited(limit + std::string(number), command),
                   {limit, number, fs::path(command.front()).filename().string()});
    }
  }
  EXPECT_FALSE(fs::exists(runs.path()));
}

TEST(Limits, AreRaisedIfTheyAreSoft) {
  const Runs runs;
  const std::string limits = "ulimit -Sn 16; ulimit -Ss 64";
  for (const Words& ranks : {Words{}, "--ranks 2"_words}) {
    expect_exit(run_limited(limits, runs.command("--max_iterations 1"_words + ranks)), 0);
  }
}

// A thread's stack does not fit into the address space.
TEST(Limits, OfThreadsAreNamed) {
  if (!kCanLimitAddresses) GTEST_SKIP() << kReserved;
  const Runs runs;
  const Words command = runs.command("--max_iterations 1 --threads 200"_words);
  expect_exit(run_within(least_that_loads(command) + 200000, command), 1,
              {"error: ", "threads", "ulimit -v", "--threads"});
}

}  // namespace
}  // namespace drl::test
