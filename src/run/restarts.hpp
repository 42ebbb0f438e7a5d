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
  bool drops_slow_nodes = false;
};

// Runs `command` on `ranks` ranks: on the nodes of the Slurm job by srun, else on this machine by mpirun. Returns their
// exit code. If they end without having agreed on it, and the run has a checkpoint, starts them again, on the nodes
// that still answer and, with drops_slow_nodes, had no slow rank; not after a request to stop, and not twice for the
// same cause at the same checkpoint. `given` are the options in `command`.
int run_with_restarts(int ranks, const std::vector<std::string>& command, const std::vector<NamedValue>& given,
                      const RestartRule& rule, const std::string& runs_dir, const StopRelay& relay);

// The facts about a run that restarts need.
struct RunReport {
  std::string directory = "";
  int64_t num_envs_total = 0;
  int64_t shards = 0;  // a number that the ranks must divide; 0: none
  std::vector<std::string> slow_hosts = {};
};
// In rank 0: tell that process about the run, that a rank on `host` is slow, and that the ranks have agreed on their
// exit code.
void report_run(const RunReport& run);
void report_slow_host(const std::string& host);
void report_agreement();
// Returns why the ranks were started again, or "".
std::string restart_cause();

// Returns the nodes that are none of these hosts, whose names may have domains; all nodes if there are no others. Pure.
std::vector<std::string> without_hosts(const std::vector<std::string>& nodes, const std::vector<std::string>& hosts);
// Returns the largest number of ranks up to `most` that the run's environments and shards can be divided over. Pure.
int ranks_for(const RunReport& run, int most);
// Returns the command that continues a run, for the program's name and the options given before; those that chose the
// run are left out. `keeps_total`: says how many environments there are in all, because the number of ranks has
// changed. Pure.
std::vector<std::string> command_to_continue(const std::string& program, const std::vector<NamedValue>& given,
                                             const RunReport& run, int ranks, bool keeps_total);

}  // namespace drl
