// Rank, world size and local rank from the launcher's variables. Reading them is a pure function of the environment.
#pragma once

#include <string>

#include "launch/environment.hpp"

namespace drl {

struct LaunchInfo {
  std::string launcher;  // "mpirun", "hydra", "flux", "jsrun", "srun", "pals", or "" if started directly
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;          // among this node's ranks
  int local_size = 1;          // 0 if the launcher does not set it
  std::string variables = "";  // names of the variables read: "SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID"
  std::string job_id = "";     // Slurm's id of the first job of the run: "12", or "12_3" in an array; "" outside a job

  bool launched() const { return !launcher.empty(); }
};

// Returns the innermost launcher that sets rank, size and local rank, or none. The order from the inside out is mpirun
// (Open MPI), hydra (MPICH, Intel MPI), Flux, LSF's jsrun, srun (only in an srun step; a shell of sbatch or salloc is
// not a rank), PALS. Throws UsageError if the variables contradict each other, or if they describe a rank above 0 but
// not the world that it belongs to.
LaunchInfo launch_info(const Environment& environment);

// Returns whether srun started this process. The shells of sbatch and salloc may run in internal steps, which do not
// count.
bool in_srun_step(const Environment& environment);

// Returns an id without slashes that all processes of one start share and no other start has. Returns "" without a
// launcher, or if the launcher sets none (hydra).
std::string start_id(const Environment& environment);

// Reads this process's environment.
LaunchInfo launch_info();

}  // namespace drl
