// Environment variables that launchers set for their ranks, and random mutations of them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "environment.hpp"

namespace drl {

// --- Recorded environments: the variables of one rank of each launcher, with the documentation of each ---

// Open MPI 4: https://www.open-mpi.org/faq/?category=running#mpi-environmental-variables; PMIX_* as observed with
// mpirun 4.1.4.
inline const Variables kOpenMpi4 = {{"OMPI_COMM_WORLD_RANK", "5"},       {"OMPI_COMM_WORLD_SIZE", "8"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_UNIVERSE_SIZE", "8"},
                                    {"PMIX_NAMESPACE", "1607925761"},    {"PMIX_RANK", "5"}};

// Open MPI 5 (PRRTE): https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html
inline const Variables kOpenMpi5 = kOpenMpi4 + Variables{{"PMIX_NAMESPACE", "prterun-node1-4711@1"}};

// MPICH's mpiexec: github.com/pmodels/mpich, src/pm/hydra/proxy/pmip_cb.c
inline const Variables kHydra = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},        {"PMI_FD", "7"},
                                 {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}, {"MPI_VERSION", "4.2.0"}};

// Intel MPI's mpiexec.hydra sets MPICH's names: github.com/ofiwg/libfabric, prov/psm3 ("MPICH and IMPI").
inline const Variables kIntelMpi = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},
                                    {"PMI_FD", "9"},          {"MPI_LOCALRANKID", "0"},
                                    {"MPI_LOCALNRANKS", "2"}, {"I_MPI_ROOT", "/opt/intel/mpi"}};

// Flux: https://flux-framework.readthedocs.io/projects/flux-core/en/latest/man7/flux-environment.html
inline const Variables kFlux = {{"FLUX_JOB_ID", "f2fBbMdEYmM"},
                                {"FLUX_JOB_SIZE", "8"},
                                {"FLUX_JOB_NNODES", "2"},
                                {"FLUX_TASK_RANK", "5"},
                                {"FLUX_TASK_LOCAL_ID", "1"},
                                {"FLUX_URI", "local:///run/flux/local"},
                                {"FLUX_PMI_LIBRARY_PATH", "/usr/lib64/flux/libpmi.so"},
                                {"PMI_RANK", "5"},
                                {"PMI_SIZE", "8"},
                                {"PMI_FD", "12"}};

// Flux with -opmi=cray-pals (El Capitan), which does not set PALS_LOCAL_RANKID:
// https://flux-framework.readthedocs.io/projects/flux-coral2/en/latest/man1/flux-shell-cray-pals.html
inline const Variables kFluxWithPals = kFlux + Variables{{"PALS_APID", "8762756694016"},
                                                         {"PALS_RANKID", "5"},
                                                         {"PALS_NODEID", "1"},
                                                         {"PALS_SPOOL_DIR", "/var/tmp/jobtmp-1"},
                                                         {"PMI_CONTROL_PORT", "11998,11999"}};

// LSF's jsrun: github.com/Lightning-AI/pytorch-lightning, src/lightning/fabric/plugins/environments/lsf.py.
inline const Variables kJsrun = {{"LSB_JOBID", "1234"},
                                 {"JSM_NAMESPACE_RANK", "5"},
                                 {"JSM_NAMESPACE_SIZE", "12"},
                                 {"JSM_NAMESPACE_LOCAL_RANK", "5"},
                                 {"JSM_NAMESPACE_LOCAL_SIZE", "6"},
                                 {"PMIX_NAMESPACE", "7"},
                                 {"PMIX_RANK", "5"}};

// PALS's mpiexec: https://docs.alcf.anl.gov/aurora/debugging/gdb-oneapi (PMIX_RANK, PALS_NODEID, PALS_LOCAL_RANKID),
// .../aurora/data-science/frameworks/oneCCL (PMI_RANK, PMI_SIZE).
inline const Variables kPals = {{"PBS_JOBID", "1234.aurora"},
                                {"PALS_APID", "25b0fc1f-0c9a-4d2e-8a3b-9d1c7f0e5a42"},
                                {"PALS_RANKID", "3"},
                                {"PALS_NODEID", "1"},
                                {"PALS_LOCAL_RANKID", "1"},
                                {"PALS_LOCAL_SIZE", "2"},
                                {"PMI_RANK", "3"},
                                {"PMI_SIZE", "4"},
                                {"PMIX_RANK", "3"}};

// The variables of a step: "OUTPUT ENVIRONMENT VARIABLES" of https://slurm.schedmd.com/srun.html.
inline const Variables kSlurmStep = {
    {"SLURM_JOB_ID", "77"},         {"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "5"},
    {"SLURM_LOCALID", "1"},         {"SLURM_NODEID", "1"},         {"SLURM_NTASKS", "11"},
    {"SLURM_STEP_NUM_TASKS", "11"}, {"SLURM_STEP_NUM_NODES", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
// srun --mpi=pmix, as observed with Slurm 22.05.
inline const Variables kSrun = kSlurmStep + Variables{{"PMIX_NAMESPACE", "slurm.pmix.77.0"}, {"PMIX_RANK", "5"}};

// srun with mpi/cray_shasta: github.com/SchedMD/slurm, src/plugins/mpi/cray_shasta/mpi_cray_shasta.c,
// mpi_p_slurmstepd_task(). Before Slurm 23.02 it did not set PALS_LOCAL_RANKID and PMI_*.
inline const Variables kCrayShasta =
    kSlurmStep + Variables{{"PALS_APID", "77.0"},
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
inline const Variables kBatchShell = {{"SLURM_JOB_ID", "78"},
                                      {"SLURM_PROCID", "0"},
                                      {"SLURM_LOCALID", "0"},
                                      {"SLURM_NODEID", "0"},
                                      {"SLURM_NTASKS", "8"},
                                      {"SLURM_NNODES", "2"},
                                      {"SLURM_JOB_NODELIST", "node[1-2]"},
                                      {"SLURM_TASKS_PER_NODE", "4(x2)"}};

// salloc's shell, on the login node: https://slurm.schedmd.com/salloc.html
inline const Variables kSalloc = {{"SLURM_JOB_ID", "78"}, {"SLURM_NTASKS", "8"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}};

// salloc's shell on a compute node, with LaunchParameters=use_interactive_step
// (https://slurm.schedmd.com/slurm.conf.html). The step number is SLURM_INTERACTIVE_STEP of slurm/slurm.h.
inline const Variables kSallocOnNode = {{"SLURM_JOB_ID", "78"},
                                        {"SLURM_STEP_ID", "4294967290"},
                                        {"SLURM_STEP_NUM_TASKS", "1"},
                                        {"SLURM_STEP_NUM_NODES", "1"},
                                        {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                        {"SLURM_NTASKS", "8"},
                                        {"SLURM_PROCID", "0"},
                                        {"SLURM_LOCALID", "0"},
                                        {"SLURM_NODEID", "0"}};

// --- Mutations ---

inline const std::vector<Variables>& recorded_environments() {
  static const std::vector<Variables> all = {
      kOpenMpi4,   kOpenMpi5, kHydra,        kIntelMpi,   kFlux,         kFluxWithPals,     kJsrun,       kPals, kSrun,
      kCrayShasta, kSalloc,   kSallocOnNode, kBatchShell, kSrun + kFlux, kOpenMpi4 + kSrun, kPals + kSrun};
  return all;
}

// Other variables that the programs read.
inline const std::vector<std::string>& other_variables() {
  static const std::vector<std::string> names = split(
      "DRL_JOB_ID DRL_OUTER_STEP DRL_RUNS_DIR DRL_TERMINAL_WIDTH SLURM_ARRAY_JOB_ID "
      "SLURM_ARRAY_TASK_ID SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_GPUS_ON_NODE "
      "SLURM_JOB_GPUS SLURM_JOB_ID SLURM_JOB_NUM_NODES SLURM_JOB_CPUS_PER_NODE SLURM_MEM_PER_CPU "
      "SLURM_MEM_PER_NODE SLURM_MPI_TYPE SLURM_RESTART_COUNT SLURM_STEP_GPUS SLURM_STEP_ID "
      "SLURM_THREADS_PER_CORE SLURMD_NODENAME CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES "
      "MPICH_GPU_SUPPORT_ENABLED MPICH_OFI_NIC_POLICY TERM",
      ' ');
  return names;
}

// Returns a recorded environment with one to four mutations: variables are removed or added, or get the value of
// another variable, a huge, negative or empty value. The result depends on `seed` alone.
inline Variables mutated_environment(unsigned seed) {
  static const std::vector<std::string> values = [] {
    std::vector<std::string> all = split(
        "|0|1|-1|2147483647|2147483648|99999999999999999999|4294967290|x|1x| 1|0x1|1.5|nan|4(x2),3|"
        "1(x1000000)|1(x|a,b;c:d|../..|\xff\xfe|$(x)|0,1|n:0,1:8|\t",
        '|');
    all.insert(all.end(), {std::string(5000, '7'), std::string(5000, 'z')});
    return all;
  }();
  std::mt19937 random(seed);
  const auto one_of = [&](const auto& all) { return all[random() % all.size()]; };
  Variables variables = one_of(recorded_environments());
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) names.push_back(name);
  for (unsigned mutations = 1 + random() % 4; mutations > 0; --mutations) {
    const std::string name = one_of(names);
    switch (random() % 4) {
      case 0:
        variables.erase(name);
        break;
      case 1:
        variables[name] = one_of(values);
        break;
      case 2:
        variables[name] = variables[one_of(names)];
        break;
      default:
        variables[one_of(other_variables())] = one_of(values);
    }
  }
  return variables;
}

}  // namespace drl
