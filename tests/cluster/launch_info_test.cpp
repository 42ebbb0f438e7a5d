#include "cluster/launch_info.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/check.hpp"

namespace drl {
namespace {

LaunchInfo info_of(const std::map<std::string, std::string>& variables) {
  return launch_info([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

void expect_info(const LaunchInfo& info, const std::string& launcher, int rank, int world_size, int local_rank,
                 int local_size) {
  EXPECT_EQ(info.launcher, launcher);
  EXPECT_EQ(info.rank, rank);
  EXPECT_EQ(info.world_size, world_size);
  EXPECT_EQ(info.local_rank, local_rank);
  EXPECT_EQ(info.local_size, local_size);
}

TEST(LaunchInfo, StartedDirectly) {
  const LaunchInfo info = info_of({{"PATH", "/bin"}});
  expect_info(info, "", 0, 1, 0, 1);
  EXPECT_FALSE(info.launched());
  EXPECT_EQ(info.job_id, "");
}

TEST(LaunchInfo, Mpirun) {
  const LaunchInfo info = info_of({{"OMPI_COMM_WORLD_RANK", "5"},
                                   {"OMPI_COMM_WORLD_SIZE", "8"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  expect_info(info, "mpirun", 5, 8, 1, 4);
  EXPECT_TRUE(info.launched());
}

TEST(LaunchInfo, Hydra) {
  expect_info(info_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}}),
              "hydra", 2, 4, 0, 2);
}

TEST(LaunchInfo, Pals) {
  expect_info(info_of({{"PALS_RANKID", "3"}, {"PALS_SIZE", "4"}, {"PALS_LOCAL_RANKID", "1"}, {"PALS_LOCAL_SIZE", "2"}}),
              "pals", 3, 4, 1, 2);
}

std::map<std::string, std::string> srun_task(const std::string& rank, const std::string& node,
                                             const std::string& local) {
  return {{"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", rank},
          {"SLURM_NTASKS", "11"},
          {"SLURM_NODEID", node},
          {"SLURM_LOCALID", local},
          {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
}

TEST(LaunchInfo, TaskOfAnSrunStep) {
  const LaunchInfo info = info_of(srun_task("0", "0", "0"));
  expect_info(info, "srun", 0, 11, 0, 4);
  EXPECT_EQ(info.job_id, "77");
  expect_info(info_of(srun_task("5", "1", "1")), "srun", 5, 11, 1, 4);
  expect_info(info_of(srun_task("10", "2", "2")), "srun", 10, 11, 2, 3);
}

TEST(LaunchInfo, TasksPerNodeInAllForms) {
  std::map<std::string, std::string> task = srun_task("0", "0", "0");
  for (const auto& [text, node, tasks] : {std::tuple{"7", "0", 7},
                                          {"7,1", "1", 1},
                                          {"2,4(x3),1", "0", 2},
                                          {"2,4(x3),1", "3", 4},
                                          {"2,4(x3),1", "4", 1}}) {
    task["SLURM_STEP_TASKS_PER_NODE"] = text;
    task["SLURM_NODEID"] = node;
    EXPECT_EQ(info_of(task).local_size, tasks) << text << ", node " << node;
  }
}

// sbatch sets SLURM_PROCID and SLURM_NTASKS in the script's shell, but there is no step.
TEST(LaunchInfo, BatchShellIsNoRank) {
  const LaunchInfo info =
      info_of({{"SLURM_JOB_ID", "78"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}});
  expect_info(info, "", 0, 1, 0, 1);
  EXPECT_EQ(info.job_id, "78");
}

// salloc's shell where slurm.conf has LaunchParameters=use_interactive_step.
TEST(LaunchInfo, InteractiveShellIsNoRank) {
  expect_info(info_of({{"SLURM_JOB_ID", "78"},
                       {"SLURM_STEP_ID", "4294967290"},
                       {"SLURM_STEP_NUM_TASKS", "1"},
                       {"SLURM_PROCID", "0"}}),
              "", 0, 1, 0, 1);
}

TEST(LaunchInfo, MpirunInsideAnSrunStepWins) {
  std::map<std::string, std::string> task = srun_task("0", "0", "0");
  task.insert({{"OMPI_COMM_WORLD_RANK", "3"},
               {"OMPI_COMM_WORLD_SIZE", "4"},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  expect_info(info_of(task), "mpirun", 3, 4, 3, 4);
}

// srun --mpi=pmi2 sets PMI_RANK as hydra does, and PALS as well; hydra alone says MPI_LOCALRANKID.
TEST(LaunchInfo, PmiRankAloneIsNotHydra) {
  std::map<std::string, std::string> task = srun_task("5", "1", "1");
  task.insert({{"PMI_RANK", "5"}, {"PMI_SIZE", "11"}, {"PMI_FD", "6"}});
  expect_info(info_of(task), "srun", 5, 11, 1, 4);
  expect_info(info_of({{"PMI_RANK", "3"},
                       {"PMI_SIZE", "4"},
                       {"PALS_RANKID", "3"},
                       {"PALS_SIZE", "4"},
                       {"PALS_LOCAL_RANKID", "1"},
                       {"PALS_LOCAL_SIZE", "2"}}),
              "pals", 3, 4, 1, 2);
}

// hydra starts its proxies on other nodes by srun.
TEST(LaunchInfo, HydraInsideAnSrunStepWins) {
  std::map<std::string, std::string> task = srun_task("1", "1", "0");
  task.insert({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  expect_info(info_of(task), "hydra", 3, 4, 1, 2);
}

// The job has 8 tasks, this step of it 2.
TEST(LaunchInfo, StepSmallerThanItsJob) {
  expect_info(info_of({{"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "3"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NTASKS", "8"},
                       {"SLURM_STEP_NUM_TASKS", "2"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2"}}),
              "srun", 1, 2, 1, 2);
}

TEST(LaunchInfo, JobNames) {
  std::map<std::string, std::string> job = {{"SLURM_JOB_ID", "79"}};
  EXPECT_EQ(info_of(job).job_id, "79");
  job.insert({{"SLURM_ARRAY_JOB_ID", "70"}, {"SLURM_ARRAY_TASK_ID", "3"}});
  EXPECT_EQ(info_of(job).job_id, "70_3");
  job["DRL_JOB_ID"] = "12";  // the first of a chain of jobs
  EXPECT_EQ(info_of(job).job_id, "12");
  job["DRL_JOB_ID"] = "../12";
  EXPECT_THROW(info_of(job), UsageError);
}

void expect_usage_error(const std::map<std::string, std::string>& variables, const std::string& text) {
  try {
    info_of(variables);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(LaunchInfo, TasksPerNodeThatAreNone) {
  for (const char* text : {"", "x", "4(x2", "4(x0)", "4(x9999999)", "-1", "4,,4"}) {
    std::map<std::string, std::string> task = srun_task("0", "0", "0");
    task["SLURM_STEP_TASKS_PER_NODE"] = text;
    expect_usage_error(task, std::string("the launcher's variable SLURM_STEP_TASKS_PER_NODE = \"") + text +
                                 "\" is not a list of counts like 4(x2),3 (something changed it): start the program "
                                 "without it, or through srun or mpirun");
  }
}

TEST(LaunchInfo, RanksThatDoNotFit) {
  std::map<std::string, std::string> task = srun_task("11", "2", "2");
  expect_usage_error(task,
                     "the variables of srun say rank 11 of 11, 2 of 3 on this node (something changed them): start the "
                     "program through srun or mpirun");
  EXPECT_THROW(info_of(srun_task("0", "3", "0")), UsageError);  // there are three nodes, 0 to 2
}

TEST(LaunchInfo, NumberThatIsNone) {
  for (const char* text : {"", "two", "1x", "99999999999"}) {
    try {
      info_of({{"OMPI_COMM_WORLD_RANK", text}});
      ADD_FAILURE() << "accepted \"" << text << "\"";
    } catch (const UsageError& error) {
      EXPECT_EQ(
          std::string(error.what()),
          std::string("the launcher's variable OMPI_COMM_WORLD_RANK = \"") + text +
              "\" is not a number (something changed it): start the program without it, or through srun or mpirun");
    }
  }
}

TEST(StartId, IsCommonToTheRanksOfOneStart) {
  const auto id_of = [](const std::map<std::string, std::string>& variables) {
    return start_id([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(id_of({}), "");
  EXPECT_EQ(id_of({{"PMIX_NAMESPACE", "slurm.pmix.12.0"}, {"PMIX_RANK", "1"}}), "slurm.pmix.12.0");
  EXPECT_EQ(id_of({{"PMIX_NAMESPACE", "prterun-node1/2@1"}}), "prterun-node1-2@1");  // a file's name
  EXPECT_EQ(id_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}}), "12.3");
  EXPECT_EQ(id_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "4294967291"}}), "");  // the batch shell
}

}  // namespace
}  // namespace drl
