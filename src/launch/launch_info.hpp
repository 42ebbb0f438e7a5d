// Who am I: the launcher's variables as a struct. Reading them is a pure function; nothing else reads them.
#pragma once

#include <string>

#include "launch/environment.hpp"

namespace drl {

struct LaunchInfo {
  std::string launcher;  // "mpirun", "hydra", "flux", "jsrun", "srun", "pals", or "" when started directly
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;          // among this node's ranks
  int local_size = 1;          // 0 where the launcher does not tell
  std::string variables = "";  // that tell rank, size and local rank: "SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID"
  std::string job_id = "";     // names the job over its requeues: "12", "12_3" in a job array, empty outside a job

  bool launched() const { return !launcher.empty(); }
};

// The innermost launcher that tells rank, size and local rank; of those that may run within each other mpirun (Open
// MPI), hydra (MPICH, Intel MPI), Flux, LSF's jsrun, srun (in a step of its own: in a shell Slurm's variables belong to
// that), PALS; or none. Throws UsageError when the variables do not make sense, or leave a rank beyond the first alone.
LaunchInfo launch_info(const Environment& environment);

// Is this process a task that srun started? The shells of sbatch and salloc may be in steps of Slurm's own.
bool in_srun_step(const Environment& environment);

// What all processes of one start have in common, and no other start has: a name without slashes. Empty if there is no
// launcher, or it does not tell (hydra).
std::string start_id(const Environment& environment);

// Of this process's environment.
LaunchInfo launch_info();

}  // namespace drl
