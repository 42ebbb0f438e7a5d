// Starts the ranks of a run again, inside the same allocation, after one of them or its node has died (--max_restarts).
// Rank 0 tells the process that starts the ranks which run they train, in a file in the folder of all runs, which all
// nodes see. That process continues the run from its last checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "placement/relaunch.hpp"

namespace drl {

struct RestartRule {
  int most = 0;         // restarts
  int spare_nodes = 0;  // of a Slurm job, which take the place of nodes that die
};

// Runs `command` on `ranks` ranks: on the nodes of the Slurm job by srun, else on this machine by mpirun. Returns their
// exit code. If they end without having agreed on it, and the run has a checkpoint, starts them again, on the nodes
// that still answer; not twice for the same cause at the same checkpoint. `given` are the options in `command`.
int run_with_restarts(int ranks, const std::vector<std::string>& command, const std::vector<NamedValue>& given,
                      const RestartRule& rule, const std::string& runs_dir, const StopRelay& relay);

// In rank 0: tells the process that started the ranks where their run is, with how many environments in all, and that
// all ranks have ended alike.
void report_run(const std::filesystem::path& directory, int64_t num_envs_total);
void report_common_end();
// Returns why the ranks were started again, or "".
std::string restart_cause();

// Returns the command that continues the run in `directory`, for the program's name and the options given before; those
// that chose the run are left out. The ranks share `num_envs_total` environments if they can. Pure.
std::vector<std::string> command_to_continue(const std::string& program, const std::vector<NamedValue>& given,
                                             const std::string& directory, int ranks, int64_t num_envs_total);

}  // namespace drl
