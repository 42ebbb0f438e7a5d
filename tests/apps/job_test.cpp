// Runs drl_train in a Slurm job with a time limit. A script replaces squeue.
#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

const Words kTwenty = "--max_iterations 20 --run_name r"_words;

// Returns the variables of a job with a limit of a minute, of which this much is left.
Process::Variables job_of_a_minute(int64_t seconds_left) {
  Process::Variables job = job_variables("42", seconds_left);
  job["SLURM_JOB_START_TIME"] = std::to_string(std::stoll(job["SLURM_JOB_END_TIME"]) - 60);
  return job;
}

class Job : public testing::Test {
 protected:
  // Adds a squeue that executes `script` to the job's PATH.
  Process::Variables with_squeue(Process::Variables job, const std::string& script) const {
    write_program(folder / "squeue", script);
    const char* path = std::getenv("PATH");
    job["PATH"] = folder.path().string() + ":" + (path ? path : "");
    return job;
  }
  static Process::Variables job_of_unknown_end() { return {{"SLURM_JOB_ID", "42"}}; }

  Runs runs;
  TempFolder folder;
};

void expect_stopped_in_time(const Runs& runs, const Result& result) {
  EXPECT_EQ(result.exit_code, 75) << result.err;
  expect_mentions(result.err, {"job 42", "0:00:", "--time_margin"});
  expect_mentions(result.out, {"stopped by ", "time limit"});
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "stopped");
  expect_rows_up_to_checkpoint(runs.run("r"));
}

TEST_F(Job, StopsBeforeTheTimeLimit) {
  expect_stopped_in_time(
      runs, runs.train(kEndless + "--time_margin 30"_words, with_squeue(job_variables("42", 33), "echo 0:28")));
}

// 9 s of a limit of a minute are left. The default margin is a tenth of the limit.
TEST_F(Job, LeavesATenthOfItsLimit) {
  const Result result = runs.train(kEndless, with_squeue(job_of_a_minute(9), "exit 1"));
  expect_stopped_in_time(runs, result);
  expect_mentions(result.err, {"--time_margin 6.00 s"});
}

TEST_F(Job, IsRefusedIfNoStartHasTimeForAnIteration) {
  expect_error(runs.train(kEndless + "--time_margin 59"_words, with_squeue(job_of_a_minute(55), "exit 1")),
               {"job 42", "0:01:00", "59.00 s", "--time", "--time_margin"});
  EXPECT_FALSE(fs::exists(runs.path()));
}

// --- A shell that has outlived its job

TEST_F(Job, ThatIsOverIsRefused) {
  for (const char* answer : {"echo 'slurm_load_jobs error: Invalid job id specified'; exit 1", "echo PENDING"})
    for (const Words& ranks : {Words{}, "--ranks 2"_words}) {
      expect_error(runs.train(kEndless + ranks, with_squeue(job_variables("42", -3600), answer)),
                   {"job 42", "60 minutes", "SLURM_JOB_END_TIME", "unset"});
      EXPECT_FALSE(fs::exists(runs.path()));
    }
}

TEST_F(Job, ThatMayBeOverRunsWithAWarning) {
  const Result result = expect_exit(runs.train(kTwenty, with_squeue(job_variables("42", -3600), "exit 1")), 0);
  EXPECT_EQ(count_lines(result.err), 2u) << result.err;
  expect_mentions(result.err, {"warning: ", "job 42", "60 minutes", "squeue", "unset", "is unknown"});
  EXPECT_EQ(iterations(runs.run("r")), count_to(20));
}

TEST_F(Job, RunsAfterItsEndIfItsLimitWasExtended) {
  expect_exit(runs.train(kTwenty, with_squeue(job_variables("42", -3600),
                                              "case $* in *%T*) echo RUNNING ;; *) echo 1:00:00 ;; esac")),
              0);
  EXPECT_EQ(iterations(runs.run("r")), count_to(20));
}

// The first answer of squeue gives the end; the second one, before the run stops, shows that it has not changed.
TEST_F(Job, StopsInTimeIfOnlySqueueKnowsItsEnd) {
  const Result result =
      runs.train(kEndless + "--time_margin 1000"_words, with_squeue(job_of_unknown_end(), "echo 0:50"));
  expect_stopped_in_time(runs, result);
  expect_mentions(result.out, {"  job ", "42, 0:00:"});
}

// The limit was extended (scontrol update), or the job was suspended for a while.
TEST_F(Job, ContinuesIfItsLimitWasExtended) {
  EndlessRun process(
      runs, "--time_margin 60"_words,
      with_squeue(job_variables("42", 50), "echo asked >>" + (folder / "asked").string() + "; echo 1:00:00"));
  EXPECT_EQ(slurp(folder / "asked"), "asked\n");
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
  EXPECT_EQ(process.err(), "");
  expect_mentions(process.out(), {"stopped by SIGUSR1"});
}

TEST_F(Job, WithoutALimitIsNotStopped) {
  const Result result = runs.train("--max_iterations 20 --run_name r --time_margin 1e6"_words,
                                   with_squeue(job_of_unknown_end(), "echo UNLIMITED"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  expect_mentions(result.out, {"42, no time limit"});
}

// A busy or broken Slurm causes at most a warning.
TEST_F(Job, ContinuesIfSqueueFails) {
  const Result result = expect_exit(
      runs.train(kTwenty, with_squeue(job_of_unknown_end(),
                                      "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")),
      0, {"warning: ", "job 42", "Unable to contact slurm controller", "--signal"});
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
}

TEST_F(Job, ContinuesWithoutSqueue) {
  Process::Variables job = job_of_unknown_end();
  job["PATH"] = folder.path();
  expect_exit(runs.train(kTwenty, job), 0, {"warning: ", "job 42", "squeue: No such file or directory"});
}

TEST_F(Job, DoesNotWaitForSqueue) {
  const Result result = expect_exit(runs.train(kTwenty, with_squeue(job_of_unknown_end(), "exec sleep 1000")), 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(Job, StopsInTimeIfSqueueDoesNotAnswer) {
  expect_stopped_in_time(
      runs, runs.train(kEndless + "--time_margin 30"_words, with_squeue(job_variables("42", 31), "exec sleep 1000")));
}

// ---- --after_checkpoint and --squeue_comment

TEST_F(Job, RunsACommandAfterACheckpoint) {
  const std::string note = "echo $1 >>" + (folder / "option").string(),
                    other = "echo $1 >>" + (folder / "variable").string();
  const Words command = "--max_iterations 3 --run_name"_words;
  expect_exit(runs.train(command + Words{"r", "--after_checkpoint", note}, {{"DRL_AFTER_CHECKPOINT", other}}), 0);
  EXPECT_EQ(slurp(folder / "option"), checkpoint_file(runs.run("r"), 3).string() + "\n");
  EXPECT_FALSE(fs::exists(folder / "variable"));
  expect_exit(runs.train(command + Words{"s"}, {{"DRL_AFTER_CHECKPOINT", other}}), 0);
  EXPECT_EQ(slurp(folder / "variable"), checkpoint_file(runs.run("s"), 3).string() + "\n");
}

std::string bytes_of_folder(const fs::path& folder) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) text += slurp(entry.path());
  return text;
}

// A command in a file that another user has written must not run with our permissions.
TEST_F(Job, TheCommandIsNeitherWrittenToFilesNorReadFromThem) {
  const std::string made = (folder / "made").string(), secret = "touch " + made + " # token-of-mine";
  const Words once = "--max_iterations 3 --run_name r --logger tensorboard"_words;
  Result result = runs.train(once + Words{"--after_checkpoint", secret});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_TRUE(fs::remove(made));
  ASSERT_EQ(runs.train({"--max_iterations", "4", "--load_run", "r", "--after-checkpoint=" + secret}).exit_code, 0);
  ASSERT_TRUE(fs::remove(made));
  EXPECT_EQ(bytes_of_folder(runs.run("r")).find("token-of-mine"), std::string::npos);

  const fs::path options = runs.run("r") / "options.ini", config = folder / "my.ini";
  const std::string held = "after_checkpoint = \"" + secret + "\"\n";
  const auto warning = [](const std::string& file) { return "warning: " + file + ":1: after_checkpoint"; };
  spill(options, held + slurp(options));
  spill(config, held);
  result = runs.train({"--max_iterations", "5", "--load_run", "r", "--config", config});
  EXPECT_EQ(result.exit_code, 0);
  expect_mentions(result.err, {warning(config.string()), warning(options.string())});
  EXPECT_FALSE(fs::exists(made));

  // A checkpoint of an earlier version contains the command.
  Checkpoint checkpoint = read_checkpoint(checkpoint_file(runs.run("r"), 5));
  checkpoint.attributes["options"] = held + std::get<std::string>(checkpoint.attributes["options"]);
  const fs::path older = folder / "older.h5";
  write_checkpoint(older, checkpoint);
  result = runs.train({"--max_iterations", "7", "--run_name", "s", "--checkpoint", older});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  expect_mentions(result.err, {warning(older.string())});
  EXPECT_FALSE(fs::exists(made));
  // On the command line, it is executed.
  result = runs.train({"--max_iterations", "7", "--load_run", "r", "--after_checkpoint", secret});
  EXPECT_TRUE(fs::exists(made)) << result.err;
}

// The command is no further rank of the run.
TEST_F(Job, ACommandOfSeveralRanksMayBeDrlItself) {
  const Result result = runs.train({"--max_iterations", "3", "--run_name", "r", "--ranks", "2", "--after_checkpoint",
                                    kEval + " --checkpoint \"$1\" --episodes 2; echo code $?"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(slurp(runs.run("r") / "logs" / "after_checkpoint.log"), {"return mean", "code 0"});
}

// After the first comment is refused, drl_train does not try again.
TEST_F(Job, ARefusedCommentCausesOneWarning) {
  const fs::path asked = folder / "asked";
  Process::Variables job = with_squeue(job_variables("42"), "");
  write_program(folder / "scontrol",
                "echo \"$@\" >>" + asked.string() + "; echo 'Access/permission denied' >&2; exit 1");
  Process process(runs.command(kEndless + Words{"--squeue_comment"}), job);
  ASSERT_TRUE(wait_until([&] { return !process.err().empty(); })) << process.out();
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
  EXPECT_EQ(count_lines(process.err()), 1u) << process.err();
  expect_mentions(process.err(), {"warning: ", "Access/permission denied", "--squeue_comment"});
  EXPECT_EQ(slurp(asked), "update jobid=42 comment=Cartpole 1/1000000000\n");
}

}  // namespace
}  // namespace drl::test
