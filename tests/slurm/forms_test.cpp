// Tests the first commands of a user on clusters that are set up as at many sites: with cgroups, which confine tasks to
// the resources that they were granted, with a newer Slurm than Debian's, or with both.
#include "../doctor/program.hpp"
#include "base/text.hpp"
#include "batch.hpp"

namespace drl::test {
namespace {

const Words kReadmeCommand = "srun -N2 --gpus-per-node=4"_words;
bool has_cgroups() { return std::getenv("CLUSTER_BINDING") == std::string("cgroup"); }

class Forms : public BatchTest {
 protected:
  // Returns a shell command that tries to open each GPU of a node, as a driver's library would. It prints "yes" for
  // each GPU that the kernel lets it open, else "no".
  static std::string open_gpus() {
    return "for gpu in 0 1 2 3; do (: <" + std::string(std::getenv("CLUSTER_DIR")) +
           "/dev/gpu$gpu) 2>&1 | grep -q 'No such device' && echo yes || echo no; done";
  }
};

TEST_F(Forms, TheReadmeCommandUsesAllGpus) {
  const Words without_tmpdir = "env TMPDIR=/dev/null/nowhere"_words;  // on the nodes, after Slurm has read it
  const Result result = expect_exit(run_for_long(kReadmeCommand + without_tmpdir + Words{kTrain} + small_run(2) +
                                                 Words{"--after_checkpoint", open_gpus()}),
                                    0);
  expect_mentions(result.out + result.err, {"8 ranks"});
  const fs::path last = run("latest");
  EXPECT_EQ(run_json(last).at("rank_hosts").get<Words>(), ("node1 node1 node1 node1 node2 node2 node2 node2"_words));
  // The ranks are a step within the first one, and may open the same GPUs.
  expect_mentions(slurp(last / "logs/after_checkpoint.log"), {"yes\nyes\nyes\nyes\n"});
}

TEST_F(Forms, TheDoctorFindsNoProblem) {
  const Result result = expect_exit(run_for_long(kReadmeCommand + Words{kDoctor, "--runs_dir", folder / "runs"}), 0);
  expect_mentions(result.out, {"8 ranks on 2 nodes"});
  EXPECT_EQ(result.out.find("\nfailed "), std::string::npos) << result.out;
}

// The first attempt has a limit of one minute and a margin of 50 s, so it works for ten seconds. The second has more
// time.
TEST_F(Forms, ABatchJobResumesAfterItsTimeLimit) {
  constexpr int iterations = 400;  // more than ten seconds of work on any CPU
  const std::string job =
      submit(Words{"--gpus-per-node=1", "-t1", "--signal=USR1@1", kBatch + "train_2node.sbatch"} +
             small_run(iterations) + "--num_envs 2048 --num_steps_per_env 64 --time_margin 50"_words);
  ASSERT_TRUE(wait_until([&] { return job_field(job, "Restarts") == "1"; }, kLong)) << log_of(job);
  const int before = newest_checkpoint(run("slurm-" + job));
  EXPECT_TRUE(before > 0 && before < iterations) << before;
  output_of({"scontrol", "update", "JobId=" + job, "TimeLimit=11"});
  ASSERT_TRUE(completes(job));
  expect_mentions(log_of(job), {"job " + job + " is done\n"});
  EXPECT_EQ(newest_checkpoint(run("slurm-" + job)), iterations);
}

class Cgroups : public Forms {
 protected:
  void SetUp() override {
    if (!has_cgroups()) GTEST_SKIP() << "this cluster has no cgroups";
  }
};

TEST_F(Cgroups, KeepTasksToTheirGpusAndCores) {
  EXPECT_EQ(output_of({"srun", "--gpus-per-node=1", "bash", "-c", open_gpus() + "; nproc"}), "yes\nno\nno\nno\n1\n");
  EXPECT_EQ(output_of({"srun", "bash", "-c", open_gpus()}), "no\nno\nno\nno\n");
}

// Settings of users and sites for binding and PMIx also reach the step that drl_train starts.
TEST_F(Cgroups, RanksAreBoundAsTheUserAsked) {
  const Words note = {"--after_checkpoint", "echo $PMIX_MCA_drl_note, $SLURM_MEM_BIND"};
  const Result result = expect_exit(
      run_for_long(
          kReadmeCommand + Words{kTrain} + small_run(1) + note,
          {{"SLURM_CPU_BIND", "verbose,map_cpu:0"}, {"SLURM_MEM_BIND", "local"}, {"PMIX_MCA_drl_note", "kept"}}),
      0);
  expect_mentions(slurp(run("latest") / "logs/after_checkpoint.log"), {"kept, quiet,local\n"});
  int bound = 0;
  for (const std::string& line : split(result.err, '\n')) bound += line.starts_with("cpu-bind=MAP ");
  EXPECT_EQ(bound, 2 + 8) << result.err;
}

TEST_F(Cgroups, EndATaskThatExceedsItsMemory) {
  const auto run = [](const std::string& memory) {
    return run_for_long({"srun", "--mem=" + memory, "bash", "-c", "text=$(head -c 100M /dev/zero | tr '\\0' x)"});
  };
  expect_exit(run("900M"), 0);
  const Result result = run("50M");
  EXPECT_NE(result.exit_code, 0);
  expect_mentions(result.err, {"Out Of Memory"});
}

// Starts a cluster within this one.
TEST_F(Cgroups, DisappearWithTheirCluster) {
  const auto cgroups = [] { return output_of({"bash", "-c", "find /sys/fs/cgroup -name 'drl-cluster-*' | sort"}); };
  const std::string before = cgroups();
  expect_exit(run_for_long({test_data("slurm/cluster"), "--cgroup", "run", "srun", "-N2", "true"}), 0);
  EXPECT_TRUE(wait_until([&] { return cgroups() == before; }));
  Process cluster({test_data("slurm/cluster"), "--cgroup", "run", "srun", "-N2", "sleep", "1000"});
  ASSERT_TRUE(wait_until([&] { return cgroups() != before; })) << cluster.err();
  cluster.signal(SIGKILL);
  EXPECT_TRUE(wait_until([&] { return cgroups() == before; })) << cgroups();
}

}  // namespace
}  // namespace drl::test
