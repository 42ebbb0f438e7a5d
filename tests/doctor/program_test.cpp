// drl_doctor alone.
#include "program.hpp"

#include <ctime>
#include <nlohmann/json.hpp>

namespace drl::test {
namespace {

class Doctor : public testing::Test {
 protected:
  Result run(const Words& options, const Process::Variables& variables = {}) const {
    return run_program(Words{kDoctor, "--runs_dir", (folder / "runs").string()} + options, variables);
  }
  void expect_usage_error(const Words& options, const std::string& part) const {
    const Result result = run(options);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_TRUE(holds(result.err, part)) << result.err;
  }
  TempFolder folder;
};

TEST_F(Doctor, FindsThisMachineWell) {
  const Result result = run({});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(result.out.starts_with("drl_doctor ")) << result.out;
  EXPECT_TRUE(holds(result.out, ": 1 rank on 1 node\n")) << result.out;
  for (const char* name : {"MPI exchange", "placement", "drl build", "hardware", "libraries", "program load",
                           "all-reduce", "GPUs", "run directory", "time left"})
    EXPECT_NE(lines_of_check(result.out, name), "") << name << " in " << result.out;
  EXPECT_FALSE(holds(result.out, "failed")) << result.out;
  EXPECT_TRUE(folder.names().empty()) << "something was left behind";
}

TEST_F(Doctor, WritesAllAsJson) {
  const Result result = run({"--json", folder / "found.json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
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

// Paths may hold any bytes, JSON does not.
TEST_F(Doctor, WritesAPathThatIsNoUtf8) {
  const std::string runs = folder / "runs\xff";
  const Result result = run_program({kDoctor, "--runs_dir", runs, "--json", folder / "found.json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(slurp(folder / "found.json"), "/runs\xef\xbf\xbd: writable"));  // the replacement character
}

TEST_F(Doctor, AFolderThatCannotBeWrittenFails) {
  const Result result = run_program({kDoctor, "--runs_dir", "/proc/runs", "--json", folder / "found.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(lines_of_check(result.out, "run directory").starts_with("failed   run directory")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "run directory"), "cannot be written")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "run directory"), "-> choose another with --runs_dir")) << result.out;
  EXPECT_TRUE(holds(result.out, ", 1 failed\n")) << result.out;
  EXPECT_EQ(nlohmann::json::parse(slurp(folder / "found.json")).at("exit_code"), 1);
}

TEST_F(Doctor, SaysThatItsFileIsNotWritten) {
  const Result result = run({"--json", "/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "error: --json /dev/full could not be written (the file system refused): name another file\n");
}

TEST_F(Doctor, TellsAJobsTime) {
  const auto job = [](int64_t seconds) {
    return Process::Variables{{"SLURM_JOB_ID", "12"},
                              {"SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + seconds)}};
  };
  EXPECT_TRUE(lines_of_check(run({}, job(100)).out, "time left").starts_with("warning  time left          only 0:01:"));
  EXPECT_TRUE(lines_of_check(run({}, job(7200)).out, "time left").starts_with("ok       time left          "));
}

TEST_F(Doctor, HelpTeaches) {
  const Result result = run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"srun -N2 --gpus-per-node=4 drl_doctor", "mpirun -n 4 drl_doctor", "--timeout", "--json",
                           "Exit codes: 0 fine (warnings too), 1 something failed, 2 wrong usage"})
    EXPECT_TRUE(holds(result.out, part)) << part;
  EXPECT_TRUE(holds(run({"--version"}).out, "drl "));
}

TEST_F(Doctor, RefusesWhatIsWrong) {
  expect_usage_error({"--time_out", "3"}, "timeout");
  expect_usage_error({"--timeout", "0"}, "at least 1");
  expect_usage_error({"--json", "/nowhere/found.json"}, "--json /nowhere/found.json cannot be written");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace drl::test
