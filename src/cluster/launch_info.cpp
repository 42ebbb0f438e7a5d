#include "cluster/launch_info.hpp"

#include <algorithm>
#include <cctype>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank, *local_size;
};

// In the order in which they win: an mpirun inside an srun allocation sees Slurm's variables too. A launcher is
// recognised by its local rank: PMI_RANK is set by srun --mpi=pmi2 and by PALS as well.
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"pals", "PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
};

void check(const LaunchInfo& info) {
  if (info.rank >= 0 && info.rank < info.world_size && info.local_rank >= 0 && info.local_rank < info.local_size)
    return;
  throw UsageError("the variables of " + info.launcher + " say rank " + std::to_string(info.rank) + " of " +
                   std::to_string(info.world_size) + ", " + std::to_string(info.local_rank) + " of " +
                   std::to_string(info.local_size) +
                   " on this node (something changed them): start the program through srun or mpirun");
}

std::optional<LaunchInfo> from_launcher(const Environment& environment, const Launcher& launcher) {
  const std::optional<int> rank = number(environment, launcher.rank);
  const std::optional<int> local_rank = number(environment, launcher.local_rank);
  if (!rank || !local_rank) return std::nullopt;
  return LaunchInfo{.launcher = launcher.name,
                    .rank = *rank,
                    .world_size = number(environment, launcher.size).value_or(1),
                    .local_rank = *local_rank,
                    .local_size = number(environment, launcher.local_size).value_or(1)};
}

// In a batch shell SLURM_PROCID is set too, but no step is.
std::optional<LaunchInfo> from_srun(const Environment& environment) {
  const std::optional<int> rank = number(environment, "SLURM_PROCID");
  if (!rank || !in_srun_step(environment)) return std::nullopt;
  const std::vector<int> tasks = counts_per_node(environment, "SLURM_STEP_TASKS_PER_NODE");
  const size_t node = static_cast<size_t>(number(environment, "SLURM_NODEID").value_or(0));
  const int world_size =
      number(environment, "SLURM_STEP_NUM_TASKS").value_or(number(environment, "SLURM_NTASKS").value_or(1));
  return LaunchInfo{.launcher = "srun",
                    .rank = *rank,
                    .world_size = world_size,
                    .local_rank = number(environment, "SLURM_LOCALID").value_or(0),
                    .local_size = tasks.empty()         ? world_size
                                  : node < tasks.size() ? tasks[node]
                                                        : 0};
}

// What Slurm calls the job. A follow-up of a job that could not be requeued goes on under the first one's name.
std::string job_name(const Environment& environment) {
  if (const auto first = environment("DRL_JOB_ID"); first && !first->empty()) {
    const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
    if (!std::all_of(first->begin(), first->end(), plain))
      throw UsageError("DRL_JOB_ID = \"" + printable(*first) +
                       "\" is not a job's number (it names the run directory): unset it, or set it to the first job's");
    return *first;
  }
  const auto array = environment("SLURM_ARRAY_JOB_ID"), task = environment("SLURM_ARRAY_TASK_ID");
  if (array && task) return *array + "_" + *task;
  return environment("SLURM_JOB_ID").value_or("");
}

}  // namespace

bool in_srun_step(const Environment& environment) {
  // Slurm's own steps: interactive 4294967290 (salloc's shell where LaunchParameters=use_interactive_step), batch
  // ...91.
  const std::string step = environment("SLURM_STEP_ID").value_or("");
  return !step.empty() && !(step.size() == 10 && step >= "4294967280");
}

LaunchInfo launch_info(const Environment& environment) {
  std::optional<LaunchInfo> info;
  for (const Launcher& launcher : kLaunchers)
    if (!info) info = from_launcher(environment, launcher);
  if (!info) info = from_srun(environment);
  if (!info) info = LaunchInfo{};
  check(*info);
  info->job_id = job_name(environment);
  return *info;
}

std::string start_id(const Environment& environment) {
  if (const auto name = environment("PMIX_NAMESPACE")) {
    std::string id = *name;
    std::ranges::replace(id, '/', '-');
    return id;
  }
  if (!in_srun_step(environment)) return "";
  return environment("SLURM_JOB_ID").value_or("") + "." + environment("SLURM_STEP_ID").value_or("");
}

LaunchInfo launch_info() { return launch_info(process_environment()); }

}  // namespace drl
