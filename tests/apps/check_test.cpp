// drl_train --check prepares a run without devices and files. That it finds what a start refuses is tested in
// error_test.cpp.
#include "programs.hpp"

namespace drl::test {
namespace {

class Check : public testing::Test {
 protected:
  Result check(const Words& options) const { return runs.train(Words{"--check"} + options); }
  Runs runs;
};

TEST_F(Check, WritesNothing) {
  expect_mentions(expect_exit(check({"--run_name", "a"}), 0).out, {"Cartpole", runs.run("a").string()});
  EXPECT_EQ(expect_exit(check({"--quiet"}), 0).out, "");
  EXPECT_EQ(runs.folder.names(), Words{});
}

TEST_F(Check, StartsNoRanks) {
  const Result result = expect_exit(check({"--ranks", "3"}), 0);
  EXPECT_EQ(split(result.out, '\n').size(), 2u) << result.out;  // the line, and what follows it
}

// The machine of the run has other devices than this one.
TEST_F(Check, AcceptsWhatOnlyGpusHave) {
  const Words fused = "--nets fused --precision fp16"_words;
  EXPECT_EQ(expect_exit(check(fused + "--cuda_graphs=false"_words), 0).err, "");
  drl::expect_error(check(fused + "--device cpu"_words), {"--precision fp16", "CPU"});
  drl::expect_error(check(fused + "--gpu_ids None"_words), {"--precision fp16", "CPU"});
  expect_mentions(expect_exit(check("--device cpu --cuda_graphs=false"_words), 0).err, {"warning: --cuda_graphs"});
}

TEST_F(Check, LoadsTheRunThatWouldContinue) {
  const auto start = [&](const Words& more) { return Words{"--run_name", "a", "--max_iterations"} + more; };
  expect_exit(runs.train(start({"2"})), 0);
  const Words before = runs.folder.names();
  const std::string record = slurp(runs.run("a") / "run.json");
  expect_mentions(expect_exit(check(start({"5"})), 0).out, {runs.run("a").string(), "iteration 2"});
  expect_mentions(expect_exit(check(start({"2"})), 0).out, {"nothing to do"});
  drl::expect_error(check(start({"5", "--policy.actor_hidden_dims", "8"})), {"policy.actor_hidden_dims"});
  drl::expect_error(check({"--init_from", runs.run("a"), "--policy.actor_hidden_dims", "8"}),
                    {"policy.actor_hidden_dims"});
  spill(runs.run("a") / "checkpoints/iter_000002.h5", "cut");
  drl::expect_error(check(start({"5"})), {"iter_000002.h5"});
  EXPECT_EQ(runs.folder.names(), before);
  EXPECT_EQ(slurp(runs.run("a") / "run.json"), record);
}

TEST_F(Check, FindsThatTheDirectoryCannotBeWritten) {
  spill(runs.folder / "file", "");
  drl::expect_error(check({"--runs_dir", runs.folder / "file/runs"}),
                    {runs.folder.path().string() + "/file", "--runs_dir"});
}

}  // namespace
}  // namespace drl::test
