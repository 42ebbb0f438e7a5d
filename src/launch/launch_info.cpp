#include "launch/launch_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int kMostRanks = 1 << 24;  // the largest machines have fewer cores

using Names = std::array<const char*, 2>;  // alternative variables of one number: the first that is set counts

struct Launcher {
  const char* name;
  const char* rank;
  Names size;
  const char* local_rank;
  Names local_size = {};        // empty if the launcher does not set one
  const char* nodes = nullptr;  // number of nodes: if it is 1, all ranks are on this node
  const char* start = nullptr;  // id of this start, shared by its ranks
};

constexpr std::string_view kMpirun = "mpirun", kSrun = "srun", kPals = "pals";

// In order of precedence: a launcher precedes those that it may run within. A Flux instance may run in an srun
// step, and mpirun and hydra in a task of either. Slurm's mpi/cray_shasta sets variables of PALS in an srun step.
constexpr Launcher kLaunchers[] = {
    {.name = kMpirun.data(),
     .rank = "OMPI_COMM_WORLD_RANK",
     .size = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     .start = "PMIX_NAMESPACE"},
    {.name = "hydra",  // also Intel MPI's. srun, Flux and PALS set PMI_RANK too, but not MPI_LOCALRANKID
     .rank = "PMI_RANK",
     .size = {"PMI_SIZE"},
     .local_rank = "MPI_LOCALRANKID",
     .local_size = {"MPI_LOCALNRANKS"}},
    {.name = "flux",
     .rank = "FLUX_TASK_RANK",
     .size = {"FLUX_JOB_SIZE"},
     .local_rank = "FLUX_TASK_LOCAL_ID",
     .nodes = "FLUX_JOB_NNODES",
     .start = "FLUX_JOB_ID"},
    {.name = "jsrun",
     .rank = "JSM_NAMESPACE_RANK",
     .size = {"JSM_NAMESPACE_SIZE"},
     .local_rank = "JSM_NAMESPACE_LOCAL_RANK",
     .local_size = {"JSM_NAMESPACE_LOCAL_SIZE"},
     .start = "PMIX_NAMESPACE"},
    {.name = kSrun.data(),
     .rank = "SLURM_PROCID",
     .size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     .local_rank = "SLURM_LOCALID",
     .nodes = "SLURM_STEP_NUM_NODES"},
    {.name = kPals.data(),
     .rank = "PALS_RANKID",
     .size = {"PALS_SIZE", "PMI_SIZE"},
     .local_rank = "PALS_LOCAL_RANKID",
     .local_size = {"PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE"},
     .start = "PALS_APID"},
};

// Returns the first of these names that is set; nullptr if none is.
const char* first_set(const Environment& environment, const Names& names) {
  for (const char* name : names)
    if (name && number(environment, name)) return name;
  return nullptr;
}

std::optional<int> first_number(const Environment& environment, const Names& names) {
  const char* name = first_set(environment, names);
  return name ? number(environment, name) : std::nullopt;
}

// Recognises ids such as "12.0", which mpi/cray_shasta writes to PALS_APID.
bool names_slurm_step(const std::string& id) {
  return std::ranges::count(id, '.') == 1 && id.find_first_not_of(".0123456789") == std::string::npos;
}

// Returns whether the launcher's variables are left over from an outer launcher or an earlier shell, as far as can be
// known.
bool is_stale(const Environment& environment, const Launcher& launcher) {
  // A batch shell has SLURM_PROCID too, but no srun step.
  if (launcher.name == kSrun) return !in_srun_step(environment);
  // Open MPI's mpirun names its PMIx namespaces differently. So srun started this task, from within a task of mpirun.
  if (launcher.name == kMpirun) return environment("PMIX_NAMESPACE").value_or("").starts_with("slurm.pmix.");
  // The job was submitted from a shell in an srun step and inherited that step's PALS variables.
  if (launcher.name == kPals) return names_slurm_step(environment("PALS_APID").value_or(""));
  return false;
}

// A launcher counts only if it sets rank, size and local rank: a missing variable must not be taken as 0 or 1.
const Launcher* find_launcher(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers)
    if (!is_stale(environment, launcher) && number(environment, launcher.rank) &&
        first_number(environment, launcher.size) && number(environment, launcher.local_rank))
      return &launcher;
  return nullptr;
}

// Refuses a rank above 0 whose launcher sets too few variables: each rank would otherwise start a separate run.
void refuse_lonely_rank(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const int rank = is_stale(environment, launcher) ? 0 : number(environment, launcher.rank).value_or(0);
    if (rank <= 0) continue;
    const char* missing = first_number(environment, launcher.size) ? launcher.local_rank : launcher.size.front();
    throw UsageError(
        fmt::format("{} = {} means that this is one of several ranks, but {} is not set (the launcher does not set it, "
                    "or a script removed it): set {} too, or start the program with srun or mpirun",
                    launcher.rank, rank, missing, missing));
  }
}

int local_size(const Environment& environment, const Launcher& launcher, int world_size) {
  if (const auto size = first_number(environment, launcher.local_size)) return *size;
  if (launcher.name == kSrun) {
    const std::vector<int> tasks = counts_per_node(environment, "SLURM_STEP_TASKS_PER_NODE");
    const auto node = number(environment, "SLURM_NODEID");
    if (node && !tasks.empty())  // -1, which check() refuses, if the node is not in the list
      return *node >= 0 && *node < std::ssize(tasks) ? tasks[*node] : -1;
  }
  return launcher.nodes && number(environment, launcher.nodes) == 1 ? world_size : 0;
}

void check(const LaunchInfo& info) {
  const int most_here = info.local_size == 0 ? info.world_size : info.local_size;
  if (info.rank >= 0 && info.rank < info.world_size && info.world_size <= kMostRanks && info.local_rank >= 0 &&
      info.local_rank < most_here && most_here <= info.world_size)
    return;
  throw UsageError(fmt::format(
      "the variables of {} contradict each other: rank {} of {}, local rank {} of {} on this node (a script "
      "may have changed them): start the program with srun or mpirun",
      info.launcher, info.rank, info.world_size, info.local_rank, most_here));
}

// Returns `id` if it is safe as part of a directory name, and throws UsageError otherwise.
std::string plain(const std::string& id, const char* variable) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  if (std::ranges::all_of(id, is_plain)) return id;
  throw UsageError(
      fmt::format("{0} = \"{1}\" is not a job id (it becomes part of the run directory's name): run \"unset {0}\", or "
                  "set it to the "
                  "id of the first job",
                  variable, printable(id)));
}

// Returns Slurm's id of the job. A job that replaces one that could not be requeued keeps the first job's id
// (DRL_JOB_ID).
std::string job_name(const Environment& environment) {
  const auto id = [&](const char* name) { return plain(environment(name).value_or(""), name); };
  if (const std::string first = id("DRL_JOB_ID"); !first.empty()) return first;
  if (environment("SLURM_ARRAY_JOB_ID") && environment("SLURM_ARRAY_TASK_ID"))
    return id("SLURM_ARRAY_JOB_ID") + "_" + id("SLURM_ARRAY_TASK_ID");
  return id("SLURM_JOB_ID");
}

// Returns whether the variables of a step are those of another job, in a step of which this job was submitted. PMIx,
// PMI2 and Cray's PALS name the job of a step: "slurm.pmix.12.0", "12.0". Only for steps of one task, such as shells:
// no rank of several must run alone. A heterogeneous job may have several ids.
bool is_step_of_another_job(const Environment& environment) {
  if (environment("SLURM_STEP_NUM_TASKS") != "1" || environment("SLURM_HET_SIZE")) return false;
  const std::string job = environment("SLURM_JOB_ID").value_or("");
  bool names_other = false;
  for (const char* name : {"PMIX_NAMESPACE", "PMI_JOBID", "PALS_APID"}) {
    std::string step = environment(name).value_or("");
    if (constexpr std::string_view kPmix = "slurm.pmix."; step.starts_with(kPmix)) step.erase(0, kPmix.size());
    if (!names_slurm_step(step)) continue;
    if (step.substr(0, step.find('.')) == job) return false;
    names_other = true;
  }
  return names_other;
}

}  // namespace

bool in_srun_step(const Environment& environment) {
  // Slurm's own steps have large ids: 4294967290 is the interactive step (salloc's shell with
  // LaunchParameters=use_interactive_step), 4294967291 the batch step.
  const std::string step = environment("SLURM_STEP_ID").value_or("");
  const bool is_internal = step.size() == 10 && step >= "4294967280";
  return !step.empty() && !is_internal && !is_step_of_another_job(environment);
}

LaunchInfo launch_info(const Environment& environment) {
  LaunchInfo info;
  if (const Launcher* launcher = find_launcher(environment)) {
    info = {.launcher = launcher->name,
            .rank = *number(environment, launcher->rank),
            .world_size = *first_number(environment, launcher->size),
            .local_rank = *number(environment, launcher->local_rank)};
    info.variables = join({launcher->rank, first_set(environment, launcher->size), launcher->local_rank}, ", ");
    info.local_size = local_size(environment, *launcher, info.world_size);
  } else {
    refuse_lonely_rank(environment);
  }
  check(info);
  info.job_id = job_name(environment);
  return info;
}

std::string start_id(const Environment& environment) {
  const Launcher* launcher = find_launcher(environment);
  if (!launcher) return "";
  std::string id = launcher->start ? environment(launcher->start).value_or("") : "";
  if (launcher->name == kSrun)
    id = environment("SLURM_JOB_ID").value_or("") + "." + environment("SLURM_STEP_ID").value_or("");
  std::ranges::replace(id, '/', '-');
  return id;
}

LaunchInfo launch_info() { return launch_info(process_environment()); }

}  // namespace drl
