// Who am I: the launcher's variables as a struct. Reading them is a pure function; nothing else reads them.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace drl {

struct LaunchInfo {
  std::string launcher;  // "mpirun", "hydra", "pals", "srun", or "" when the program was started directly
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among this node's ranks
  int local_size = 1;
  std::string job_id;  // Slurm's, empty outside a job

  bool launched() const { return !launcher.empty(); }
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Decided in this order: mpirun's, hydra's and PALS's variables (inside a batch script Slurm's belong to the shell), a
// task of an srun step, none. Throws UsageError when a variable is not a number.
LaunchInfo launch_info(const Environment& environment);

// This process's environment.
LaunchInfo launch_info();

}  // namespace drl
