#include "launch/launch_info.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "../support/launchers.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

LaunchInfo info_of(const Variables& variables) { return launch_info(environment_of(variables)); }

void expect_info(const LaunchInfo& info, const std::string& launcher, int rank, int world_size, int local_rank,
                 int local_size) {
  EXPECT_EQ(info.launcher, launcher);
  EXPECT_EQ(info.rank, rank);
  EXPECT_EQ(info.world_size, world_size);
  EXPECT_EQ(info.local_rank, local_rank);
  EXPECT_EQ(info.local_size, local_size);
}

// Expects a UsageError whose message mentions all `parts`.
void expect_usage_error(const Variables& variables, std::initializer_list<std::string_view> parts,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  expect_mentions(error_from<UsageError>([&] { info_of(variables); }), parts, file, line);
}

TEST(LaunchInfo, IsOneRankWithoutALauncher) {
  const LaunchInfo info = info_of({{"PATH", "/bin"}});
  expect_info(info, "", 0, 1, 0, 1);
  EXPECT_FALSE(info.launched());
  EXPECT_EQ(info.job_id, "");
}

// --- Recorded environments ---

// As observed with Slurm 22.05 and 24.11, sbatch in an srun step passes on the step's variables. In the batch script,
// Slurm sets only those of kBatchShell.
TEST(LaunchInfo, ABatchScriptIsNotInTheStepThatSubmittedIt) {
  const Variables pmi2 = {{"PMI_JOBID", "77.0"}, {"PMI_RANK", "0"}};
  const Variables shell = kSrun + Variables{{"SLURM_STEP_NUM_TASKS", "1"}};
  expect_info(info_of(shell + kBatchShell), "", 0, 1, 0, 1);
  expect_info(info_of(shell + pmi2 + kBatchShell), "", 0, 1, 0, 1);
  EXPECT_FALSE(in_srun_step(environment_of(shell + kBatchShell)));
  // A step in such a script has variables of both.
  const Variables own = {{"SLURM_JOB_ID", "78"},
                         {"PMI_JOBID", "78.0"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_NODEID", "0"}};
  expect_info(info_of(kSrun + own), "srun", 0, 11, 0, 4);
  EXPECT_EQ(info_of(kSrun + Variables{{"SLURM_JOB_ID", "78"}}).launcher, "srun") << "rank 5 must not run alone";
}

// A command of the user, or drl_eval, that a rank starts.
TEST(WithoutLaunchers, AProgramIsOneRankOfTheSameJob) {
  for (const Variables& recorded : recorded_environments()) {
    std::vector<std::string> list = {"DRL_EXIT_CODE_FILE=/tmp/x", "DRL_OUTER_STEP="};
    for (const auto& [name, value] : recorded) list.push_back(name + "=" + value);
    Variables kept;
    for (const std::string& variable : without_launchers(list)) {
      const size_t equals = variable.find('=');
      kept[variable.substr(0, equals)] = variable.substr(equals + 1);
      for (const char* beginning : {"PMIX_", "PMI_", "OMPI_", "SLURM_STEP_ID=", "SLURM_NTASKS=", "DRL_"})
        EXPECT_FALSE(variable.starts_with(beginning)) << variable;
    }
    expect_info(info_of(kept), "", 0, 1, 0, 1);
    EXPECT_EQ(kept.count("SLURM_JOB_ID"), recorded.count("SLURM_JOB_ID"));
  }
}

TEST(WithoutLaunchers, KeepsSettingsAndTheJob) {
  const std::vector<std::string> kept = {
      "PATH=/bin",           "OMPI_MCA_btl=self,tcp",       "OMPI_ALLOW_RUN_AS_ROOT=1",
      "PMIX_MCA_gds=hash",   "PMI_MMAP_SYNC_WAIT_TIME=600", "SLURM_JOB_NODELIST=n1",
      "SLURM_MPI_TYPE=pmix", "SLURM_CPUS_PER_TASK=4",       "SLURM_CONF=/etc/slurm.conf"};
  EXPECT_EQ(without_launchers(kept), kept);
}

TEST(LaunchInfo, IsReadFromTheVariablesOfEachLauncher) {
  expect_info(info_of(kOpenMpi4), "mpirun", 5, 8, 1, 4);
  expect_info(info_of(kOpenMpi5), "mpirun", 5, 8, 1, 4);
  expect_info(info_of(kHydra), "hydra", 2, 4, 0, 2);
  expect_info(info_of(kIntelMpi), "hydra", 2, 4, 0, 2);
  expect_info(info_of(kFlux), "flux", 5, 8, 1, 0);  // 8 ranks on 2 nodes: the number on each node is unknown
  expect_info(info_of(kFluxWithPals), "flux", 5, 8, 1, 0);
  expect_info(info_of(kJsrun), "jsrun", 5, 12, 5, 6);
  expect_info(info_of(kPals), "pals", 3, 4, 1, 2);
  expect_info(info_of(kSrun), "srun", 5, 11, 1, 4);
  expect_info(info_of(kCrayShasta), "srun", 5, 11, 1, 4);
  EXPECT_TRUE(info_of(kFlux).launched());
}

TEST(LaunchInfo, ListsTheVariablesThatItRead) {
  EXPECT_EQ(info_of(kOpenMpi4).variables, "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK");
  EXPECT_EQ(info_of(kSrun).variables, "SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID");
  Variables older = kSrun;
  older.erase("SLURM_STEP_NUM_TASKS");
  older["SLURM_NTASKS"] = "11";
  EXPECT_EQ(info_of(older).variables, "SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID");
  EXPECT_EQ(info_of({}).variables, "");
}

TEST(LaunchInfo, ShellsAreNotRanks) {
  for (const Variables& shell : {kBatchShell, kSalloc, kSallocOnNode}) {
    expect_info(info_of(shell), "", 0, 1, 0, 1);
    EXPECT_EQ(info_of(shell).job_id, "78");
  }
}

// --- A launcher within another one ---

TEST(LaunchInfo, TheInnerLauncherWins) {
  for (const Variables& outer : {kSrun, kCrayShasta, kFlux, kFluxWithPals, kBatchShell, kSallocOnNode, kPals, kJsrun}) {
    expect_info(info_of(outer + kOpenMpi4), "mpirun", 5, 8, 1, 4);
    expect_info(info_of(outer + kOpenMpi5), "mpirun", 5, 8, 1, 4);
    expect_info(info_of(outer + kHydra), "hydra", 2, 4, 0, 2);
  }
  // flux start within srun, as on clusters whose batch system is Slurm
  for (const Variables& outer : {kSrun, kCrayShasta, kBatchShell})
    expect_info(info_of(outer + kFlux), "flux", 5, 8, 1, 0);
  for (const Variables& outer : {kPals, kBatchShell, kSallocOnNode}) {
    expect_info(info_of(outer + kSrun), "srun", 5, 11, 1, 4);
    expect_info(info_of(outer + kCrayShasta), "srun", 5, 11, 1, 4);
  }
}

// A script under mpirun -n 1 calls srun.
TEST(LaunchInfo, SrunWithinMpirunWins) {
  expect_info(info_of(kOpenMpi4 + kSrun), "srun", 5, 11, 1, 4);
  expect_info(info_of(kOpenMpi5 + kSrun), "srun", 5, 11, 1, 4);
}

// On a Cray, a job submitted from a shell of srun --pty inherits the variables that are not Slurm's.
TEST(LaunchInfo, VariablesOfAnEarlierStepInABatchShellAreIgnored) {
  const Variables left = {{"PALS_APID", "77.0"},   {"PALS_RANKID", "0"},   {"PALS_LOCAL_RANKID", "0"},
                          {"PALS_NODEID", "0"},    {"PMI_RANK", "0"},      {"PMI_SIZE", "1"},
                          {"PMI_LOCAL_RANK", "0"}, {"PMI_LOCAL_SIZE", "1"}};
  expect_info(info_of(kBatchShell + left), "", 0, 1, 0, 1);
  expect_info(info_of(kSallocOnNode + left), "", 0, 1, 0, 1);
}

// --- Incomplete variables ---

// Older versions of mpi/cray_shasta and some scripts set only some of the variables.
TEST(LaunchInfo, ALauncherWithIncompleteVariablesDoesNotCount) {
  const Variables some = {{"PALS_RANKID", "0"}, {"PALS_LOCAL_RANKID", "0"}};
  expect_info(info_of(some), "", 0, 1, 0, 1);
  expect_info(info_of(kBatchShell + some), "", 0, 1, 0, 1);
  expect_info(info_of(kSrun + Variables{{"PALS_RANKID", "5"}, {"PALS_NODEID", "1"}}), "srun", 5, 11, 1, 4);
  for (const auto& [complete, rank, size, local_rank] :
       {std::tuple{kOpenMpi4, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {kHydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        {kFlux, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"},
        {kJsrun, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
        {kPals, "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"}})
    for (const char* missing : {rank, size, local_rank}) {
      Variables variables = complete + Variables{{rank, "0"}, {"PMI_RANK", "0"}};
      variables.erase(missing);
      expect_info(info_of(variables), "", 0, 1, 0, 1);
    }
}

// Otherwise each rank would start a separate run.
TEST(LaunchInfo, ARankAboveZeroWithIncompleteVariablesIsAnError) {
  expect_usage_error({{"PALS_RANKID", "3"}, {"PALS_LOCAL_RANKID", "1"}},
                     {"PALS_RANKID = 3", "PALS_SIZE ", "set PALS_SIZE", "srun"});
  expect_usage_error({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}},
                     {"PMI_RANK = 1", "MPI_LOCALRANKID ", "set MPI_LOCALRANKID", "mpirun"});
}

TEST(LaunchInfo, LocalSizeIsKnownOrZero) {
  expect_info(info_of(kFlux + Variables{{"FLUX_JOB_NNODES", "1"}}), "flux", 5, 8, 1, 8);
  Variables pals = kPals;
  pals.erase("PALS_LOCAL_SIZE");
  expect_info(info_of(pals), "pals", 3, 4, 1, 0);
  pals["PMI_LOCAL_SIZE"] = "2";
  expect_info(info_of(pals), "pals", 3, 4, 1, 2);
  Variables srun = kSrun;
  srun.erase("SLURM_STEP_TASKS_PER_NODE");
  expect_info(info_of(srun), "srun", 5, 11, 1, 0);
}

// --- srun ---

Variables srun_task(const std::string& rank, const std::string& node, const std::string& local) {
  return {{"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", rank},
          {"SLURM_NTASKS", "11"},
          {"SLURM_NODEID", node},
          {"SLURM_LOCALID", local},
          {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
}

TEST(LaunchInfo, IsReadFromTheVariablesOfAnSrunStep) {
  const LaunchInfo info = info_of(srun_task("0", "0", "0"));
  expect_info(info, "srun", 0, 11, 0, 4);
  EXPECT_EQ(info.job_id, "77");
  expect_info(info_of(srun_task("5", "1", "1")), "srun", 5, 11, 1, 4);
  expect_info(info_of(srun_task("10", "2", "2")), "srun", 10, 11, 2, 3);
}

TEST(LaunchInfo, ReadsAllFormatsOfTasksPerNode) {
  Variables task = srun_task("0", "0", "0");
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

// The job has 8 tasks, and this step 2.
TEST(LaunchInfo, AStepMayBeSmallerThanItsJob) {
  expect_info(info_of({{"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "3"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "0"},
                       {"SLURM_NTASKS", "8"},
                       {"SLURM_STEP_NUM_TASKS", "2"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2"}}),
              "srun", 1, 2, 1, 2);
}

TEST(LaunchInfo, TheJobIdIdentifiesAnArrayTaskOrAChainOfJobs) {
  Variables job = {{"SLURM_JOB_ID", "79"}};
  EXPECT_EQ(info_of(job).job_id, "79");
  job.insert({{"SLURM_ARRAY_JOB_ID", "70"}, {"SLURM_ARRAY_TASK_ID", "3"}});
  EXPECT_EQ(info_of(job).job_id, "70_3");
  job["DRL_JOB_ID"] = "12";  // the id of the first job in a chain of jobs
  EXPECT_EQ(info_of(job).job_id, "12");
  job["DRL_JOB_ID"] = "../12";
  EXPECT_THROW(info_of(job), UsageError);
}

TEST(LaunchInfo, MalformedTasksPerNodeAreErrors) {
  for (const char* text : {"", "x", "4(x2", "4(x0)", "4(x9999999)", "-1", "4,,4"}) {
    Variables task = srun_task("0", "0", "0");
    task["SLURM_STEP_TASKS_PER_NODE"] = text;
    expect_usage_error(task, {std::string("SLURM_STEP_TASKS_PER_NODE = \"") + text + "\"", "4(x2),3",
                              "unset SLURM_STEP_TASKS_PER_NODE", "srun", "mpirun"});
  }
}

TEST(LaunchInfo, ContradictoryRanksAreErrors) {
  expect_usage_error(srun_task("11", "2", "2"),
                     {"variables of srun", "rank 11 of 11", "2 of 3 on this node", "mpirun"});
  EXPECT_THROW(info_of(srun_task("0", "3", "0")), UsageError);  // there are three nodes, 0 to 2
}

TEST(LaunchInfo, MalformedNumbersAreErrors) {
  for (const std::string text : {"", "two", "1x", "99999999999"})
    expect_usage_error({{"OMPI_COMM_WORLD_RANK", text}},
                       {"OMPI_COMM_WORLD_RANK = \"" + text + "\"", "not a number", "unset OMPI_COMM_WORLD_RANK"});
}

TEST(StartId, IsSharedByTheRanksOfOneStart) {
  const auto id_of = [](const Variables& variables) { return start_id(environment_of(variables)); };
  EXPECT_EQ(id_of({}), "");
  EXPECT_EQ(id_of(kOpenMpi4), "1607925761");
  EXPECT_EQ(id_of(kOpenMpi5 + Variables{{"PMIX_NAMESPACE", "prterun-node1/2@1"}}),
            "prterun-node1-2@1");  // safe as a file name
  EXPECT_EQ(id_of(kSrun), "77.0");
  EXPECT_EQ(id_of(kSrun + kOpenMpi4), "1607925761");
  EXPECT_EQ(id_of(kSrun + kFlux), "f2fBbMdEYmM");
  EXPECT_EQ(id_of(kJsrun), "7");
  EXPECT_EQ(id_of(kPals), "25b0fc1f-0c9a-4d2e-8a3b-9d1c7f0e5a42");
  EXPECT_EQ(id_of(kSrun + kHydra), "") << "every mpiexec in the step would share srun's id";
  EXPECT_EQ(id_of(kBatchShell), "");
  EXPECT_EQ(id_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "4294967291"}}), "");  // the batch shell
}

}  // namespace
}  // namespace drl
