// Jobs on the test cluster (./cluster). The test program runs on its login node.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "../apps/programs.hpp"

namespace drl::test {

// A deadline, in seconds, for anything that takes a few seconds on an idle machine.
constexpr double kLong = 180;

inline Result run_for_long(const Words& words, const Process::Variables& variables = {}) {
  return Process(words, variables).wait(kLong);
}
// Returns the standard output of a command that must succeed.
inline std::string output_of(const Words& words, const Process::Variables& variables = {}) {
  const Result result = run_for_long(words, variables);
  EXPECT_EQ(result.exit_code, 0) << words.front() << ": " << result.err;
  return result.out;
}
inline Result run_shell(const std::string& script) { return run_for_long({"bash", "-c", script}); }

// Submits a job with these options, script and arguments of sbatch, and returns its id. sbatch passes the variables on.
inline std::string submit(const Words& words, const Process::Variables& variables = {}) {
  std::string id = output_of("sbatch --parsable"_words + words, variables);
  while (id.ends_with('\n')) id.pop_back();
  return id;
}

// Returns a field of `scontrol show job`, e.g. JobState, ExitCode, Restarts, or "" if Slurm does not know the job.
// Slurm forgets a job 5 minutes after its end.
inline std::string job_field(const std::string& id, const std::string& field) {
  const std::string text = " " + run_for_long({"scontrol", "--oneliner", "show", "job", id}).out;
  const size_t at = text.find(" " + field + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + field.size() + 2;
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}
inline std::string job_state(const std::string& id) { return job_field(id, "JobState"); }

// Returns false if the job does not get into this state within `seconds`.
inline bool wait_for_state(const std::string& id, const std::string& state, double seconds = kLong) {
  return wait_until([&] { return job_state(id) == state; }, seconds);
}

// Returns false if the job does not end, in any state, within `seconds`.
inline bool wait_for_end(const std::string& id, double seconds = kLong) {
  return wait_until(
      [&] {
        const std::string state = job_state(id);
        for (const char* end :
             {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"})
          if (state == end) return true;
        return false;
      },
      seconds);
}

inline bool wait_for_idle_cluster() {
  return wait_until([] { return run_program("squeue --noheader"_words).out.empty(); });
}

// Each test begins and ends with an idle cluster.
class SlurmTest : public ::testing::Test {
 protected:
  void TearDown() override {
    run_program("scancel --user=root"_words);
    EXPECT_TRUE(wait_for_idle_cluster());
  }
  TempFolder folder;
};

}  // namespace drl::test
