#include "launch/allocation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/environment.hpp"
#include "../support/temp_folder.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

std::optional<Allocation> allocation_of(const Variables& variables) { return allocation(environment_of(variables)); }

TEST(Allocation, IsEmptyOutsideAJob) { EXPECT_FALSE(allocation_of({{"PATH", "/bin"}})); }

TEST(Allocation, ReadsTheVariablesOfAJob) {
  const auto job = allocation_of({{"SLURM_JOB_ID", "1234"},
                                  {"SLURM_JOB_PARTITION", "gpu"},
                                  {"SLURM_JOB_NUM_NODES", "2"},
                                  {"SLURM_JOB_NODELIST", "node[1-2]"},
                                  {"SLURM_RESTART_COUNT", "3"},
                                  {"SLURM_JOB_START_TIME", "1795196400"},
                                  {"SLURM_JOB_END_TIME", "1795200000"}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->job, "1234");
  EXPECT_EQ(job->partition, "gpu");
  EXPECT_EQ(job->node_count, 2);
  EXPECT_EQ(job->nodes, "node[1-2]");
  EXPECT_EQ(job->restart_count, 3);
  EXPECT_EQ(job->start_time, 1795196400);
  EXPECT_EQ(job->end_time, 1795200000);
}

// The id of an array's last task is also that of the whole array, so squeue -j would list all tasks.
TEST(Allocation, AnArrayTaskHasItsArraysIdAndItsIndex) {
  const auto job = allocation_of({{"SLURM_JOB_ID", "50"}, {"SLURM_ARRAY_JOB_ID", "48"}, {"SLURM_ARRAY_TASK_ID", "7"}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->job, "48_7");
  EXPECT_EQ(time_left_command(*job), (std::vector<std::string>{"squeue", "-h", "-j", "48_7", "-o", "%L"}));
  EXPECT_EQ(comment_command(*job, "a b"),
            (std::vector<std::string>{"scontrol", "update", "jobid=48_7", "comment=a b"}));
}

TEST(Allocation, MalformedNumbersCountAsUnset) {
  const auto job = allocation_of(
      {{"SLURM_JOB_ID", "5"}, {"SLURM_JOB_END_TIME", "soon"}, {"SLURM_RESTART_COUNT", "-1"}, {"SLURM_NNODES", ""}});
  ASSERT_TRUE(job);
  EXPECT_FALSE(job->end_time);
  EXPECT_EQ(job->restart_count, 0);
  EXPECT_EQ(job->node_count, 0);
  EXPECT_FALSE(allocation_of({{"SLURM_JOB_ID", "x"}}));
}

TEST(Allocation, IsAContinuationAfterARequeueOrIfItReplacesAJob) {
  EXPECT_FALSE(is_continuation(std::nullopt, ""));
  EXPECT_FALSE(is_continuation(allocation_of({{"SLURM_JOB_ID", "5"}}), "5"));
  EXPECT_TRUE(is_continuation(allocation_of({{"SLURM_JOB_ID", "5"}, {"SLURM_RESTART_COUNT", "1"}}), "5"));
  EXPECT_TRUE(is_continuation(allocation_of({{"SLURM_JOB_ID", "6"}}), "5"));  // DRL_JOB_ID=5
}

// squeue(1), %L: "days-hours:minutes:seconds"; "NOT_SET" if not yet established, "UNLIMITED".
TEST(TimeLeft, IsParsedFromAllFormatsOfSqueue) {
  EXPECT_EQ(parse_time_left("0:07\n"), 7);
  EXPECT_EQ(parse_time_left("3:04\n"), 3 * 60 + 4);
  EXPECT_EQ(parse_time_left("02:03:04"), 2 * 3600 + 3 * 60 + 4);
  EXPECT_EQ(parse_time_left("1-02:03:04\n"), 86400 + 2 * 3600 + 3 * 60 + 4);
  EXPECT_EQ(parse_time_left("UNLIMITED\n"), INFINITY);
  EXPECT_EQ(parse_time_left("squeue: a warning\n59:00\n"), 59 * 60);
  for (const char* text : {"", "\n", "NOT_SET\n", "INVALID\n", "12", "1:2:3:4", "1-2:3", "-1:00", "1:-5", "a:b",
                           "slurm_load_jobs error: Invalid job id specified\n"})
    EXPECT_FALSE(parse_time_left(text)) << text;
}

TEST(BackgroundCommand, ReturnsExitCodeAndOutput) {
  BackgroundCommand command({"sh", "-c", "echo first; echo last words >&2; exit 7"});
  EXPECT_EQ(command.wait(60), 7);
  EXPECT_EQ(command.output(), "first\nlast words\n");
  EXPECT_EQ(command.last_line(), "last words");
  BackgroundCommand killed({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(killed.wait(60), 128 + 9);
}

TEST(BackgroundCommand, ReportsAMissingProgram) {
  BackgroundCommand command({"drl_no_such_program"});
  EXPECT_EQ(command.exit_code(), 127);
  EXPECT_EQ(command.last_line(), "drl_no_such_program: No such file or directory");
}

// What a command prints of its environment, if `variables` are set in ours.
std::string seen_by_command(const Variables& variables, const std::string& log = "") {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  BackgroundCommand command({"env"}, log);
  command.wait(60);
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  return log.empty() ? command.output() : slurp(log);
}

TEST(BackgroundCommand, IsNoRankOfTheLauncher) {
  const std::string seen = seen_by_command({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "1"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(seen.find("OMPI_COMM_WORLD"), std::string::npos);
  EXPECT_EQ(seen.find("PMIX_"), std::string::npos);
  EXPECT_NE(seen.find("SLURM_JOB_ID=7\n"), std::string::npos);
}

// squeue(1): SQUEUE_STATES=PD lists no running job. The user's own command keeps such defaults.
TEST(BackgroundCommand, SqueueListsAllJobs) {
  const Variables defaults = {{"SQUEUE_STATES", "PD"}, {"SLURM_CLUSTERS", "other"}};
  const std::string seen = seen_by_command(defaults);
  EXPECT_EQ(seen.find("SQUEUE_STATES"), std::string::npos);
  EXPECT_EQ(seen.find("SLURM_CLUSTERS"), std::string::npos);
  const TempFolder folder;
  EXPECT_NE(seen_by_command(defaults, folder / "log").find("SQUEUE_STATES=PD\n"), std::string::npos);
}

TEST(BackgroundCommand, NeverBlocksAndIsKilledByTheDestructor) {
  BackgroundCommand command({"sleep", "1000"});
  EXPECT_FALSE(command.exit_code());
  EXPECT_FALSE(command.wait(0.01));
}  // its destructor would take 1000 s otherwise

// The output is larger than a pipe's buffer, and in the second case larger than the part that is kept.
TEST(BackgroundCommand, LargeOutputDoesNotBlock) {
  for (const auto& [written, kept] : {std::pair{300000, 300000}, {3000000, 1 << 20}}) {
    BackgroundCommand command({"sh", "-c", "yes | head -c " + std::to_string(written) + "; exit 3"});
    EXPECT_EQ(command.wait(60), 3);
    EXPECT_EQ(command.output().size(), static_cast<size_t>(kept));
  }
}

// The outputs are those of Slurm 22.05 and 24.11.
TEST(JobState, IsParsedFromSqueuesOutput) {
  EXPECT_EQ(parse_job_state(0, "RUNNING\n"), "RUNNING");
  EXPECT_EQ(parse_job_state(0, "squeue: a message of the site\nSUSPENDED\n"), "SUSPENDED");
  EXPECT_EQ(parse_job_state(0, ""), "") << "ended";
  EXPECT_EQ(parse_job_state(1, "slurm_load_jobs error: Invalid job id specified\n"), "") << "ended long ago";
  EXPECT_EQ(parse_job_state(1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"),
            std::nullopt);
  EXPECT_EQ(parse_job_state(127, "squeue: No such file or directory"), std::nullopt);
  EXPECT_EQ(parse_job_state(0, "squeue: error: something"), std::nullopt);
}

TEST(JobList, IsParsedFromSqueuesOutput) {
  const auto jobs = parse_job_list(0, "12|RUNNING|None\n13_4|PENDING|Resources\nsqueue: a message of the site\n");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at("13_4").state, "PENDING");
  EXPECT_EQ(jobs->at("13_4").reason, "Resources");
  EXPECT_TRUE(parse_job_list(1, "slurm_load_jobs error: Invalid job id specified\n").value().empty());
  EXPECT_FALSE(parse_job_list(1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"));
}

}  // namespace
}  // namespace drl
