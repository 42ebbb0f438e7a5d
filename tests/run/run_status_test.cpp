#include "run/run_status.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "run/run_lock.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr double kNow = 1767225600;  // 2026-01-01T00:00:00Z

// A run in the job 12_3 on two nodes, which recorded `status` half an hour ago.
struct Folder {
  explicit Folder(const std::string& status) {
    write("run.json", R"({"task": "Ant", "run": "a", "iteration": 100, "node_hours": 3, "hosts": ["x", "y"],
      "updated": "2025-12-31T23:30:00Z", "job_ids": ["9"], "slurm": {"job": "12_3"}, "cause": "no disk", "status": ")" +
                          status + "\"}");
    write("options.ini", "task = Ant\nmax_iterations = 110\n[ppo]\nmax_iterations = 7\n");
    write("metrics.csv",
          "iteration,steps_per_second,mean_reward,iteration_time\n"
          "103,5,6,2\n104,50,60,4\n105,1");  // the last row is still being written
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
  RunStatus read() const { return read_status(folder.path(), kNow).value(); }
  TempFolder folder;
};

TEST(RunStatusOf, ALockedRunIsRunning) {
  const Folder run("running");
  const auto lock = RunLock::take(run.folder.path());
  const RunStatus status = run.read();
  EXPECT_EQ(status.state, RunState::running);
  EXPECT_EQ(status.iteration, 104);
  EXPECT_EQ(status.max_iterations, 110);
  EXPECT_EQ(status.steps_per_second, 50);
  EXPECT_EQ(status.mean_reward, 60);
  EXPECT_EQ(status.eta, 6 * 3);         // six iterations of 3 s on average
  EXPECT_EQ(status.node_hours, 3 + 1);  // and half an hour on two nodes
}

TEST(RunStatusOf, ARunWithoutItsLockIsStoppedAndSaysHow) {
  const RunStatus killed = Folder("running").read();
  EXPECT_EQ(killed.state, RunState::stopped);
  expect_mentions(killed.note, {"without saying why", "iteration 104", "nothing saved"});
  EXPECT_TRUE(std::isnan(killed.eta));
  EXPECT_EQ(killed.node_hours, 3);
  EXPECT_EQ(Folder("stopped").read().note, "");
  EXPECT_EQ(Folder("failed").read().state, RunState::failed);
  EXPECT_EQ(Folder("failed").read().note, "no disk");
  for (const char* end : {"done", "target reached", "gate passed"}) EXPECT_EQ(Folder(end).read().state, RunState::done);
}

TEST(RunStatusOf, ItsJobMayWait) {
  RunStatus run = Folder("stopped").read();
  EXPECT_EQ(run.job, "12_3");
  take_job(run, {{"9", {"PENDING", "Priority"}}});
  EXPECT_EQ(run.state, RunState::stopped);
  take_job(run, {{"12_3", {"RUNNING", "None"}}});
  EXPECT_EQ(run.state, RunState::stopped);
  EXPECT_EQ(run.note, "job 12_3 is RUNNING");
  take_job(run, {{"12_3", {"PENDING", "BeginTime"}}});
  EXPECT_EQ(run.state, RunState::waiting);
  EXPECT_EQ(run.note, "job 12_3 is PENDING (BeginTime)");
  RunStatus done = Folder("done").read();
  take_job(done, {{"12_3", {"PENDING", "BeginTime"}}});
  EXPECT_EQ(done.state, RunState::done);
}

TEST(RunStatusOf, DamagedFilesAreNamedAndVanishedRunsSkipped) {
  const Folder run("done");
  run.write("run.json", "[1");
  EXPECT_EQ(run.read().state, RunState::unreadable);
  expect_mentions(run.read().note, {"run.json"});
  EXPECT_EQ(read_status("/nowhere/Ant/a", kNow), std::nullopt);
}

TEST(TailOfMetrics, BeginsWithAWholeRow) {
  const Folder run("done");
  run.write("metrics.csv", "iteration,a\n1,10\n12,10\n13,11\n14,12\n");
  const auto tail = [&](size_t bytes) { return tail_of_metrics(run.folder / "metrics.csv", bytes); };
  EXPECT_EQ(tail(1000), "iteration,a\n1,10\n12,10\n13,11\n14,12\n");
  EXPECT_EQ(tail(13), "iteration,a\n13,11\n14,12\n");
  EXPECT_EQ(tail(12), "iteration,a\n14,12\n") << "the row of 13 might be cut off";
  run.write("metrics.csv", "iteration,a\n");
  EXPECT_EQ(tail(1000), "");
}

}  // namespace
}  // namespace drl
