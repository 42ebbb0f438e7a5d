// Jobs of the scripts in batch/, submitted as a user would.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "slurm.hpp"

namespace drl::test {

inline const std::string kBatch = source("batch/");

// Options of a run with few environments and two collectives per iteration.
inline Words small_run(int max_iterations) {
  return "--task CartPole-v1 --num_envs 8 --num_steps_per_env 8 --logger none --ppo.num_learning_epochs 1 "
         "--ppo.num_mini_batches 1 --threads 1 --max_iterations"_words +
         Words{std::to_string(max_iterations)};
}

// Puts temporary files where other users cannot write, because batch scripts read no settings beside a script in /tmp.
struct PrivateStorage {
  PrivateStorage() {
    const fs::path folder = fs::path(std::getenv("CLUSTER_DIR")) / "private";
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
};

// The working directory, where jobs write their logs and runs, and the home directory are the test's temporary
// directory.
class BatchTest : private PrivateStorage, public SlurmTest {
 protected:
  BatchTest() {
    fs::current_path(folder.path());
    ::setenv("HOME", folder.path().c_str(), 1);
    ::setenv("DRL_BIN", bin("").c_str(), 1);
  }
  ~BatchTest() override {
    fs::current_path("/");
    ::setenv("HOME", home_.c_str(), 1);
    ::unsetenv("DRL_BIN");
  }

  fs::path run(const std::string& name) const { return folder / "runs" / task / name; }
  std::string log(const std::string& file) const { return slurp(folder / file); }
  std::string log_of(const std::string& job) const { return log("drl-" + job + ".out"); }

  // Succeeds if the job completes. The failure shows its log.
  testing::AssertionResult completes(const std::string& job, double seconds = kLong) const {
    if (wait_for_end(job, seconds) && job_state(job) == "COMPLETED") return testing::AssertionSuccess();
    return testing::AssertionFailure() << "job " << job << " is " << job_state(job) << "; " << log_of(job);
  }
  // Submits a job that must complete, and returns its id.
  std::string complete(const Words& words, const Process::Variables& variables = {}) const {
    const std::string job = submit(words, variables);
    EXPECT_TRUE(completes(job));
    return job;
  }
  // Returns the log of a job that must fail with this exit code.
  std::string log_of_failure(const std::string& job, int exit_code) const {
    EXPECT_TRUE(wait_for_end(job));
    EXPECT_EQ(job_field(job, "ExitCode"), std::to_string(exit_code) + ":0") << log_of(job);
    return log_of(job);
  }

  std::string task = "CartPole-v1";  // small_run's task, unless the test uses another

 private:
  std::string home_ = std::getenv("HOME") ? std::getenv("HOME") : "/";
};

}  // namespace drl::test
