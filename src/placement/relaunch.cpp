#include "placement/relaunch.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <numeric>
#include <regex>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "comm/mpi_library.hpp"
#include "comm/roll_call.hpp"
#include "comm/wire.hpp"
#include "launch/child.hpp"
#include "placement/device.hpp"
#include "placement/srun_errors.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

// Set for the ranks that drl starts: the GPUs and hardware threads of the outer step, "node1:0,1:8;node2:2,3:8", or
// empty without an outer step. It also prevents a rank from restarting itself.
constexpr const char* kOuterStep = "DRL_OUTER_STEP";
constexpr const char* kDirectLine = "DRL_DIRECT_LINE";      // the command that starts these ranks directly
constexpr const char* kSlurmVersion = "DRL_SLURM_VERSION";  // "slurm 22.05.8"
constexpr const char* kYield = "OMPI_MCA_mpi_yield_when_idle";
constexpr int kSrunFailed = 254;            // SLURM_EXIT_ERROR: exit code for failures of srun, not of the program
constexpr int kRankMemory = 256;            // minimum MiB per rank
constexpr const char* kSrunTimeout = "60";  // seconds that srun may wait for resources, which this step already holds

constexpr const char* kHeterogeneous =
    "the job is heterogeneous, and srun starts ranks in all of its components only with --het-group";

int total(const std::vector<int>& ranks) { return std::accumulate(ranks.begin(), ranks.end(), 0); }

bool all_equal(const std::vector<int>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), std::not_equal_to<>()) == ranks.end();
}

// --- The resources of a task ---

// The resources that Slurm granted to the step on this node. Slurm counts hardware threads, or cores if the step uses
// one thread per core (--hint=nomultithread). If Slurm does not bind tasks, they can use all cores of the machine.
struct Grant {
  int cpus, cores;
};
Grant granted(const Environment& environment) {
  const Machine machine = this_machine();
  const int cores = machine.allowed_cores,
            threads_per_core = std::max(cores, static_cast<int>(allowed_cpus().count())) / cores;
  const int unit = environment("SLURM_THREADS_PER_CORE") == "1" ? threads_per_core : 1;
  const int cpus = number(environment, "SLURM_CPUS_ON_NODE").value_or(cores * threads_per_core) * unit;
  return {cpus, std::clamp(cpus / threads_per_core, 1, machine.cores)};
}

int granted_memory(const Environment& environment) {
  if (const auto node = number(environment, "SLURM_MEM_PER_NODE")) return *node;
  const int cpus = number(environment, "SLURM_CPUS_ON_NODE").value_or(1);
  return number(environment, "SLURM_MEM_PER_CPU").value_or(0) * cpus;
}

std::string node_name(const Environment& environment) { return environment("SLURMD_NODENAME").value_or(host_name()); }

// The properties of a task that rank 0 collects and combines by node.
struct TaskFacts {
  std::string node;
  std::vector<std::string> gpus, chosen;  // visible GPUs, if it uses any, and the GPUs that --gpu_ids selects
  int free_cores = 0;                     // cores to use as devices; 0 with GPUs, and with -c (one rank per task)
  int cpus = 1, cores = 1, memory = 0;    // as in StepNode
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskFacts, node, gpus, chosen, free_cores, cpus, cores, memory)

TaskFacts facts_of_task(const Environment& environment, const RankRequest& request) {
  const Gpus gpus = request.cpu ? Gpus{} : visible_gpus(environment);
  const Gpus chosen = request.cpu ? gpus : select_gpus(gpus, request.gpu_ids);
  const bool on_gpus = !chosen.ids.empty(), threads = environment("SLURM_CPUS_PER_TASK").has_value();
  const auto [cpus, cores] = granted(environment);
  return {.node = node_name(environment),
          .gpus = on_gpus ? gpus.ids : std::vector<std::string>(),
          .chosen = chosen.ids,
          .free_cores = on_gpus || threads ? 0 : cores,
          .cpus = cpus,
          .cores = cores,
          .memory = granted_memory(environment)};
}

void add_missing(std::vector<std::string>& list, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!contains(list, name)) list.push_back(name);
}

std::vector<StepNode> step_nodes(const std::vector<TaskFacts>& tasks) {
  std::vector<StepNode> nodes;
  for (const Group& group : groups_of(column(tasks, &TaskFacts::node))) {
    StepNode& node = nodes.emplace_back(StepNode{.name = group.text, .tasks = static_cast<int>(group.ranks.size())});
    std::vector<std::string> chosen;
    for (int rank : group.ranks) {
      const TaskFacts& task = tasks[rank];
      add_missing(node.gpus, task.gpus);
      add_missing(chosen, task.chosen);
      node.cpus = task.cpus, node.cores = task.cores, node.memory = task.memory;
      node.devices = std::max(static_cast<int>(chosen.size()), task.free_cores);
    }
  }
  return nodes;
}

// Parses "4", "a100:4" or "a100:2,v100:2".
int gpu_count(const Environment& environment, const char* name) {
  int count = 0;
  for (const std::string& kind : split(environment(name).value_or(""), ','))
    count += std::atoi(kind.substr(kind.rfind(':') + 1).c_str());
  return count;
}

bool on_gpus(const std::vector<StepNode>& nodes) { return !nodes.front().gpus.empty(); }

bool equal_gpus(const std::vector<StepNode>& nodes) {
  const auto differ = [](const StepNode& a, const StepNode& b) { return a.gpus.size() != b.gpus.size(); };
  return std::adjacent_find(nodes.begin(), nodes.end(), differ) == nodes.end();
}

// --- The inner srun ---

// Returns whether srun has the plugin that Open MPI needs. A job's shell has no variable for this, and the cluster's
// default may be none.
bool offers_pmix() {
  if (!is_open_mpi()) return false;
  BackgroundCommand list({"srun", "--mpi=list"});
  return list.wait(10) == 0 && list.output().find("pmix") != std::string::npos;
}

std::string mpi_plugin(const Environment& environment) {
  if (const auto type = environment("SLURM_MPI_TYPE")) return *type;
  if (environment("PMIX_RANK")) return "pmix";
  if (environment("PMI_RANK")) return "pmi2";
  return "";
}

// Returns the value of --cpu-bind for the inner srun. Slurm writes the binding of a task to its SLURM_CPU_BIND. Usually
// these are masks of Slurm's choice, one for each task of the step on that node; they do not apply to the ranks, which
// bind themselves. A binding that the user listed core by core appears as typed, with more entries than the step has
// tasks, and is kept. In the shell of a job, the variable is always the user's.
std::string cpu_bind(const Environment& environment) {
  const auto binding = environment("SLURM_CPU_BIND");
  if (!binding || !in_srun_step(environment)) return binding.value_or("");
  const auto has = [&](const char* kind) { return binding->find(kind) != std::string::npos; };
  if (has("map_cpu:") || has("map_ldom:") || has("mask_ldom:") || has("rank_ldom")) return *binding;
  const size_t masks = binding->find("mask_cpu:"),
               node = static_cast<size_t>(number(environment, "SLURM_NODEID").value_or(0));
  const std::vector<int> tasks = counts_per_node(environment, "SLURM_STEP_TASKS_PER_NODE");
  const int own = node < tasks.size() ? tasks[node] : 1;
  if (masks != std::string::npos && static_cast<int>(split(binding->substr(masks), ',').size()) > own) return *binding;
  return binding->starts_with("verbose") ? "verbose,none" : "none";
}

// Called once, before a step is started within another.
std::string version_of_srun() {
  BackgroundCommand version({"srun", "--version"});
  return version.wait(10) == 0 ? version.output() : "";
}

[[noreturn]] void throw_lost_gpus(const Environment& environment, const std::string& node, const std::string& outer,
                                  const Gpus& gpus) {
  const std::string reason = step_may_lose_gpus(environment(kSlurmVersion).value_or(""));
  throw UsageError(
      fmt::format("the ranks that drl started with srun got only the GPUs {} of {} (the original step has {}{}): start "
                  "the ranks directly with\n  {}\nor use --ranks 1",
                  join(gpus.ids, ","), node, outer, reason.empty() ? "" : "; " + reason,
                  environment(kDirectLine).value_or("srun, with one task per GPU")));
}

std::string describe_step(const std::vector<StepNode>& nodes) {
  std::vector<std::string> parts;
  for (const StepNode& node : nodes)
    parts.push_back(fmt::format("{}:{}:{}", node.name, join(node.gpus, ","), node.cpus));
  return join(parts, ";");
}

// Returns the plugin to start the ranks with, or "" for the cluster's default.
std::string wanted_plugin(const Environment& environment) {
  const std::string plugin = mpi_plugin(environment);
  return plugin.empty() && offers_pmix() ? "pmix" : plugin;
}

// Runs `command` on the ranks with srun and returns its exit code. `outer_step` and `version` are empty without an
// outer step.
int run_srun(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, const std::string& outer_step,
             const std::string& version, const std::vector<std::string>& command, const StopRelay& relay,
             std::string* first_end = nullptr) {
  const Environment environment = process_environment();
  const TempFile hosts("drl-hosts", hosts_of_ranks(nodes, ranks));
  // Signals reach the ranks through `pending_signal` only, because srun kills the ranks on SIGINT and SIGTERM.
  ChildSettings settings{.environment = inner_environment(environment_list())};
  sigprocmask(SIG_SETMASK, nullptr, &settings.signal_mask);
  const auto set = [&](const char* name, const std::string& value) {
    settings.environment.push_back(fmt::format("{}={}", name, value));
  };
  const std::string line = direct_line(nodes, ranks, 0, command);
  set("SLURM_HOSTFILE", hosts.path());
  set("SLURM_EXIT_ERROR", std::to_string(kSrunFailed));
  set(kOuterStep, outer_step);
  set(kDirectLine, line);
  set(kSlurmVersion, version);
  for (const char* name : {kRunReport, kRestartCause})
    if (const auto value = environment(name)) set(name, *value);
  bool shared = false;  // ranks that share cores must not spin while they wait for each other
  for (size_t k = 0; k < nodes.size(); ++k) shared |= ranks[k] > nodes[k].cores;
  if (shared && !environment(kYield)) set(kYield, "1");

  std::vector<std::string> words = srun_command(environment, nodes, ranks);
  if (mpi_plugin(environment).empty() && offers_pmix()) words.emplace_back("--mpi=pmix");
  words.insert(words.end(), command.begin(), command.end());
  std::optional<SrunErrors> errors;
  if (first_end) errors.emplace(settings);
  const int code = relay.own_exit_code(run_shielded(words, settings, relay.pending_signal));
  if (first_end) *first_end = errors->first_end();
  const std::string reason = on_gpus(nodes) ? step_may_lose_gpus(version) : "";
  if (code == kSrunFailed || code == kNotFound)
    throw UsageError("srun did not start the ranks (see srun's message above" + (reason.empty() ? "" : "; " + reason) +
                     "): start the ranks directly with\n  " + line + "\nor use --ranks 1");
  return code;
}

}  // namespace

// --- Decisions ---

std::vector<int> plan_ranks(const std::vector<StepNode>& nodes, int wanted_ranks) {
  int tasks = 0, devices = 0;
  std::vector<int> ranks;
  for (const StepNode& node : nodes) {
    tasks += node.tasks;
    devices += node.devices;
    ranks.push_back(std::max(1, node.devices));
  }
  if (wanted_ranks == 0) return devices > tasks ? ranks : std::vector<int>{};
  if (wanted_ranks <= tasks) return {};
  const int count = static_cast<int>(nodes.size());
  for (int k = 0; k < count; ++k) ranks[k] = wanted_ranks / count + (k < wanted_ranks % count);
  return ranks;
}

// Each task sees all GPUs of its node (not --gpus-per-task: ranks that see one GPU each cannot map the others' memory).
// If nodes have unequal numbers of GPUs, which srun cannot request per node, the command requests the mean on each
// node.
std::string direct_line(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, int cores_per_rank,
                        const std::vector<std::string>& command) {
  const int count = static_cast<int>(nodes.size());
  int gpus = 0;
  for (const StepNode& node : nodes) gpus += static_cast<int>(node.gpus.size());
  const int gpus_per_node = gpus > 0 ? std::max(1, gpus / count) : 0;
  const bool by_number = !all_equal(ranks) && equal_gpus(nodes);
  return fmt::format("srun -N{} {}{}{} {}", count,
                     by_number ? fmt::format("-n{}", total(ranks))
                               : fmt::format("--ntasks-per-node={}", all_equal(ranks) ? ranks[0] : gpus_per_node),
                     gpus > 0 ? fmt::format(" --gpus-per-node={}", gpus_per_node) : "",
                     cores_per_rank > 0 ? fmt::format(" -c{}", cores_per_rank) : "", shell_line(command));
}

std::vector<int> nodes_of_components(const Environment& environment) {
  std::vector<int> nodes;
  for (int k = 0; k < number(environment, "SLURM_HET_SIZE").value_or(0); ++k)
    nodes.push_back(number(environment, fmt::format("SLURM_JOB_NUM_NODES_HET_GROUP_{}", k).c_str()).value_or(1));
  return nodes;
}

std::string heterogeneous_line(const std::vector<int>& components, const std::vector<int>& ranks,
                               const std::string& mpi, const std::vector<std::string>& command) {
  std::vector<std::string> words;  // without --ranks: srun decides the number
  for (size_t k = 0; k < command.size(); ++k)
    if (command[k] == "--ranks")
      ++k;
    else if (!command[k].starts_with("--ranks="))
      words.push_back(command[k]);
  std::vector<int> sums;
  auto next = ranks.begin();
  for (const int nodes : components) {
    const auto end = next + std::min<std::ptrdiff_t>(nodes, ranks.end() - next);
    sums.push_back(std::max(1, std::accumulate(next, end, 0)));
    next = end;
  }
  std::string line = mpi.empty() ? "srun" : "srun --mpi=" + mpi, all = "0";
  if (all_equal(sums)) {
    for (size_t k = 1; k < sums.size(); ++k) all += fmt::format(",{}", k);
    return fmt::format("{} --het-group={} -n{} {}", line, all, sums.front(), shell_line(words));
  }
  for (size_t k = 0; k < sums.size(); ++k)
    line += fmt::format("{} --het-group={} -n{} {}", k == 0 ? "" : " :", k, sums[k], shell_line(words));
  return line;
}

std::optional<std::array<int, 3>> slurm_version(const std::string& text) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(R"(\bslurm\S* (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?)")))
    return std::nullopt;
  return std::array{std::stoi(found[1]), std::stoi(found[2]), found[3].matched ? std::stoi(found[3]) : 0};
}

// Release notes of Slurm 22.05: "srun --overlap now allows the step to share all resources". Before, only CPUs.
std::string step_cannot_share(const std::string& version, const std::vector<StepNode>& nodes) {
  const auto numbers = slurm_version(version);
  const bool shares_cpus_only = numbers && *numbers < std::array{22, 5, 0};
  if (!shares_cpus_only || (!on_gpus(nodes) && nodes.front().memory == 0)) return "";
  return fmt::format("two steps can share {} only since Slurm 22.05, and this is {}",
                     on_gpus(nodes) ? "GPUs" : "memory", version);
}

std::string step_may_lose_gpus(const std::string& version) {
  const auto numbers = slurm_version(version);
  if (!numbers || *numbers >= std::array{26, 5, 3}) return "";
  return "before version 26.05.3, Slurm may give a step within a step too few GPUs if the job's cores are on fewer "
         "sockets than its GPUs, and this is " +
         version;
}

std::vector<std::string> srun_command(const Environment& environment, const std::vector<StepNode>& nodes,
                                      const std::vector<int>& ranks) {
  // --overlap and --overcommit are necessary because the tasks that wait for these ranks hold the cores.
  // --export because the environment has what the ranks need, whatever sbatch --export=NONE told the job's srun.
  std::vector<std::string> words =
      split(fmt::format("srun --jobid={} --export=ALL --overlap --overcommit --kill-on-bad-exit=1 --immediate={}",
                        environment("SLURM_JOB_ID").value_or(""), kSrunTimeout),
            ' ');
  if (const std::string plugin = mpi_plugin(environment); !plugin.empty()) words.push_back("--mpi=" + plugin);
  if (const std::string bind = cpu_bind(environment); !bind.empty()) words.push_back("--cpu-bind=" + bind);
  // Request all GPUs of the job: if fewer, Slurm may choose other GPUs than those of the outer tasks.
  // restrict_to_outer_step selects the right ones.
  if (on_gpus(nodes)) {
    const std::string job_gpus = environment("SLURM_JOB_GPUS").value_or("");
    const size_t count = std::max(nodes[0].gpus.size(), job_gpus.empty() ? 0 : split(job_gpus, ',').size());
    words.push_back("--gpus-per-node=" + std::to_string(count));
  }
  // An explicit list of hosts: otherwise Slurm places tasks by the job's cores, such as 3+1 instead of 2+2.
  words.insert(words.end(), {"--ntasks=" + std::to_string(total(ranks)), "--distribution=arbitrary"});
  return words;
}

std::string hosts_of_ranks(const std::vector<StepNode>& nodes, const std::vector<int>& ranks) {
  std::string hosts;
  for (size_t k = 0; k < nodes.size(); ++k)
    for (int rank = 0; rank < ranks[k]; ++rank) hosts += nodes[k].name + "\n";
  return hosts;
}

// Selects how Slurm's PMIx plugin synchronises the nodes of a step. By default, a fence without data, such as the last
// one in MPI_Init, uses a tree, which has no edges if the step has fewer nodes than TreeWidth (Slurm 22.05 to 24.11,
// reverse_tree_info). Then the nodes do not wait for each other, and a rank that receives a message over Open MPI's TCP
// before it is ready crashes.
constexpr const char* kPmixFence = "SLURM_PMIX_FENCE";

std::vector<std::string> inner_environment(const std::vector<std::string>& variables) {
  // Settings of users and sites. srun_command turns SLURM_CPU_BIND into an option.
  static const std::vector<std::string> settings = {"SLURM_NETWORK", "SLURM_MEM_BIND", kPmixFence},
                                        // The identity of the job over its requeues, which srun does not set again.
      of_job = {"SLURM_JOB_ID",       "SLURM_CONF",         "SLURM_RESTART_COUNT", "SLURM_JOB_START_TIME",
                "SLURM_JOB_END_TIME", "SLURM_CLUSTER_NAME", "SLURM_ARRAY_JOB_ID",  "SLURM_ARRAY_TASK_ID"};
  std::vector<std::string> kept;
  for (const std::string& variable : without_launchers(variables)) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool is_slurms = name.starts_with("SLURM_") || name.starts_with("SLURMD_");
    if (!is_slurms || contains(settings, name) || contains(of_job, name)) kept.push_back(variable);
  }
  const auto is_fence = [](const std::string& variable) { return variable.starts_with(std::string(kPmixFence) + "="); };
  if (std::ranges::none_of(kept, is_fence)) kept.push_back(std::string(kPmixFence) + "=ring");
  return kept;
}

std::string shortage_warning(const std::vector<StepNode>& nodes, const std::vector<int>& ranks,
                             const std::vector<std::string>& command) {
  for (size_t k = 0; k < nodes.size(); ++k) {
    const StepNode& node = nodes[k];
    if (node.cores < ranks[k])
      return fmt::format(
          "{} share {} of {} (the job has no more): for full speed, request one core per rank with\n  {}",
          counted(ranks[k], "rank"), counted(node.cores, "core"), node.name, direct_line(nodes, ranks, 1, command));
    if (node.memory > 0 && node.memory < kRankMemory * ranks[k])
      return fmt::format(
          "{} on {} can use only {} MiB of memory (the job has no more): to avoid running out of memory, request "
          "--mem={}M or "
          "more",
          counted(ranks[k], "rank"), node.name, node.memory, kRankMemory * ranks[k]);
  }
  return "";
}

void check_ranks(const LaunchInfo& launch, int wanted, int started, bool may_start) {
  if (!launch.launched() || wanted <= 1 || wanted == started || (may_start && wanted > started)) return;
  throw UsageError(
      fmt::format("--ranks {0} differs from the {1} that {2} started ({2} decides their number): leave --ranks out, or "
                  "let {2} start {0} ranks",
                  wanted, counted(started, "rank"), launch.launcher));
}

// --- Starting ranks ---

std::optional<int> start_one_rank_per_device(Communicator& comm, const LaunchInfo& launch, const RankRequest& request,
                                             const std::vector<std::string>& command, const StopRelay& relay) {
  const Environment environment = process_environment();
  const bool may_start = launch.launcher == "srun" && !environment(kOuterStep);
  on_all_ranks(comm, [&] { check_ranks(launch, request.ranks, comm.size(), may_start); });
  if (!may_start || request.ranks == 1) return std::nullopt;

  TaskFacts task;
  on_all_ranks(comm, [&] { task = facts_of_task(environment, request); });
  const std::vector<TaskFacts> tasks = gather_facts(comm, task);
  std::vector<StepNode> nodes;
  std::vector<int> ranks;
  std::string version;
  const std::string decision = on_rank_zero(comm, [&]() -> std::string {
    nodes = step_nodes(tasks);
    ranks = plan_ranks(nodes, request.ranks);
    if (ranks.empty()) return "stay";
    int devices = 0;
    for (const StepNode& node : nodes) devices += node.devices;
    const std::string step = fmt::format("this step has {} and {}", counted(devices, on_gpus(nodes) ? "GPU" : "core"),
                                         counted(comm.size(), "task"));
    const std::vector<int> components = nodes_of_components(environment);
    const auto refuse = [&](const std::string& why) {
      throw UsageError(fmt::format(
          "{}, but drl cannot start the missing ranks ({}): start the ranks directly with\n  {}\nor use --ranks 1 for "
          "one device per task",
          step, why,
          components.empty() ? direct_line(nodes, ranks, 0, command)
                             : heterogeneous_line(components, ranks, wanted_plugin(environment), command)));
    };
    if (!components.empty()) refuse(kHeterogeneous);
    if (!is_on_path("srun")) refuse("srun is not on PATH; in a container, run the command outside it");
    version = trim(version_of_srun());
    if (const std::string why = step_cannot_share(version, nodes); !why.empty()) refuse(why);
    if (on_gpus(nodes) && !equal_gpus(nodes))
      refuse("the nodes have unequal numbers of GPUs, and srun can only request the same number on each node");
    log::info("{}: running srun again with {}{}", step, counted(total(ranks), "rank"),
              all_equal(ranks) ? fmt::format(", {} per node", ranks[0]) : "");
    if (const std::string warning = shortage_warning(nodes, ranks, command); !warning.empty()) log::warn("{}", warning);
    return "start";
  });
  if (decision == "stay") return std::nullopt;

  // The other tasks wait without spinning, because the ranks need the cores. They must not end earlier, or srun would
  // end this task too if WaitTime is set.
  int outcome[2] = {0, 0};  // exit code, and whether it is that of an error that rank 0 has printed
  if (comm.rank() == 0) try {
      outcome[0] = run_srun(nodes, ranks, describe_step(nodes), version, command, relay);
    } catch (const Error& error) {
      outcome[0] = error.exit_code(), outcome[1] = 1;
      log::write(log::Level::common_error, error.what());
    }
  comm.broadcast_without_spinning(std::as_writable_bytes(std::span(outcome)), 0);
  if (outcome[1]) throw ReportedError(outcome[0]);
  return outcome[0];
}

bool can_run_under_srun() { return process_environment()("SLURM_JOB_ID") && is_on_path("srun"); }

std::vector<std::string> job_nodes() {
  BackgroundCommand expand({"scontrol", "show", "hostnames", process_environment()("SLURM_JOB_NODELIST").value_or("")});
  if (expand.wait(10) != 0)
    throw UsageError("cannot list the nodes of the job (scontrol show hostnames: " + printable(expand.output()) +
                     "): start the ranks with srun instead of --ranks");
  return split(trim(expand.output()), '\n');
}

std::vector<NodeShare> shares_of_nodes() {
  const Environment environment = process_environment();
  const std::string gpus = environment("SLURM_JOB_GPUS").value_or("");
  std::vector<NodeShare> shares;
  for (const int cpus : counts_per_node(environment, "SLURM_JOB_CPUS_PER_NODE"))
    shares.push_back({cpus, gpus.empty() ? 0 : static_cast<int>(split(gpus, ',').size())});
  return shares;
}

NodeShare share_of_each_node() {
  const std::vector<NodeShare> shares = shares_of_nodes();
  return shares.empty() ? NodeShare() : *std::ranges::min_element(shares, {}, &NodeShare::cores);
}

std::vector<std::string> environment_on(const std::vector<std::string>& nodes) {
  std::vector<std::string> variables = environment_list();
  std::erase_if(variables, [](const std::string& variable) { return variable.starts_with("SLURM_JOB_NODELIST="); });
  variables.push_back("SLURM_JOB_NODELIST=" + join(nodes, ","));
  return variables;
}

std::vector<std::string> answering_nodes(const std::vector<std::string>& nodes) {
  constexpr double patience = 30;
  std::list<BackgroundCommand> probes;
  for (const std::string& node : nodes)
    probes.emplace_back(std::vector<std::string>{"srun", "--overlap", "--overcommit", "--immediate=20", "--mpi=none",
                                                 "--ntasks=1", "--nodes=1", "--nodelist=" + node, "true"});
  const Clock::time_point start = Clock::now();
  std::vector<std::string> answering;
  auto probe = probes.begin();
  for (const std::string& node : nodes)
    if ((probe++)->wait(std::max(0.1, patience - seconds_since(start))) == 0) answering.push_back(node);
  return answering;
}

int run_under_srun(int ranks, const std::vector<std::string>& names, const std::vector<std::string>& command,
                   const StopRelay& relay, std::string* first_end) {
  const Environment environment = process_environment();
  if (const std::vector<int> components = nodes_of_components(environment); !components.empty()) {
    std::vector<StepNode> nodes(static_cast<size_t>(total(components)));
    throw UsageError(
        fmt::format("--ranks {} cannot start ranks here ({}): start them directly with\n  {}", ranks, kHeterogeneous,
                    heterogeneous_line(components, plan_ranks(nodes, ranks), wanted_plugin(environment), command)));
  }
  const std::vector<int> cpus = counts_per_node(environment, "SLURM_JOB_CPUS_PER_NODE");
  const std::vector<std::string> all = job_nodes();
  std::vector<StepNode> nodes;
  for (const std::string& name : names) {
    const auto at = static_cast<size_t>(std::ranges::find(all, name) - all.begin());
    nodes.push_back({.name = name, .cores = at < cpus.size() ? cpus[at] : ranks});
    if (const auto gpus = environment("SLURM_JOB_GPUS")) add_missing(nodes.back().gpus, split(*gpus, ','));
  }
  return run_srun(nodes, plan_ranks(nodes, ranks), "", "", command, relay, first_end);
}

std::vector<std::string> step_command(const NodeStep& step, const std::vector<std::string>& command) {
  const Environment environment = process_environment();
  static const std::string plugin = wanted_plugin(environment);
  std::vector<std::string> words =
      split(fmt::format("srun --jobid={} --export=ALL --exact --nodes=1 --nodelist={} --ntasks={} --kill-on-bad-exit=1",
                        environment("SLURM_JOB_ID").value_or(""), step.node, step.ranks),
            ' ');
  if (!plugin.empty()) words.push_back("--mpi=" + plugin);
  if (environment("SLURM_JOB_GPUS")) words.push_back(fmt::format("--gpus-per-node={}", step.ranks));
  if (const auto memory = number(environment, "SLURM_MEM_PER_NODE"))  // otherwise the first step gets all of it
    words.push_back(fmt::format("--mem={}", *memory / step.steps));
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> step_environment() { return inner_environment(environment_list()); }

// --- In the ranks that were started ---

bool started_through_srun() { return process_environment()(kOuterStep).has_value(); }

bool shortage_was_reported(const Environment& environment) { return !environment(kOuterStep).value_or("").empty(); }

void restrict_to_outer_step() {
  const Environment environment = process_environment();
  for (const std::string& node : split(environment(kOuterStep).value_or(""), ';')) {
    const std::vector<std::string> fields = split(node, ':');  // name, GPUs, hardware threads
    if (fields.size() != 3 || fields[0] != node_name(environment)) continue;
    setenv("SLURM_CPUS_ON_NODE", fields[2].c_str(), 1);
    if (fields[1].empty()) return;

    const std::vector<std::string> outer = split(fields[1], ',');
    const Gpus gpus = visible_gpus(environment);
    std::vector<std::string> visible, ids;
    for (size_t k = 0; k < gpus.ids.size() && k < gpus.visible.size(); ++k)
      if (contains(outer, gpus.ids[k])) {
        ids.push_back(gpus.ids[k]);
        visible.push_back(gpus.visible[k]);
      }
    if (ids.size() != outer.size()) throw_lost_gpus(environment, fields[0], fields[1], gpus);
    setenv(gpus.list, join(visible, ",").c_str(), 1);
    setenv("SLURM_STEP_GPUS", join(ids, ",").c_str(), 1);
    return;
  }
}

std::string idle_devices_hint(const Environment& environment, const std::vector<std::string>& command) {
  if (!environment("SLURM_JOB_ID") || in_srun_step(environment)) return "";
  const int nodes = number(environment, "SLURM_JOB_NUM_NODES").value_or(1);
  const int per_node =
      std::max(gpu_count(environment, "SLURM_GPUS_ON_NODE"), gpu_count(environment, "SLURM_GPUS_PER_NODE"));
  const int gpus = std::max(nodes * per_node, gpu_count(environment, "SLURM_GPUS"));
  const std::vector<int> cpus = counts_per_node(environment, "SLURM_JOB_CPUS_PER_NODE");
  const int devices = gpus > 0 ? gpus : total(cpus);
  if (devices <= 1) return "";
  return fmt::format("this job has {} on {}, but without srun drl uses only one of them: to use all, run\n  srun {}",
                     counted(devices, gpus > 0 ? "GPU" : "CPU"), counted(nodes, "node"), shell_line(command));
}

}  // namespace drl
