#include "launch/environment.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int kMostNodes = 1 << 20;  // refuses nonsense such as "1(x2000000000)"

// Beginnings of the names of variables that launchers set for a rank. Open MPI's mpirun also passes its own state as
// OMPI_MCA_... (Open MPI 4.1: orte_..., ess..., and four others).
constexpr const char* kOfRanks[] = {
    "OMPI_COMM_WORLD_", "OMPI_APP_CTX_", "OMPI_ARGV", "OMPI_COMMAND", "OMPI_FILE_LOCATION", "OMPI_FIRST_RANKS",
    "OMPI_NUM_APP_CTX", "OMPI_UNIVERSE_SIZE", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME_QUERY_hint", "OMPI_MCA_mpi_oversubscribe", "PMIX_", "PMI_",
    "PMI2_", "PRTE_", "HYDI_", "MPI_LOCAL", "PALS_", "FLUX_TASK_", "FLUX_PMI_LIBRARY_PATH", "JSM_",
    // of an srun step
    "SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS", "SLURM_TASK_PID", "SLURM_NTASKS",
    "SLURM_NPROCS", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION", "SLURM_HOSTFILE", "SLURM_EXIT_ERROR",
    "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_", "SLURM_PMIX_MAPPING", "SLURM_PMIXP_", "SRUN_",
    // set by drl for the ranks that it starts
    "DRL_EXIT_CODE_FILE", "DRL_TERMINAL_WIDTH", "DRL_OUTER_STEP", "DRL_DIRECT_LINE", "DRL_SLURM_VERSION",
    "DRL_RUN_REPORT", "DRL_RESTART_CAUSE"};
constexpr const char* kSettings[] = {"PMIX_MCA_", "PRTE_MCA_", "PMI_MMAP_SYNC_WAIT_TIME"};

[[noreturn]] void throw_unreadable(const char* name, const std::string& text, const char* expected) {
  throw UsageError(
      fmt::format("the launcher's variable {0} = \"{1}\" is not {2} (a script may have changed it): run \"unset {0}\", "
                  "or start the program with srun or mpirun",
                  name, printable(text), expected));
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::vector<std::string> without_launchers(const std::vector<std::string>& variables) {
  std::vector<std::string> kept;
  for (const std::string& variable : variables) {
    const auto begins = [&](const char* beginning) { return variable.starts_with(beginning); };
    if (std::ranges::none_of(kOfRanks, begins) || std::ranges::any_of(kSettings, begins)) kept.push_back(variable);
  }
  return kept;
}

std::optional<int> number(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  const auto value = number_in<int>(*text);
  if (!value) throw_unreadable(name, *text, "a number");
  return value;
}

std::vector<int> counts_per_node(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  if (!text) return {};
  std::vector<int> counts;
  for (std::string_view part : split(*text, ',')) {
    std::optional<int> times = 1;
    const size_t bracket = part.find("(x");
    if (bracket != std::string_view::npos)
      times = part.ends_with(')') ? number_in<int>(part.substr(bracket + 2, part.size() - bracket - 3)) : std::nullopt;
    const auto count = number_in<int>(part.substr(0, bracket));
    if (!count || *count < 0 || !times || *times < 1 || *times > kMostNodes - static_cast<int>(counts.size()))
      throw_unreadable(name, *text, "a list of counts like 4(x2),3");
    counts.insert(counts.end(), static_cast<size_t>(*times), *count);
  }
  return counts;
}

}  // namespace drl
