// One process, one device: an srun step with more devices than tasks is started again by srun, one task per device.
// `srun -N2 --gpus-per-node=4 drl_train` gives 2 tasks that see 4 GPUs each; without this, 6 GPUs would idle.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// What the tasks of one node of the step have together.
struct StepNode {
  std::string name;  // as Slurm calls it
  int tasks = 0;
  std::vector<std::string> gpus = {};  // as Slurm numbers them
  int devices = 1;                     // GPUs that --gpu_ids chooses; without GPUs the cores
  int cpus = 1;                        // hardware threads granted
  int cores = 1;                       // physical cores of these
  int memory = 0;                      // MiB granted, 0 if that is not limited
};

// How requests to stop pass through the process that waits for ranks which srun started for it.
struct StopRelay {
  std::function<int()>
      pending_signal;  // what the ranks shall receive, 0 for nothing; srun forwards SIGUSR1 and SIGUSR2
  std::function<int(int)> own_exit_code;  // from the ranks', which may know less of the reason
};

// What the user said of ranks.
struct RankRequest {
  int ranks = 0;             // --ranks, 0 = one per device
  bool cpu = false;          // --device cpu: cores are the devices
  std::string gpu_ids = "";  // --gpu_ids
};

// The ranks that each node shall have; empty if the step stays as it is. Pure.
std::vector<int> plan_ranks(const std::vector<StepNode>& nodes, int wanted_ranks);

// The srun of ranks[k] tasks on nodes[k], beside and within what the tasks of the job in `environment` have, without
// the program's own words. It reads the file SLURM_HOSTFILE, which holds `hosts_of_ranks`. Pure.
std::vector<std::string> srun_command(const Environment& environment, const std::vector<StepNode>& nodes,
                                      const std::vector<int>& ranks);
std::string hosts_of_ranks(const std::vector<StepNode>& nodes, const std::vector<int>& ranks);

// `variables` ("NAME=value") without those of the outer step's srun, PMIx and MPI, which would mislead the inner one;
// with what users and sites set for srun, PMIx and PMI, and SLURM_PMIX_FENCE=ring unless they set that. Pure.
std::vector<std::string> inner_environment(const std::vector<std::string>& variables);

// Year, month and patch of what `srun --version` says: "slurm 22.05.8", "slurm 23.02.7-1.el8", "slurm-wlm 24.11.5".
// Nullopt if that is no version. Pure.
std::optional<std::array<int, 3>> slurm_version(const std::string& text);

// Why this Slurm can start no ranks within a step that holds all of `nodes`; empty if it can. Pure.
std::string step_cannot_share(const std::string& version, const std::vector<StepNode>& nodes);

// Why this Slurm may give those ranks fewer GPUs than the step has; empty if no reason is known. Pure.
std::string step_may_lose_gpus(const std::string& version);

// The line that starts the ranks without us, for messages. Pure.
std::string direct_line(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, int cores_per_rank,
                        const std::vector<std::string>& command);

// Warns of cores or memory too few for the ranks, with a line to type; empty if they suffice. Pure.
std::string shortage(const std::vector<StepNode>& nodes, const std::vector<int>& ranks,
                     const std::vector<std::string>& command);

// Collective over the tasks of an srun step. If they are fewer than their devices, rank 0 runs `command` by srun, while
// all wait; its exit code on all ranks, nullopt if the step stays as it is. Throws UsageError (on all ranks alike) if
// there is no srun, or it refuses.
std::optional<int> start_one_rank_per_device(Communicator& comm, const LaunchInfo& launch, const RankRequest& request,
                                             const std::vector<std::string>& command, const StopRelay& relay);

// In a Slurm job's own shell, where srun is: so --ranks N can use all of the job's nodes.
bool can_run_under_srun();
// Runs `command` on `ranks` ranks over the job's nodes, and returns their exit code.
int run_under_srun(int ranks, const std::vector<std::string>& command, const StopRelay& relay);

// Has the step that started this rank warned of a shortage already, if there is one?
bool shortage_is_known(const Environment& environment);

// First thing in main: a task of the inner srun sees all that the job has on its node, and keeps to what the outer step
// had, for several steps may share a job. Throws UsageError if the GPUs are others: other nodes may have theirs, so it
// is kept until all ranks meet (usage_error).
void keep_to_outer_step();

// What a plain start in a job's shell leaves idle, and the line that uses it; empty if that is nothing. Pure.
std::string idle_devices(const Environment& environment, const std::vector<std::string>& command);

}  // namespace drl
