// Environment variables as a function, so that tests can replace the process's environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace drl {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Returns this process's environment.
Environment process_environment();

// Returns those of the variables ("NAME=value") with which a new program runs on its own, as in a shell of the job.
// Omitted are those by which a launcher, srun or drl itself tells a process which rank it is and how to reach the
// others: MPI would join their world, and sbatch and srun would take the step's geometry. Variables of the job
// (SLURM_JOB_ID, ...) and settings of users and sites (OMPI_MCA_btl, PMIX_MCA_gds, ...) are kept. Pure.
std::vector<std::string> without_launchers(const std::vector<std::string>& variables);

// Returns the whole number in a launcher's variable, or nullopt if it is not set. Throws UsageError if the value is not
// a number.
std::optional<int> number(const Environment& environment, const char* name);

// Parses Slurm's counts per node: "4(x2),3" is {4, 4, 3}. Returns an empty list if the variable is not set. Throws
// UsageError, with the variable's name, if it is malformed.
std::vector<int> counts_per_node(const Environment& environment, const char* name);

}  // namespace drl
