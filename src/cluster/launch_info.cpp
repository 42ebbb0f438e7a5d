#include "cluster/launch_info.hpp"

#include <charconv>
#include <cstdlib>

#include "base/check.hpp"

namespace drl {
namespace {

struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank, *local_size;
};

// In the order in which they win: an mpirun inside an srun allocation sees Slurm's variables too.
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"pals", "PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
};

std::optional<int> number(const Environment& environment, const char* name) {
  std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  int value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    throw UsageError(
        "the launcher's variable " + std::string(name) + " = \"" + *text +
        "\" is not a number (something changed it): start the program without it, or through srun or mpirun");
  return value;
}

std::optional<LaunchInfo> from_launcher(const Environment& environment, const Launcher& launcher) {
  std::optional<int> rank = number(environment, launcher.rank);
  if (!rank) return std::nullopt;
  LaunchInfo info;
  info.launcher = launcher.name;
  info.rank = *rank;
  info.world_size = number(environment, launcher.size).value_or(1);
  info.local_rank = number(environment, launcher.local_rank).value_or(0);
  info.local_size = number(environment, launcher.local_size).value_or(1);
  return info;
}

// "4(x2),3" is 4 tasks on the first two nodes and 3 on the third.
int tasks_on_node(const std::string& tasks_per_node, int node) {
  size_t at = 0;
  while (at < tasks_per_node.size()) {
    const int tasks = std::atoi(tasks_per_node.c_str() + at);
    const size_t comma = std::min(tasks_per_node.find(',', at), tasks_per_node.size());
    const size_t times = tasks_per_node.find("(x", at);
    node -= times < comma ? std::atoi(tasks_per_node.c_str() + times + 2) : 1;
    if (node < 0) return tasks;
    at = comma + 1;
  }
  return 1;
}

// A task of an srun step. In a batch shell SLURM_PROCID is set too, but no step is.
std::optional<LaunchInfo> from_srun(const Environment& environment) {
  std::optional<int> rank = number(environment, "SLURM_PROCID");
  if (!rank || !environment("SLURM_STEP_ID")) return std::nullopt;
  LaunchInfo info;
  info.launcher = "srun";
  info.rank = *rank;
  info.world_size = number(environment, "SLURM_NTASKS").value_or(1);
  info.local_rank = number(environment, "SLURM_LOCALID").value_or(0);
  info.local_size = tasks_on_node(environment("SLURM_STEP_TASKS_PER_NODE").value_or(""),
                                  number(environment, "SLURM_NODEID").value_or(0));
  return info;
}

}  // namespace

LaunchInfo launch_info(const Environment& environment) {
  std::optional<LaunchInfo> info;
  for (const Launcher& launcher : kLaunchers)
    if (!info) info = from_launcher(environment, launcher);
  if (!info) info = from_srun(environment);
  if (!info) info = LaunchInfo{};
  info->job_id = environment("SLURM_JOB_ID").value_or("");
  return *info;
}

LaunchInfo launch_info() {
  return launch_info([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace drl
