#include "cluster/launch_info.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/check.hpp"

namespace drl {
namespace {

using Variables = std::map<std::string, std::string>;

// What a process has when a launcher of `inner` was started within `outer`.
Variables operator+(Variables outer, const Variables& inner) {
  for (const auto& [name, value] : inner) outer[name] = value;
  return outer;
}

Environment environment_of(const Variables& variables) {
  return [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

LaunchInfo info_of(const Variables& variables) { return launch_info(environment_of(variables)); }

void expect_info(const LaunchInfo& info, const std::string& launcher, int rank, int world_size, int local_rank,
                 int local_size) {
  EXPECT_EQ(info.launcher, launcher);
  EXPECT_EQ(info.rank, rank);
  EXPECT_EQ(info.world_size, world_size);
  EXPECT_EQ(info.local_rank, local_rank);
  EXPECT_EQ(info.local_size, local_size);
}

void expect_usage_error(const Variables& variables, const std::string& text) {
  try {
    info_of(variables);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(LaunchInfo, StartedDirectly) {
  const LaunchInfo info = info_of({{"PATH", "/bin"}});
  expect_info(info, "", 0, 1, 0, 1);
  EXPECT_FALSE(info.launched());
  EXPECT_EQ(info.job_id, "");
}

// --- Recorded environments: what one rank of each launcher gets, and where that is written ---

// Open MPI 4: https://www.open-mpi.org/faq/?category=running#mpi-environmental-variables; PMIX_* as its mpirun 4.1.4
// was seen to set them.
const Variables kOpenMpi4 = {{"OMPI_COMM_WORLD_RANK", "5"},       {"OMPI_COMM_WORLD_SIZE", "8"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                             {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_UNIVERSE_SIZE", "8"},
                             {"PMIX_NAMESPACE", "1607925761"},    {"PMIX_RANK", "5"}};

// Open MPI 5 (PRRTE): https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html
const Variables kOpenMpi5 = {{"OMPI_COMM_WORLD_RANK", "5"},
                             {"OMPI_COMM_WORLD_SIZE", "8"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                             {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                             {"OMPI_UNIVERSE_SIZE", "8"},
                             {"PMIX_NAMESPACE", "prterun-node1-4711@1"},
                             {"PMIX_RANK", "5"}};

// MPICH's mpiexec: github.com/pmodels/mpich, src/pm/hydra/proxy/pmip_cb.c
const Variables kHydra = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},        {"PMI_FD", "7"},
                          {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}, {"MPI_VERSION", "4.2.0"}};

// Intel MPI's mpiexec.hydra sets MPICH's names: github.com/ofiwg/libfabric, prov/psm3 ("MPICH and IMPI").
const Variables kIntelMpi = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},        {"PMI_FD", "9"},
                             {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}, {"I_MPI_ROOT", "/opt/intel/mpi"}};

// Flux: https://flux-framework.readthedocs.io/projects/flux-core/en/latest/man7/flux-environment.html
const Variables kFlux = {{"FLUX_JOB_ID", "f2fBbMdEYmM"},
                         {"FLUX_JOB_SIZE", "8"},
                         {"FLUX_JOB_NNODES", "2"},
                         {"FLUX_TASK_RANK", "5"},
                         {"FLUX_TASK_LOCAL_ID", "1"},
                         {"FLUX_URI", "local:///run/flux/local"},
                         {"PMI_RANK", "5"},
                         {"PMI_SIZE", "8"},
                         {"PMI_FD", "12"}};

// ... with -opmi=cray-pals (El Capitan), which sets no PALS_LOCAL_RANKID:
// https://flux-framework.readthedocs.io/projects/flux-coral2/en/latest/man1/flux-shell-cray-pals.html
const Variables kFluxWithPals = kFlux + Variables{{"PALS_APID", "8762756694016"},
                                                  {"PALS_RANKID", "5"},
                                                  {"PALS_NODEID", "1"},
                                                  {"PALS_SPOOL_DIR", "/var/tmp/jobtmp-1"},
                                                  {"PMI_CONTROL_PORT", "11998,11999"}};

// LSF's jsrun: github.com/Lightning-AI/pytorch-lightning, src/lightning/fabric/plugins/environments/lsf.py.
const Variables kJsrun = {{"LSB_JOBID", "1234"},
                          {"JSM_NAMESPACE_RANK", "5"},
                          {"JSM_NAMESPACE_SIZE", "12"},
                          {"JSM_NAMESPACE_LOCAL_RANK", "5"},
                          {"JSM_NAMESPACE_LOCAL_SIZE", "6"},
                          {"PMIX_NAMESPACE", "7"},
                          {"PMIX_RANK", "5"}};

// PALS's mpiexec: https://docs.alcf.anl.gov/aurora/debugging/gdb-oneapi (PMIX_RANK, PALS_NODEID, PALS_LOCAL_RANKID),
// .../aurora/data-science/frameworks/oneCCL (PMI_RANK, PMI_SIZE).
const Variables kPals = {{"PBS_JOBID", "1234.aurora"},
                         {"PALS_APID", "25b0fc1f-0c9a-4d2e-8a3b-9d1c7f0e5a42"},
                         {"PALS_RANKID", "3"},
                         {"PALS_NODEID", "1"},
                         {"PALS_LOCAL_RANKID", "1"},
                         {"PALS_LOCAL_SIZE", "2"},
                         {"PMI_RANK", "3"},
                         {"PMI_SIZE", "4"},
                         {"PMIX_RANK", "3"}};

// srun --mpi=pmix: "OUTPUT ENVIRONMENT VARIABLES" of https://slurm.schedmd.com/srun.html, as tasks of Slurm 22.05 were
// seen to get them.
const Variables kSrun = {{"SLURM_JOB_ID", "77"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "5"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_NTASKS", "11"},
                         {"SLURM_STEP_NUM_TASKS", "11"},
                         {"SLURM_STEP_NUM_NODES", "3"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
                         {"PMIX_NAMESPACE", "slurm.pmix.77.0"},
                         {"PMIX_RANK", "5"}};

// ... with mpi/cray_shasta: github.com/SchedMD/slurm, src/plugins/mpi/cray_shasta/mpi_cray_shasta.c,
// mpi_p_slurmstepd_task(). Before Slurm 23.02 there were no PALS_LOCAL_RANKID and PMI_*.
const Variables kCrayShasta = {{"SLURM_JOB_ID", "77"},
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_PROCID", "5"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_NODEID", "1"},
                               {"SLURM_NTASKS", "11"},
                               {"SLURM_STEP_NUM_TASKS", "11"},
                               {"SLURM_STEP_NUM_NODES", "3"},
                               {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
                               {"PALS_APID", "77.0"},
                               {"PALS_APINFO", "/var/spool/slurmd/mpi_cray_shasta/77.0/apinfo"},
                               {"PALS_LOCAL_RANKID", "1"},
                               {"PALS_NODEID", "1"},
                               {"PALS_RANKID", "5"},
                               {"PALS_SPOOL_DIR", "/var/spool/slurmd/mpi_cray_shasta/77.0"},
                               {"PMI_JOBID", "77"},
                               {"PMI_LOCAL_RANK", "1"},
                               {"PMI_LOCAL_SIZE", "4"},
                               {"PMI_RANK", "5"},
                               {"PMI_SIZE", "11"},
                               {"PMI_UNIVERSE_SIZE", "11"},
                               {"PMI_SHARED_SECRET", "16945943893152566943"}};

// sbatch's script: "OUTPUT ENVIRONMENT VARIABLES" of https://slurm.schedmd.com/sbatch.html
const Variables kBatchShell = {{"SLURM_JOB_ID", "78"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_NODEID", "0"},
                               {"SLURM_NTASKS", "8"},
                               {"SLURM_NNODES", "2"},
                               {"SLURM_JOB_NODELIST", "node[1-2]"},
                               {"SLURM_TASKS_PER_NODE", "4(x2)"}};

// salloc's shell, on the login node: https://slurm.schedmd.com/salloc.html
const Variables kSalloc = {{"SLURM_JOB_ID", "78"}, {"SLURM_NTASKS", "8"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}};

// ... on a compute node, with LaunchParameters=use_interactive_step (https://slurm.schedmd.com/slurm.conf.html): a step
// of the number SLURM_INTERACTIVE_STEP in slurm/slurm.h
const Variables kSallocOnNode = {{"SLURM_JOB_ID", "78"},
                                 {"SLURM_STEP_ID", "4294967290"},
                                 {"SLURM_STEP_NUM_TASKS", "1"},
                                 {"SLURM_STEP_NUM_NODES", "1"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                 {"SLURM_NTASKS", "8"},
                                 {"SLURM_PROCID", "0"},
                                 {"SLURM_LOCALID", "0"},
                                 {"SLURM_NODEID", "0"}};

TEST(LaunchInfo, RecordedLaunchers) {
  expect_info(info_of(kOpenMpi4), "mpirun", 5, 8, 1, 4);
  expect_info(info_of(kOpenMpi5), "mpirun", 5, 8, 1, 4);
  expect_info(info_of(kHydra), "hydra", 2, 4, 0, 2);
  expect_info(info_of(kIntelMpi), "hydra", 2, 4, 0, 2);
  expect_info(info_of(kFlux), "flux", 5, 8, 1, 0);  // 8 on 2 nodes: perhaps 4 on each
  expect_info(info_of(kFluxWithPals), "flux", 5, 8, 1, 0);
  expect_info(info_of(kJsrun), "jsrun", 5, 12, 5, 6);
  expect_info(info_of(kPals), "pals", 3, 4, 1, 2);
  expect_info(info_of(kSrun), "srun", 5, 11, 1, 4);
  expect_info(info_of(kCrayShasta), "srun", 5, 11, 1, 4);
  EXPECT_TRUE(info_of(kFlux).launched());
}

TEST(LaunchInfo, ShellsAreNoRanks) {
  for (const Variables& shell : {kBatchShell, kSalloc, kSallocOnNode}) {
    expect_info(info_of(shell), "", 0, 1, 0, 1);
    EXPECT_EQ(info_of(shell).job_id, "78");
  }
}

// --- One within another ---

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

// mpirun -n 1 of a script that calls srun.
TEST(LaunchInfo, SrunWithPmixWithinMpirun) {
  expect_info(info_of(kOpenMpi4 + kSrun), "srun", 5, 11, 1, 4);
  expect_info(info_of(kOpenMpi5 + kSrun), "srun", 5, 11, 1, 4);
}

// sbatch from a shell that srun --pty started, on a Cray: the job inherits what is not Slurm's own.
TEST(LaunchInfo, WhatAnOlderStepLeftInABatchShell) {
  const Variables left = {{"PALS_APID", "77.0"},   {"PALS_RANKID", "0"},   {"PALS_LOCAL_RANKID", "0"},
                          {"PALS_NODEID", "0"},    {"PMI_RANK", "0"},      {"PMI_SIZE", "1"},
                          {"PMI_LOCAL_RANK", "0"}, {"PMI_LOCAL_SIZE", "1"}};
  expect_info(info_of(kBatchShell + left), "", 0, 1, 0, 1);
  expect_info(info_of(kSallocOnNode + left), "", 0, 1, 0, 1);
}

// --- Too little ---

// What an older mpi/cray_shasta sets, and what scripts set.
TEST(LaunchInfo, ALauncherThatTellsTooLittleDoesNotCount) {
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

// Else each of the ranks would learn for itself.
TEST(LaunchInfo, ARankBeyondTheFirstIsNotLeftAlone) {
  expect_usage_error(
      {{"PALS_RANKID", "3"}, {"PALS_LOCAL_RANKID", "1"}},
      "PALS_RANKID = 3 says that this is one of several ranks, but PALS_SIZE is not set (the launcher does "
      "not tell, or something changed its variables): set it too, or start the program through srun or "
      "mpirun");
  expect_usage_error(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}},
      "PMI_RANK = 1 says that this is one of several ranks, but MPI_LOCALRANKID is not set (the launcher "
      "does not tell, or something changed its variables): set it too, or start the program through srun "
      "or mpirun");
}

TEST(LaunchInfo, LocalSizeIsKnownOrSaidToBeUnknown) {
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

TEST(LaunchInfo, TaskOfAnSrunStep) {
  const LaunchInfo info = info_of(srun_task("0", "0", "0"));
  expect_info(info, "srun", 0, 11, 0, 4);
  EXPECT_EQ(info.job_id, "77");
  expect_info(info_of(srun_task("5", "1", "1")), "srun", 5, 11, 1, 4);
  expect_info(info_of(srun_task("10", "2", "2")), "srun", 10, 11, 2, 3);
}

TEST(LaunchInfo, TasksPerNodeInAllForms) {
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

// The job has 8 tasks, this step of it 2.
TEST(LaunchInfo, StepSmallerThanItsJob) {
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

TEST(LaunchInfo, JobNames) {
  Variables job = {{"SLURM_JOB_ID", "79"}};
  EXPECT_EQ(info_of(job).job_id, "79");
  job.insert({{"SLURM_ARRAY_JOB_ID", "70"}, {"SLURM_ARRAY_TASK_ID", "3"}});
  EXPECT_EQ(info_of(job).job_id, "70_3");
  job["DRL_JOB_ID"] = "12";  // the first of a chain of jobs
  EXPECT_EQ(info_of(job).job_id, "12");
  job["DRL_JOB_ID"] = "../12";
  EXPECT_THROW(info_of(job), UsageError);
}

TEST(LaunchInfo, TasksPerNodeThatAreNone) {
  for (const char* text : {"", "x", "4(x2", "4(x0)", "4(x9999999)", "-1", "4,,4"}) {
    Variables task = srun_task("0", "0", "0");
    task["SLURM_STEP_TASKS_PER_NODE"] = text;
    expect_usage_error(task, std::string("the launcher's variable SLURM_STEP_TASKS_PER_NODE = \"") + text +
                                 "\" is not a list of counts like 4(x2),3 (something changed it): start the program "
                                 "without it, or through srun or mpirun");
  }
}

TEST(LaunchInfo, RanksThatDoNotFit) {
  Variables task = srun_task("11", "2", "2");
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
  const auto id_of = [](const Variables& variables) { return start_id(environment_of(variables)); };
  EXPECT_EQ(id_of({}), "");
  EXPECT_EQ(id_of(kOpenMpi4), "1607925761");
  EXPECT_EQ(id_of(kOpenMpi5 + Variables{{"PMIX_NAMESPACE", "prterun-node1/2@1"}}),
            "prterun-node1-2@1");  // a file's name
  EXPECT_EQ(id_of(kSrun), "77.0");
  EXPECT_EQ(id_of(kSrun + kOpenMpi4), "1607925761");
  EXPECT_EQ(id_of(kSrun + kFlux), "f2fBbMdEYmM");
  EXPECT_EQ(id_of(kJsrun), "7");
  EXPECT_EQ(id_of(kPals), "25b0fc1f-0c9a-4d2e-8a3b-9d1c7f0e5a42");
  EXPECT_EQ(id_of(kSrun + kHydra), "") << "srun's is that of every mpiexec in its step";
  EXPECT_EQ(id_of(kBatchShell), "");
  EXPECT_EQ(id_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "4294967291"}}), "");  // the batch shell
}

}  // namespace
}  // namespace drl
