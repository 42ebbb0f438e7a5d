// Jobs that are interrupted and requeued. Their results are bit-identical to those of an uninterrupted run.

#include <cmath>
#include <map>
#include <numeric>
#include <regex>

#include "batch.hpp"

namespace drl::test {
namespace {

constexpr int kIterations = 600, kSaveInterval = 20;
const Words kWork = "--num_envs 256 --num_steps_per_env 16"_words;  // a few seconds, with ten saves per second
const std::string kFirstRestart = "(restart 1 ";
const std::string kDefaultLimit = " 100)\n";  // of DRL_MAX_REQUEUE

class Requeue : public BatchTest {
 protected:
  // Submits a run of two ranks on two nodes. `options` are those of sbatch, `more` those of drl_train.
  static std::string start(const Words& options = {}, const Words& more = {}, int iterations = kIterations,
                           const Process::Variables& variables = {}) {
    const Words saves = "--keep_checkpoints 1000 --ppo.schedule fixed --save_interval"_words;
    return submit(Words{"--gpus-per-node=1"} + options + Words{kBatch + "train_2node.sbatch"} + small_run(iterations) +
                      kWork + saves + Words{std::to_string(kSaveInterval)} + more,
                  variables);
  }
  // Returns the directory of the run of a job, or that with this --run_name.
  fs::path run_of(const std::string& job) const { return run(std::isdigit(job[0]) ? "slurm-" + job : job); }
  int saved(const std::string& job) const { return newest_checkpoint(run_of(job)); }
  bool has_begun(const std::string& job) const {
    return wait_until([&] { return saved(job) >= 2 * kSaveInterval; }, kLong);
  }
  bool is_back(const std::string& job) const {
    return wait_until([&] { return job_field(job, "Restarts") == "1" && job_state(job) != "COMPLETING"; }, kLong);
  }
  void ask_to_stop(const std::string& job) const { spill(run_of(job) / "STOP", ""); }

  // The result of an uninterrupted run, which is made once per combination of options.
  struct Reference {
    std::vector<Tensor> end;
    Words metrics;
  };
  const Reference& reference_of(const Words& options, const Words& more, int iterations = kIterations) const {
    static std::map<Words, Reference> made;
    Reference& whole = made[options + more + Words{std::to_string(iterations)}];
    if (whole.end.empty()) {
      const std::string job = start(options, more, iterations);
      EXPECT_TRUE(completes(job));
      whole = {datasets(checkpoint_file(run_of(job), iterations)), metrics(run_of(job))};
    }
    return whole;
  }
  void expect_same(const std::string& job, const Reference& whole) const {
    EXPECT_EQ(datasets(checkpoint_file(run_of(job), newest_checkpoint(run_of(job)))), whole.end);
    EXPECT_EQ(metrics(run_of(job)), whole.metrics);
  }
  void expect_same(const std::string& job) const { expect_same(job, reference_of({}, {})); }
  // Returns the iteration that the last attempt began with.
  int resumed_at(const std::string& job) const {
    std::string text = log_of(job);
    const size_t at = text.rfind("resuming ");
    if (at == std::string::npos) return 0;
    text.erase(0, at);
    std::smatch match;
    return std::regex_search(text, match, std::regex("\niteration +(\\d+)/")) ? std::stoi(match[1]) : 0;
  }
};

double seconds_of_work(const fs::path& run) {
  const std::vector<double> seconds = column(run, "iteration_time");
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// By default the margin is a tenth of the minute. Each attempt works for most of the rest, because starting, two
// iterations and a save only take a few seconds.
TEST_F(Requeue, AJobOfAMinuteNeedsTwoOrThreeRestartsFor110Seconds) {
  const Words work = "--num_envs 2048 --num_steps_per_env 64"_words;  // a quarter of a second per iteration
  const std::string probe = start({}, work, 20);
  ASSERT_TRUE(completes(probe));
  const int iterations = static_cast<int>(std::lround(20 * 110 / seconds_of_work(run_of(probe))));
  const Reference& whole = reference_of({}, work, iterations);
  const std::string job = start({"-t1"}, work, iterations);
  ASSERT_TRUE(completes(job, 900));
  const double restarts = std::stod(job_field(job, "Restarts")), seconds = seconds_of_work(run_of(job));
  EXPECT_GE(restarts, std::ceil(seconds / 54) - 1) << seconds << " s of work; " << log_of(job);  // 2 for 110 s
  EXPECT_LE(restarts, std::ceil(seconds / 36)) << seconds << " s of work; " << log_of(job);      // 3 for 108 s
  expect_mentions(log_of(job), {"--time_margin 6.00 s", ": job " + job + " ", kFirstRestart, kDefaultLimit,
                                "job " + job + " is done\n"});
  EXPECT_FALSE(fs::exists(run_of(job + ".2")));
  expect_same(job, whole);
}

TEST_F(Requeue, AJobWithoutTimeForAnIterationFails) {
  const std::string job = start({"-t1"}, {"--time_margin", "59.9"});
  expect_mentions(log_of_failure(job, 2), {"job " + job + " ", "0:01:00", "--time_margin", "exit code 2\n"});
  EXPECT_EQ(job_field(job, "Restarts"), "0");
}

// In the job, each command that asks slurmctld, except srun, logs its call.
TEST_F(Requeue, AJobOnlyAsksSlurmAtItsStartAndToRequeue) {
  fs::create_directory(folder / "notes");
  for (const std::string name : {"scontrol", "squeue", "sbatch", "scancel"}) {
    const std::string real = "real=" + run_shell("type -P " + name).out;
    write_program(folder / "notes" / name, real + "[ -z \"$SLURM_JOB_ID\" ] || echo \"" + name + " $*\" >>" +
                                               (folder / "calls").string() + "\nexec $real \"$@\"");
  }
  const std::string path = (folder / "notes").string() + ":" + std::getenv("PATH");
  const std::string job = start({}, {}, 1000000, {{"PATH", path}});
  ASSERT_TRUE(has_begun(job));
  ask_to_stop(job);
  ASSERT_TRUE(is_back(job)) << log_of(job);
  EXPECT_EQ(log("calls"), "scontrol show job -d " + job + "\nscontrol requeue incomplete " + job + "\n");
}

struct Example {
  std::string task;
  Words options, more;  // as in start()
};
void PrintTo(const Example& example, std::ostream* out) { *out << example.task; }

class Killed : public Requeue, public testing::WithParamInterface<Example> {};

// `scontrol requeue` kills the job's tasks at any point.
TEST_P(Killed, HasTheResultOfAnUninterruptedRun) {
  const auto& [name, options, more] = GetParam();
  task = name;
  if (run_program({kTrain, "--list_tasks"}).out.find(name) == std::string::npos) GTEST_SKIP() << "built without MuJoCo";
  const Reference& whole = reference_of(options, more);
  const std::string job = start(options, more);
  ASSERT_TRUE(has_begun(job));
  const int before = saved(job);
  output_of({"scontrol", "requeue", job});
  ASSERT_TRUE(completes(job));
  EXPECT_EQ(job_field(job, "Restarts"), "1");
  EXPECT_GT(resumed_at(job), before) << log_of(job);
  expect_same(job, whole);
}

// A vectorised task, and a robot with normalised observations and rewards, on one CPU rank per node.
INSTANTIATE_TEST_SUITE_P(Tasks, Killed,
                         testing::Values(Example{"CartPole-v1", {}, {}},
                                         Example{"HalfCheetah-v5",
                                                 {"-c8"},
                                                 {"--task", "HalfCheetah-v5", "--num_envs", "8", "--device", "cpu"}}),
                         [](const auto& info) { return std::to_string(info.index); });

class Preemption : public Requeue, public testing::WithParamInterface<int> {
 protected:
  Preemption() { output_of({"scontrol", "update", "partitionname=normal", "gracetime=" + std::to_string(GetParam())}); }
  ~Preemption() override { output_of("scontrol update partitionname=normal gracetime=0"_words); }
};

// With a grace time, Slurm sends the tasks a signal. If the batch script then just ended, the job would not be
// requeued.
TEST_P(Preemption, RequeuesTheJob) {
  const std::string job = start();
  ASSERT_TRUE(has_begun(job));
  const int before = saved(job);
  const std::string urgent =
      submit({"-N2", "--exclusive", "--partition=urgent", "--output=/dev/null", "--wrap", "exit 0"});
  ASSERT_TRUE(completes(job));
  EXPECT_EQ(job_state(urgent), "COMPLETED");
  EXPECT_EQ(job_field(job, "Restarts"), "1");
  EXPECT_GT(resumed_at(job), before) << log_of(job);
  if (GetParam() > 0) {
    expect_mentions(log_of(job), {": job " + job + " is preempted", kFirstRestart, kDefaultLimit});
  }
  expect_same(job);
}

INSTANTIATE_TEST_SUITE_P(GraceTime, Preemption, testing::Values(0, 30), testing::PrintToStringParamName());

TEST_F(Requeue, SuspendingAJobDoesNotChangeItsResult) {
  const std::string job = start();
  ASSERT_TRUE(has_begun(job));
  output_of({"scontrol", "suspend", job});
  ASSERT_TRUE(wait_for_state(job, "SUSPENDED"));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // this time must not count for the run
  output_of({"scontrol", "resume", job});
  ASSERT_TRUE(completes(job));
  EXPECT_EQ(job_field(job, "Restarts"), "0");
  expect_same(job);
}

TEST_F(Requeue, CancelledJobsAreNotRequeued) {
  const std::string running = start({}, {}, 1000000);
  ASSERT_TRUE(has_begun(running));
  output_of({"scancel", running});
  // This one stops in order to be resumed, and is busy with its last checkpoint.
  const std::string saving = start({}, {"--after_checkpoint", "touch busy-$PPID; exec sleep 60"}, 1000000);
  ASSERT_TRUE(has_begun(saving));
  ask_to_stop(saving);
  ASSERT_TRUE(wait_until([&] { return run_json(run_of(saving)).at("status") == "stopped"; }, kLong));
  output_of({"scancel", saving});
  for (const std::string& job : {running, saving}) {
    ASSERT_TRUE(wait_for_end(job));
    EXPECT_EQ(job_state(job), "CANCELLED");
    EXPECT_EQ(job_field(job, "Restarts"), "0");
    EXPECT_EQ(log_of(job).find("(restart "), std::string::npos) << log_of(job);
  }
  EXPECT_EQ(run_program("squeue --noheader"_words).out, "");
}

// The job is cancelled after the ranks have exited with 75. Slurm then refuses to requeue it.
TEST_F(Requeue, AJobCancelledBeforeItsRequeueIsNotRequeued) {
  const std::string job = submit({"--output=drl-%j.out", "--wrap",
                                  "trap : TERM; touch begun; sleep 60 & wait; exec " + bin("drl_requeue") + " 75"});
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "begun"); }, kLong));
  output_of({"scancel", job});
  ASSERT_TRUE(wait_for_end(job));
  EXPECT_EQ(job_state(job), "CANCELLED");
  EXPECT_EQ(job_field(job, "Restarts"), "0") << log_of(job);
}

TEST_F(Requeue, AKilledRankEndsTheStepAndIsNamed) {
  const std::string job = start({}, {}, 1000000);
  ASSERT_TRUE(has_begun(job));
  const std::string killer =
      "for p in /proc/[0-9]*; do if grep -qz ^SLURM_PROCID=1$ $p/environ && grep -q ^drl_train$ "
      "$p/comm; then kill -9 ${p#/proc/}; fi; done";
  output_of({"srun", "--jobid=" + job, "--overlap", "--mpi=none", "-N1", "-n1", "-w", "node2", "bash", "-c", killer});
  EXPECT_TRUE(wait_until([&] { return job_state(job) != "RUNNING"; }, 10)) << log_of(job);
  ASSERT_TRUE(wait_for_end(job));
  EXPECT_EQ(job_state(job), "FAILED");
  EXPECT_EQ(job_field(job, "Restarts"), "0");
  expect_mentions(log_of(job), {"node2: task 1: Killed", ": job " + job + " ", "exit code 137\n"});
}

TEST_F(Requeue, AJobThatLostANodeResumesOnTheOther) {
  const std::string job = start({"-N1-2"}, {"--max_iterations", "3000"});
  ASSERT_TRUE(has_begun(job));
  ASSERT_EQ(job_field(job, "NumNodes"), "2");
  output_of({test_data("slurm/cluster"), "down", "node2"});
  ASSERT_TRUE(is_back(job)) << log_of(job);
  const int before = saved(job);
  ASSERT_TRUE(wait_for_state(job, "RUNNING"));
  EXPECT_EQ(job_field(job, "NumNodes"), "1");
  EXPECT_TRUE(wait_until([&] { return saved(job) > before; }, kLong)) << log_of(job);
  output_of({"scancel", job});
  output_of({test_data("slurm/cluster"), "up", "node2"});
  EXPECT_GT(resumed_at(job), 2 * kSaveInterval) << log_of(job);
}

TEST_F(Requeue, AFollowUpJobContinuesAJobThatMayNotBeRequeued) {
  const std::string job = start("--no-requeue -t7 -c2 --account=grant"_words,
                                {"--run_name", "two words", "--after_checkpoint", "env > environment"}, kIterations,
                                {{"SBATCH_OPTION_OF_NOBODY", "1"}});  // a job must not pass this on
  const fs::path named = run("two words");
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(named) >= 2 * kSaveInterval; }, kLong));
  spill(fs::path(std::getenv("TMPDIR")) / "site.sh", "echo settings beside the copy of the script");
  spill(named / "STOP", "");
  ASSERT_TRUE(wait_for_end(job));
  EXPECT_EQ(job_field(job, "ExitCode"), "75:0");
  const std::string next = std::to_string(std::stoi(job) + 1);
  expect_mentions(log_of(job), {": job " + job + " ", "presently disabled", ": job " + next + " "});
  ASSERT_TRUE(completes(next)) << log_of(job);
  for (const char* field : {"NumNodes", "NumCPUs", "CPUs/Task", "TresPerNode", "TimeLimit", "Partition", "Account",
                            "JobName", "WorkDir", "StdOut", "OverSubscribe", "Requeue"})
    EXPECT_EQ(job_field(next, field), job_field(job, field)) << field;
  const std::string environment = slurp(folder / "environment");
  expect_mentions(environment, {"\nDRL_JOB_ID=" + job + "\n", "\nSLURM_JOB_ID=" + next + "\n"});
  EXPECT_EQ(environment.find("OF_NOBODY"), std::string::npos);
  expect_mentions(environment, {"\nDRL_COMMAND=" + kBatch + "train_2node.sbatch "});
  EXPECT_EQ(log_of(job).find("settings beside the copy"), std::string::npos);
  expect_same("two words");
}

TEST_F(Requeue, MaxRequeueLimitsTheRestarts) {
  const std::string job = start({"--no-requeue"}, {}, 1000000, {{"DRL_MAX_REQUEUE", "1"}});
  ASSERT_TRUE(has_begun(job));
  ask_to_stop(job);
  const std::string next = std::to_string(std::stoi(job) + 1);
  ASSERT_TRUE(wait_for_state(next, "RUNNING")) << log_of(job);
  const int before = saved(job);
  ASSERT_TRUE(wait_until([&] { return saved(job) > before; }, kLong)) << log_of(job);
  ask_to_stop(job);
  ASSERT_TRUE(wait_for_end(next));
  EXPECT_EQ(job_field(next, "ExitCode"), "75:0");
  const std::string text = log_of(job);  // of both jobs
  expect_mentions(text, {": job " + next + " ", "DRL_MAX_REQUEUE=1)", "DRL_JOB_ID=" + job + " sbatch "});
  EXPECT_EQ(run_program("squeue --noheader"_words).out, "");
}

TEST_F(Requeue, AJobWithoutANewerCheckpointIsNotRequeued) {
  const std::string job = start({}, {}, 1000000);
  ASSERT_TRUE(has_begun(job));
  fs::rename(run_of(job) / "checkpoints", run_of(job) / "gone");
  spill(run_of(job) / "checkpoints", "no folder");
  ask_to_stop(job);
  expect_mentions(log_of_failure(job, 1), {"no newer checkpoint", ": job " + job + " ", "exit code 1\n"});
  EXPECT_EQ(job_field(job, "Restarts"), "0");
}

TEST_F(Requeue, OneTaskOfAnArrayIsRequeuedAlone) {
  const std::string array = submit(Words{"--array=0-1", "-N1", "--gpus-per-node=1", kBatch + "sweep.sbatch"} +
                                       small_run(1000000) + "--save_interval 20"_words,
                                   {{"DRL_MAX_REQUEUE", "7"}});
  const std::string first = array + "_0", last = array + "_1";
  for (const std::string& task : {first, last}) ASSERT_TRUE(has_begun(task));
  ask_to_stop(last);  // the one whose job id is the array's own
  ASSERT_TRUE(is_back(last)) << log("drl-sweep-" + last + ".out");
  EXPECT_EQ(job_field(first, "Restarts"), "0");
  EXPECT_EQ(job_state(first), "RUNNING");
  const int before = saved(last);
  EXPECT_TRUE(wait_until([&] { return saved(last) > before; }, kLong)) << log("drl-sweep-" + last + ".log");
  expect_mentions(log("drl-sweep-" + last + ".out"), {": job " + last + " ", kFirstRestart, " 7)\n"});
}

TEST_F(Requeue, AFollowUpJobOfOneTaskOfAnArrayContinuesItsRun) {
  const std::string array =
      submit(Words{"--array=0-1", "--no-requeue", "-N1", "--gpus-per-node=1", kBatch + "sweep.sbatch"} +
             small_run(1000000) + "--save_interval 20"_words);
  const std::string first = array + "_0", last = array + "_1";
  for (const std::string& task : {first, last}) ASSERT_TRUE(has_begun(task));
  ask_to_stop(last);
  ASSERT_TRUE(wait_for_end(last));
  const std::string output = log("drl-sweep-" + last + ".out");
  std::smatch next;
  ASSERT_TRUE(std::regex_search(output, next, std::regex(": job (\\d+) "))) << output;
  EXPECT_EQ(job_state(first), "RUNNING");
  const int before = saved(last);
  EXPECT_TRUE(wait_until([&] { return saved(last) > before; }, kLong)) << log("drl-sweep-" + last + ".out");
  EXPECT_EQ(job_field(next[1], "ArrayTaskId"), "1");
}

TEST_F(Requeue, MaxRequeueMustBeANumber) {
  const std::string job = submit({"-N1", "--gpus-per-node=1", kBatch + "train_2node.sbatch", "--task", "Cartpol"},
                                 {{"DRL_MAX_REQUEUE", "often"}});
  expect_mentions(log_of_failure(job, 2), {": job " + job + " ", "DRL_MAX_REQUEUE=often"});
}

}  // namespace
}  // namespace drl::test
