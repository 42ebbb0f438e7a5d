// Tests of drl_doctor with one rank.
#include "program.hpp"

#include <ctime>
#include <nlohmann/json.hpp>

#include "../support/pretended_gpu.hpp"

namespace drl::test {
namespace {

class Doctor : public testing::Test {
 protected:
  Result run(const Words& options, const Process::Variables& variables = {}) const {
    return run_program(Words{kDoctor, "--runs_dir", (folder / "runs").string()} + options, variables);
  }
  void expect_usage_error(const Words& options, std::initializer_list<std::string_view> parts) const {
    expect_error(run(options), parts);
  }
  TempFolder folder;
};

TEST_F(Doctor, FindsNoFailureOnThisMachine) {
  const Result result = expect_exit(run({}), 0);
  EXPECT_TRUE(result.out.starts_with("drl_doctor ")) << result.out;
  EXPECT_TRUE(holds(result.out, ": 1 rank on 1 node\n")) << result.out;
  for (const char* name : {"MPI exchange", "placement", "drl build", "hardware", "libraries", "program load",
                           "all-reduce", "GPUs", "run directory", "time left"})
    EXPECT_NE(lines_of_check(result.out, name), "") << name << " in " << result.out;
  EXPECT_FALSE(holds(result.out, "failed")) << result.out;
  EXPECT_TRUE(folder.names().empty()) << "files were left behind";
}

TEST_F(Doctor, NamesGpusOfAnotherVendor) {
  const Words node = with_amd_gpu();
  if (node.empty()) GTEST_SKIP() << "needs the right to mount a directory, and no NVIDIA GPU";
  const Words doctor = node + Words{kDoctor, "--runs_dir", (folder / "runs").string()};
  expect_check(expect_exit(run_program(doctor), 0), "GPUs", "skipped", {"AMD's", "NVIDIA"});
  expect_check(expect_exit(run_program(doctor + "--device cuda"_words), 1), "placement", "failed",
               {"--device cuda ", "AMD", "->", "NVIDIA", "--device cpu"});
}

TEST_F(Doctor, SavesTheReportAsJson) {
  const Result result = expect_exit(run({"--json", folder / "found.json"}), 0);
  const auto json = nlohmann::json::parse(slurp(folder / "found.json"));
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("ranks").size(), 1u);
  EXPECT_EQ(json.at("ranks")[0].at("device"), "cpu");
  EXPECT_GE(json.at("checks").size(), 10u);
  for (const auto& check : json.at("checks")) {
    EXPECT_TRUE(holds(result.out, check.at("finding"))) << check;
    EXPECT_GE(check.at("seconds"), 0);
  }
}

// Paths may contain any bytes; JSON must be UTF-8.
TEST_F(Doctor, SavesAPathThatIsNotUtf8) {
  const std::string runs = folder / "runs\xff";
  expect_exit(run_program({kDoctor, "--runs_dir", runs, "--json", folder / "found.json"}), 0);
  EXPECT_TRUE(holds(slurp(folder / "found.json"), "/runs\xef\xbf\xbd"));  // U+FFFD, the replacement character
}

TEST_F(Doctor, FailsIfTheRunDirectoryCannotBeWritten) {
  const Result result =
      expect_exit(run_program({kDoctor, "--runs_dir", "/proc/runs", "--json", folder / "found.json"}), 1);
  const std::string found = lines_of_check(result.out, "run directory");
  EXPECT_TRUE(found.starts_with("failed ")) << result.out;
  expect_mentions(found, {"/proc/runs", "->", "--runs_dir"});
  EXPECT_TRUE(holds(result.out, ", 1 failed\n")) << result.out;
  EXPECT_EQ(nlohmann::json::parse(slurp(folder / "found.json")).at("exit_code"), 1);
}

TEST_F(Doctor, FailsIfItsJsonFileCannotBeWritten) {
  const Result result = expect_exit(run({"--json", "/dev/full"}), 1, {"--json /dev/full"});
  EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
}

TEST_F(Doctor, ReportsTheJobsRemainingTime) {
  const auto job = [](int64_t seconds) {
    return Process::Variables{{"SLURM_JOB_ID", "12"},
                              {"SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + seconds)}};
  };
  const std::string little = lines_of_check(run({}, job(100)).out, "time left");
  EXPECT_TRUE(little.starts_with("warning ")) << little;
  expect_mentions(little, {"0:01:", "job 12"});
  EXPECT_TRUE(lines_of_check(run({}, job(7200)).out, "time left").starts_with("ok "));
}

TEST_F(Doctor, HelpShowsLaunchLinesAndOptions) {
  expect_mentions(
      expect_exit(run({"--help"}), 0).out,
      {"srun -N2 --gpus-per-node=4 drl_doctor", "mpirun -n 4 drl_doctor", "--timeout", "--json", "Exit codes: 0"});
  EXPECT_TRUE(holds(run({"--version"}).out, "drl "));
}

TEST_F(Doctor, RefusesInvalidOptions) {
  expect_usage_error({"--time_out", "3"}, {"time_out", "timeout"});
  expect_usage_error({"--timeout", "0"}, {"timeout", "at least 1"});
  expect_usage_error({"--json", "/nowhere/found.json"}, {"--json /nowhere/found.json"});
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace drl::test
