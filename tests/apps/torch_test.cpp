// Tests that libtorch is opened only by runs that need it.
#include "programs.hpp"

namespace drl::test {
namespace {

DRL_ON_RANKS(Libtorch);

// On CPUs without multiply-add, libtorch is the default.
bool has_fused_multiply_add() {
  const std::string cpu = slurp("/proc/cpuinfo");
  return cpu.find(" fma ") != std::string::npos || cpu.find(" asimd") != std::string::npos;
}

// An installation without drl_torch.so.
struct WithoutTorch : Runs {
  WithoutTorch() {
    fs::create_directory(folder / "bin");
    for (const std::string& program : {kTrain, kEval}) fs::copy(program, folder / "bin");
  }
  Result run_there(const Words& more) const {
    Words words = command(more);
    words.front() = folder / "bin/drl_train";
    return run_program(words);
  }
};

TEST(LibtorchLibraries, AreNotLinkedToAnyProgram) {
  for (const auto& entry : fs::directory_iterator(bin(""))) {
    const Result libraries = run_program({entry.path()}, {{"LD_TRACE_LOADED_OBJECTS", "1"}});
    const std::string name = entry.path().filename();
    if (name != "drl_train" && name != "drl_eval" && name != "drl_doctor") continue;
    EXPECT_NE(libraries.out.find("libstdc++"), std::string::npos) << name << libraries.err;
    for (const char* library : {"libtorch", "libc10", "/libblas", "openblas", "libmujoco"})
      EXPECT_EQ(libraries.out.find(library), std::string::npos) << name << ": " << libraries.out;
  }
}

TEST_P(Libtorch, IsNotNeededByDefault) {
  if (!has_fused_multiply_add()) GTEST_SKIP() << "this CPU has no multiply-add";
  const WithoutTorch runs;
  for (const Words& more : {Words{}, {"--policy.layer_norm", "true"}}) {
    const Result trained = expect_exit(runs.run_there(more + "--run_name r --fresh --max_iterations 2"_words), 0);
    EXPECT_NE((trained.out + trained.err).find("fused networks"), std::string::npos) << trained.out << trained.err;
    const std::string file = checkpoint_file(runs.run("r"), 2);
    expect_exit(run_program({runs.folder / "bin/drl_eval", "--checkpoint", file, "--episodes", "2"}), 0);
  }
}

TEST_P(Libtorch, IsReportedInOneLineIfItIsMissing) {
  const WithoutTorch runs;
  expect_error(runs.run_there("--nets torch --run_name r --max_iterations 1"_words),
               {"libtorch", "--nets torch", built_with_torch() ? "lib/drl/drl_torch.so" : "DRL_WITH_TORCH"});
  EXPECT_FALSE(fs::exists(runs.run("r")));
}

TEST_P(Libtorch, IsOpenedIfItIsNeeded) {
  if (!built_with_torch()) GTEST_SKIP() << "built without libtorch";
  const Runs runs;
  const Result result = expect_exit(runs.train("--nets torch --run_name r --max_iterations 1"_words), 0);
  EXPECT_NE((result.out + result.err).find("libtorch "), std::string::npos) << result.out << result.err;
}

}  // namespace
}  // namespace drl::test
