// drl runs one process per device. If an srun step has more devices than tasks, drl runs srun again, with one task per
// device. `srun -N2 --gpus-per-node=4 drl_train` starts 2 tasks that see 4 GPUs each; without this, 6 GPUs would be
// idle.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// The resources that the tasks of the step have on one node.
struct StepNode {
  std::string name;  // Slurm's name of the node
  int tasks = 0;
  std::vector<std::string> gpus = {};  // Slurm's numbers
  int devices = 1;                     // GPUs that --gpu_ids selects; if none, cores (0 with srun -c)
  int cpus = 1;                        // granted hardware threads
  int cores = 1;                       // physical cores that these threads belong to
  int memory = 0;                      // granted MiB, 0 if not limited
};

// Handles requests to stop in a process that has started ranks with srun and waits for them.
struct StopRelay {
  // Returns the signal to send to the ranks, 0 for none. srun kills its tasks on SIGINT, SIGTERM and SIGHUP, and only
  // forwards SIGUSR1 and SIGUSR2.
  std::function<int()> pending_signal;
  // Converts the ranks' exit code to that of this process, which may know the reason for the stop better.
  std::function<int(int)> own_exit_code;
};

// The user's options about ranks.
struct RankRequest {
  int ranks = 0;             // --ranks; 0 means one per device
  bool cpu = false;          // --device cpu: the cores are the devices
  std::string gpu_ids = "";  // --gpu_ids
};

// Returns the number of ranks to start on each node; empty if the step should run unchanged. Pure.
std::vector<int> plan_ranks(const std::vector<StepNode>& nodes, int wanted_ranks);

// Returns the srun command that starts ranks[k] tasks on nodes[k] and shares the resources of the running step of the
// job in `environment`; the program's own words are not included. srun reads the hosts from the file in SLURM_HOSTFILE,
// whose text is hosts_of_ranks(). Pure.
std::vector<std::string> srun_command(const Environment& environment, const std::vector<StepNode>& nodes,
                                      const std::vector<int>& ranks);
std::string hosts_of_ranks(const std::vector<StepNode>& nodes, const std::vector<int>& ranks);

// Returns `variables` ("NAME=value") without those that the outer step's srun, PMIx and MPI set, which would mislead
// the inner srun. Keeps the settings of users and sites for srun, PMIx and PMI, and adds SLURM_PMIX_FENCE=ring unless
// it is set. Pure.
std::vector<std::string> inner_environment(const std::vector<std::string>& variables);

// Returns the number of nodes of each component of a heterogeneous job (salloc ... : ...); empty in other jobs. Pure.
std::vector<int> nodes_of_components(const Environment& environment);
// Returns the srun command that starts ranks[k] tasks on the k-th node of a heterogeneous job, for messages. `mpi` is
// srun's plugin, or "". Pure.
std::string heterogeneous_line(const std::vector<int>& components, const std::vector<int>& ranks,
                               const std::string& mpi, const std::vector<std::string>& command);

// Parses year, month and patch from the output of `srun --version`: "slurm 22.05.8", "slurm 23.02.7-1.el8",
// "slurm-wlm 24.11.5". Returns nullopt if the text contains no version. Pure.
std::optional<std::array<int, 3>> slurm_version(const std::string& text);

// Returns the reason why this Slurm version cannot start ranks within a step that holds all of `nodes`; "" if it can.
// Pure.
std::string step_cannot_share(const std::string& version, const std::vector<StepNode>& nodes);

// Returns the reason why this Slurm version may give the inner ranks fewer GPUs than the step has; "" if none is known.
// Pure.
std::string step_may_lose_gpus(const std::string& version);

// Returns the command with which the user can start the ranks directly, for messages. Pure.
std::string direct_line(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, int cores_per_rank,
                        const std::vector<std::string>& command);

// Returns a warning, with the command to type, if the ranks have too few cores or too little memory; otherwise "".
// Pure.
std::string shortage_warning(const std::vector<StepNode>& nodes, const std::vector<int>& ranks,
                             const std::vector<std::string>& command);

// Throws UsageError if --ranks asks for several ranks and the launcher has `started` another number, unless drl
// `may_start` the missing ones. Pure.
void check_ranks(const LaunchInfo& launch, int wanted, int started, bool may_start);

// Collective over the tasks of an srun step. If there are fewer tasks than devices (or than --ranks), rank 0 runs
// `command` with srun while the other tasks wait, and all return its exit code; otherwise all return nullopt. All throw
// ReportedError if --ranks is wrong (check_ranks), or if srun is missing or fails.
std::optional<int> start_one_rank_per_device(Communicator& comm, const LaunchInfo& launch, const RankRequest& request,
                                             const std::vector<std::string>& command, const StopRelay& relay);

// Returns whether this process is in a Slurm job with srun on PATH, so that --ranks N can use all nodes of the job.
bool can_run_under_srun();
// Returns the names of the job's nodes, in Slurm's order. Throws UsageError if scontrol fails.
std::vector<std::string> job_nodes();
// Returns the cores and GPUs that each node of the job has at least.
struct NodeShare {
  int cores = 1, gpus = 0;
};
NodeShare share_of_each_node();
// Returns the cores and GPUs of each node, in the order of job_nodes().
std::vector<NodeShare> shares_of_nodes();
// Returns this process's environment as it would be in a job of only these nodes, for a program with --ranks.
std::vector<std::string> environment_on(const std::vector<std::string>& nodes);
// Returns those of `nodes` on which srun starts a process within half a minute.
std::vector<std::string> answering_nodes(const std::vector<std::string>& nodes);
// Variables of the ranks that are for them alone (run/restarts.hpp).
inline constexpr const char *kRunReport = "DRL_RUN_REPORT", *kRestartCause = "DRL_RESTART_CAUSE";
// Runs `command` on `ranks` ranks, spread over these nodes of the job, and returns their exit code. `first_end`, if
// given, receives what srun says of the first task that failed: "node1: task 3: Killed".
int run_under_srun(int ranks, const std::vector<std::string>& nodes, const std::vector<std::string>& command,
                   const StopRelay& relay, std::string* first_end = nullptr);

// For programs that start several trainings in a job, each on the ranks of one node. `steps` of them share a node.
struct NodeStep {
  std::string node;
  int ranks = 1, steps = 1;
};
// Returns the srun command that runs `command` in such a step, with cores (and one GPU per rank, if the job has GPUs)
// that no other step has; srun waits until they are free. It needs the environment of step_environment().
std::vector<std::string> step_command(const NodeStep& step, const std::vector<std::string>& command);
std::vector<std::string> step_environment();

// Returns whether start_one_rank_per_device or run_under_srun started this process.
bool started_through_srun();

// Returns whether the step that started this rank has already checked for shortages and warned about them.
bool shortage_was_reported(const Environment& environment);

// Restricts a task of the inner srun, which sees all resources of the job on its node, to those of the outer step,
// because several steps may share a job. main calls this first. Throws UsageError if GPUs of the outer step are
// missing; since other nodes may have theirs, callers keep the error until all ranks have met (caught_usage_error).
void restrict_to_outer_step();

// Returns a hint about the devices that a start without srun in a job's shell leaves idle, with the command that uses
// them; "" if there are none. Pure.
std::string idle_devices_hint(const Environment& environment, const std::vector<std::string>& command);

}  // namespace drl
