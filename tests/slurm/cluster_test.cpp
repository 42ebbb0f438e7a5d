// Tests of the test cluster itself, and of Slurm's rules for launch lines, on which the other tests rely.
#include <map>

#include "base/text.hpp"
#include "slurm.hpp"

namespace drl::test {
namespace {

// Counts how often each line of `text` occurs.
std::map<std::string, int> count_equal_lines(const std::string& text) {
  std::map<std::string, int> counts;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) ++counts[line];
  return counts;
}
using Lines = std::map<std::string, int>;

using Cluster = SlurmTest;

TEST_F(Cluster, HasTwoIdleNodesOfEightCoresAndFourGpus) {
  EXPECT_EQ(output_of({"sinfo", "-hN", "-p", "normal", "-o", "%N %c %G %t"}),
            "node1 8 gpu:4 idle\nnode2 8 gpu:4 idle\n");
}

TEST_F(Cluster, NodesBehaveLikeSeparateMachines) {
  // Each node has its own name and address, and sees no processes or shared memory of the other node.
  const std::string here = "hostname; hostname -I; ls /dev/shm | wc -l; cat /proc/[0-9]*/comm | grep -cx slurmd";
  EXPECT_EQ(count_equal_lines(output_of({"srun", "-N2", "bash", "-c", here})),
            (Lines{{"node1", 1}, {"node2", 1}, {"10.0.0.11 ", 1}, {"10.0.0.12 ", 1}, {"0", 2}, {"1", 2}}));
}

// Slurm's rules for tasks and their visible GPUs, on two nodes with four GPUs each.
struct Launch {
  Words options;
  Lines gpus;  // node and CUDA_VISIBLE_DEVICES of each task
};
class LaunchLines : public Cluster, public ::testing::WithParamInterface<Launch> {};

TEST_P(LaunchLines, GiveTheseGpus) {
  EXPECT_EQ(count_equal_lines(output_of(Words{"srun"} + GetParam().options +
                                        Words{"bash", "-c", "echo $SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES-unset}"})),
            GetParam().gpus);
}

Lines on_both(const std::string& gpus, int tasks) { return {{"node1 " + gpus, tasks}, {"node2 " + gpus, tasks}}; }
Lines one_per_task(int tasks) {
  Lines lines;
  for (int gpu = 0; gpu < tasks; ++gpu) lines.merge(on_both(std::to_string(gpu), 1));
  return lines;
}
INSTANTIATE_TEST_SUITE_P(
    Srun, LaunchLines,
    ::testing::Values(Launch{{"-N2", "--gpus-per-node=4"}, on_both("0,1,2,3", 1)},
                      Launch{{"-N2", "--gpus-per-node=4", "--ntasks-per-node=4"}, on_both("0,1,2,3", 4)},
                      Launch{{"-N2", "-n8", "--ntasks-per-node=4", "--gpus-per-task=1"}, one_per_task(4)},
                      Launch{{"-N2", "-n8", "--ntasks-per-node=4", "--gpus-per-task=1", "--gpu-bind=none"},
                             on_both("unset", 4)},
                      Launch{{"-N2", "--gpus-per-node=4", "--ntasks-per-gpu=1"}, one_per_task(2)},
                      Launch{{"-N2", "-n8"}, {{"node1 unset", 7}, {"node2 unset", 1}}}));

TEST_F(Cluster, UrgentJobsPreemptNormalOnes) {
  const std::string log = folder / "log";
  const std::string normal = submit({"--requeue", "-N2", "--exclusive", "-o", log, "--wrap", "sleep 100"});
  ASSERT_TRUE(wait_for_state(normal, "RUNNING"));
  const std::string urgent = submit({"-p", "urgent", "-N1", "-o", log, "--wrap", "sleep 1"});
  ASSERT_TRUE(wait_for_state(urgent, "COMPLETED"));
  EXPECT_TRUE(wait_until([&] { return job_state(normal) == "RUNNING" && job_field(normal, "Restarts") == "1"; }))
      << "the job can only restart after its credential has expired, which takes 5 s";
}

TEST_F(Cluster, JobsCanBeSuspended) {
  const std::string file = folder / "ticks";
  const std::string job = submit({"-o", file, "--wrap", "while sleep 0.1; do echo tick; done"});
  const auto ticks = [&] { return count_lines(slurp(file)); };
  ASSERT_TRUE(wait_until([&] { return ticks() > 3; }));
  output_of({"scontrol", "suspend", job});
  ASSERT_TRUE(wait_for_state(job, "SUSPENDED"));
  const size_t then = ticks();
  run_program("sleep 0.5"_words);
  EXPECT_LE(ticks(), then + 1);
  output_of({"scontrol", "resume", job});
  EXPECT_TRUE(wait_until([&] { return ticks() > then + 3; }));
}

TEST_F(Cluster, ANodeGoesDownAndComesBack) {
  expect_exit(run_for_long({test_data("slurm/cluster"), "down", "node2"}), 0);
  EXPECT_NE(run_for_long({"bash", "-c", ": </dev/tcp/node2/6818"}).exit_code, 0) << "slurmd's port";
  expect_exit(run_for_long({test_data("slurm/cluster"), "up", "node2"}), 0);
  EXPECT_EQ(output_of("srun -w node2 hostname"_words), "node2\n");
}

// Counts the processes of this name in this namespace and in those within it.
int count_processes(const std::string& name) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) count += slurp(entry.path() / "comm") == name + '\n';
  return count;
}

// Starts a cluster within this one.
TEST_F(Cluster, LeavesNothingWhenItIsKilled) {
  const auto processes = [] {
    std::map<std::string, int> counts;
    for (const char* name : {"slurmctld", "slurmd", "munged", "sleep"}) counts[name] = count_processes(name);
    return counts;
  };
  const auto before = processes();
  const std::string mounts = slurp("/proc/self/mounts"), files = output_of("ls /var/lib/slurm"_words);
  for (const int signal : {SIGKILL, SIGTERM}) {
    Process cluster({test_data("slurm/cluster"), "run", "srun", "-N2", "sleep", "1000"});
    ASSERT_TRUE(wait_until([] { return count_processes("sleep") == 2; })) << cluster.err();
    EXPECT_EQ(count_processes("slurmctld"), 2);
    cluster.signal(signal);
    EXPECT_EQ(cluster.wait().exit_code, 128 + signal);
    EXPECT_TRUE(wait_until([&] { return processes() == before; }));
  }
  EXPECT_EQ(slurp("/proc/self/mounts"), mounts);
  EXPECT_EQ(output_of("ls /var/lib/slurm"_words), files);
}

TEST_F(Cluster, ReturnsTheExitCodeOfTheCommand) {
  expect_exit(run_for_long({test_data("slurm/cluster"), "run", "bash", "-c", "exit 75"}), 75);
  expect_exit(run_for_long({test_data("slurm/cluster"), "run", "bash", "-c", "kill -TERM $$"}), 143);
}

TEST_F(Cluster, SettingsReplaceThoseOfSlurmConf) {
  EXPECT_EQ(output_of({test_data("slurm/cluster"), "--set", "KillWait=7", "run", "grep", "KillWait",
                       "/var/lib/slurm/etc/slurm.conf"}),
            "KillWait=7\n");
}

TEST_F(Cluster, ReportsWhyItCannotRun) {
  const TempFolder folder;  // readable by everybody, unlike perhaps the checkout
  fs::permissions(folder.path(), fs::perms(0755));
  fs::copy(test_data("slurm/cluster"), folder / "cluster");
  const Result result =
      expect_exit(run_for_long({"setpriv", "--reuid=65534", folder / "cluster", "run", "true"}), 77, {"root"});
  EXPECT_EQ(count_lines(result.err), 1u);
  expect_exit(run_for_long({test_data("slurm/cluster"), "--slurm", "run", "true"}, {{"DRL_SLURM_PREFIX", "/nowhere"}}),
              77, {"/nowhere", "tests/slurm/build_slurm"});
}

}  // namespace
}  // namespace drl::test
