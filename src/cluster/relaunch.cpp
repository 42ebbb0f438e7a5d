#include "cluster/relaunch.hpp"

#include <mpi.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <regex>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "cluster/background.hpp"
#include "cluster/child.hpp"
#include "cluster/device.hpp"
#include "cluster/machine.hpp"

namespace drl {
namespace {

// Set for the ranks that we start: "node1:0,1:8;node2:2,3:8", GPUs and hardware threads of the outer step, empty if
// there was none. Also keeps a rank from starting itself again.
constexpr const char* kOuterStep = "DRL_OUTER_STEP";
constexpr const char* kDirectLine = "DRL_DIRECT_LINE";      // how the user starts these ranks without us
constexpr const char* kSlurmVersion = "DRL_SLURM_VERSION";  // "slurm 22.05.8"
constexpr const char* kYield = "OMPI_MCA_mpi_yield_when_idle";
constexpr int kRefused = 254;            // SLURM_EXIT_ERROR: srun's own failures, not the program's
constexpr int kRankMemory = 256;         // MiB that a rank needs at least
constexpr const char* kPatience = "60";  // seconds that srun may wait for resources that we hold already

int total(const std::vector<int>& ranks) { return std::accumulate(ranks.begin(), ranks.end(), 0); }

bool equal(const std::vector<int>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), std::not_equal_to<>()) == ranks.end();
}

// --- What a task sees ---

// Slurm counts hardware threads, and where it does not bind, all of the machine's cores are open to us.
// Where a step takes one hardware thread of each core only (--hint=nomultithread), it counts cores.
struct Grant {
  int cpus, cores;
};
Grant granted(const Environment& environment) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  const int cores = this_machine().cores, threads_per_core = std::max(cores, CPU_COUNT(&allowed)) / cores;
  const int unit = environment("SLURM_THREADS_PER_CORE") == "1" ? threads_per_core : 1;
  const int cpus = number(environment, "SLURM_CPUS_ON_NODE").value_or(cores * threads_per_core) * unit;
  return {cpus, std::clamp(cpus / threads_per_core, 1, cores)};
}

int granted_memory(const Environment& environment) {
  if (const auto node = number(environment, "SLURM_MEM_PER_NODE")) return *node;
  const int cpus = number(environment, "SLURM_CPUS_ON_NODE").value_or(1);
  return number(environment, "SLURM_MEM_PER_CPU").value_or(0) * cpus;
}

std::string node_name(const Environment& environment) {
  return environment("SLURMD_NODENAME").value_or(this_machine().host);
}

// One line a task; rank 0 joins them by node. Without GPUs the cores are the devices, unless -c made them threads.
std::string describe_task(const Environment& environment, const RankRequest& request) {
  const Gpus gpus = request.cpu ? Gpus{} : visible_gpus(environment);
  const bool threads = environment("SLURM_CPUS_PER_TASK").has_value();
  const Gpus chosen = request.cpu ? gpus : select_gpus(gpus, request.gpu_ids);
  const bool on_gpus = !chosen.ids.empty();
  const auto [cpus, cores] = granted(environment);
  return join({node_name(environment), on_gpus ? join(gpus.ids, ",") : "", join(chosen.ids, ","),
               on_gpus || threads ? "" : "cores", std::to_string(cores), std::to_string(granted_memory(environment)),
               std::to_string(cpus)},
              "\t");
}

void add_new(std::vector<std::string>& list, const std::string& names) {
  if (names.empty()) return;
  for (const std::string& name : split(names, ','))
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

std::vector<StepNode> step_nodes(const std::vector<std::string>& tasks) {
  std::vector<StepNode> nodes;
  std::map<std::string, std::vector<std::string>> chosen;
  for (const std::string& task : tasks) {
    const std::vector<std::string> fields = split(task, '\t');
    auto node = std::find_if(nodes.begin(), nodes.end(), [&](const StepNode& n) { return n.name == fields[0]; });
    if (node == nodes.end()) node = nodes.insert(nodes.end(), StepNode{.name = fields[0]});
    node->tasks += 1;
    add_new(node->gpus, fields[1]);
    add_new(chosen[node->name], fields[2]);
    node->cores = std::stoi(fields[4]);
    node->memory = std::stoi(fields[5]);
    node->cpus = std::stoi(fields[6]);
    node->devices = std::max(static_cast<int>(chosen[node->name].size()), fields[3] == "cores" ? node->cores : 0);
  }
  return nodes;
}

// "4", "a100:4" or "a100:2,v100:2".
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

// In the shell of a job nothing says which plugin Open MPI needs, and the cluster's default may be none.
bool offers_pmix() {
#ifdef OPEN_MPI
  BackgroundCommand list({"srun", "--mpi=list"});
  return list.wait(10) == 0 && list.output().find("pmix") != std::string::npos;
#else
  return false;
#endif
}

std::string mpi_plugin(const Environment& environment) {
  if (const auto type = environment("SLURM_MPI_TYPE")) return *type;
  if (environment("PMIX_RANK")) return "pmix";
  if (environment("PMI_RANK")) return "pmi2";
  return "";
}

// Slurm writes into SLURM_CPU_BIND of a task what it was bound to: most often masks of its own choice, one for each of
// the step's tasks on that node, which are none for the ranks. Those bind themselves. What a user named core by core is
// in there as it was typed, longer than the step has tasks. In the shell of a job the variable is the user's anyway.
std::string cpu_bind(const Environment& environment) {
  const auto said = environment("SLURM_CPU_BIND");
  if (!said || !in_srun_step(environment)) return said.value_or("");
  const auto names = [&](const char* kind) { return said->find(kind) != std::string::npos; };
  if (names("map_cpu:") || names("map_ldom:") || names("mask_ldom:") || names("rank_ldom")) return *said;
  const size_t masks = said->find("mask_cpu:"),
               node = static_cast<size_t>(number(environment, "SLURM_NODEID").value_or(0));
  const std::vector<int> tasks = counts_per_node(environment, "SLURM_STEP_TASKS_PER_NODE");
  const int own = node < tasks.size() ? tasks[node] : 1;
  if (masks != std::string::npos && static_cast<int>(split(said->substr(masks), ',').size()) > own) return *said;
  return said->starts_with("verbose") ? "verbose,none" : "none";
}

// Looked at once, where a step is about to be started within another.
std::string version_of_srun() {
  BackgroundCommand version({"srun", "--version"});
  return version.wait(10) == 0 ? version.output() : "";
}

// The first rank of a node that lost some says so: rank 0's, which prints what all have in common, may have its own.
[[noreturn]] void throw_lost_gpus(const Environment& environment, const std::string& node, const std::string& outer,
                                  const Gpus& gpus) {
  const std::string reason = step_may_lose_gpus(environment(kSlurmVersion).value_or(""));
  const std::string message = "srun gave the GPUs " + join(gpus.ids, ",") + " of " + node +
                              " to the ranks that this program started (the first step has " + outer +
                              (reason.empty() ? "" : "; " + reason) + "): type\n  " +
                              environment(kDirectLine).value_or("srun, with one task per GPU") + "\nor use --ranks 1";
  if (environment("SLURM_LOCALID") == "0" && environment("SLURM_PROCID") != "0")
    log::write(log::Level::common_error, message);
  throw UsageError(message);
}

std::string describe_step(const std::vector<StepNode>& nodes) {
  std::vector<std::string> parts;
  for (const StepNode& node : nodes)
    parts.push_back(node.name + ":" + join(node.gpus, ",") + ":" + std::to_string(node.cpus));
  return join(parts, ";");
}

// `outer_step` and `version` are empty where there is no outer step.
int run_srun(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, const std::string& outer_step,
             const std::string& version, const std::vector<std::string>& command, const StopRelay& relay) {
  const Environment environment = process_environment();
  const TempFile hosts("drl-hosts", hosts_of_ranks(nodes, ranks));
  // Signals reach the ranks through `pending_signal` only: srun itself answers SIGINT and SIGTERM by killing them.
  ChildSettings settings{.environment = inner_environment(environment_list())};
  sigprocmask(SIG_SETMASK, nullptr, &settings.signal_mask);
  settings.environment.push_back("SLURM_HOSTFILE=" + hosts.path());
  settings.environment.push_back("SLURM_EXIT_ERROR=" + std::to_string(kRefused));
  const std::string line = direct_line(nodes, ranks, 0, command);
  settings.environment.push_back(std::string(kOuterStep) + "=" + outer_step);
  settings.environment.push_back(std::string(kDirectLine) + "=" + line);
  settings.environment.push_back(std::string(kSlurmVersion) + "=" + version);
  for (size_t k = 0; k < nodes.size(); ++k)  // ranks that share cores must not spin while they wait for each other
    if (ranks[k] > nodes[k].cores && !environment(kYield)) {
      settings.environment.push_back(std::string(kYield) + "=1");
      break;
    }

  std::vector<std::string> words = srun_command(environment, nodes, ranks);
  if (mpi_plugin(environment).empty() && offers_pmix()) words.push_back("--mpi=pmix");
  words.insert(words.end(), command.begin(), command.end());
  const int code = relay.own_exit_code(run_shielded(words, settings, relay.pending_signal));
  const std::string reason = on_gpus(nodes) ? step_may_lose_gpus(version) : "";
  if (code == kRefused || code == kNotFound)
    throw UsageError("srun did not start the ranks (its message is above" + (reason.empty() ? "" : "; " + reason) +
                     "): start them by\n  " + line + "\nor use --ranks 1");
  return code;
}

}  // namespace

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
  for (int k = 0; k < count; ++k) ranks[static_cast<size_t>(k)] = wanted_ranks / count + (k < wanted_ranks % count);
  return ranks;
}

// A task sees all GPUs of its node (not --gpus-per-task: ranks that see one GPU each cannot map the others' memory).
// Where nodes have unequal numbers, which Slurm deals out by tasks or not at all, each shall have the mean.
std::string direct_line(const std::vector<StepNode>& nodes, const std::vector<int>& ranks, int cores_per_rank,
                        const std::vector<std::string>& command) {
  const int count = static_cast<int>(nodes.size());
  int gpus = 0;
  for (const StepNode& node : nodes) gpus += static_cast<int>(node.gpus.size());
  const int gpus_per_node = gpus > 0 ? std::max(1, gpus / count) : 0;
  std::vector<std::string> words = {"srun", "-N" + std::to_string(count)};
  if (equal(ranks))
    words.push_back("--ntasks-per-node=" + std::to_string(ranks[0]));
  else if (equal_gpus(nodes))
    words.push_back("-n" + std::to_string(total(ranks)));
  else
    words.push_back("--ntasks-per-node=" + std::to_string(gpus_per_node));
  if (gpus > 0) words.push_back("--gpus-per-node=" + std::to_string(gpus_per_node));
  if (cores_per_rank > 0) words.push_back("-c" + std::to_string(cores_per_rank));
  return join(words, " ") + " " + shell_line(command);
}

std::optional<std::array<int, 3>> slurm_version(const std::string& text) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(R"(\bslurm\S* (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?)")))
    return std::nullopt;
  return std::array{std::stoi(found[1]), std::stoi(found[2]), found[3].matched ? std::stoi(found[3]) : 0};
}

// Slurm 22.05: "srun --overlap now allows the step to share all resources", CPUs alone before.
std::string step_cannot_share(const std::string& version, const std::vector<StepNode>& nodes) {
  const auto numbers = slurm_version(version);
  const bool shares_cpus_only = numbers && *numbers < std::array{22, 5, 0};
  if (!shares_cpus_only || (!on_gpus(nodes) && nodes.front().memory == 0)) return "";
  return "before 22.05 two steps cannot share " + std::string(on_gpus(nodes) ? "GPUs" : "memory") + ", and this is " +
         version;
}

std::string step_may_lose_gpus(const std::string& version) {
  const auto numbers = slurm_version(version);
  if (!numbers || *numbers >= std::array{26, 5, 3}) return "";
  return "before 26.05.3 Slurm may do so where a job's cores are on fewer sockets than its GPUs, and this is " +
         version;
}

std::vector<std::string> srun_command(const Environment& environment, const std::vector<StepNode>& nodes,
                                      const std::vector<int>& ranks) {
  // --overlap and --overcommit: the tasks that wait for these ranks hold the cores.
  std::vector<std::string> words = {"srun",
                                    "--jobid=" + environment("SLURM_JOB_ID").value_or(""),
                                    "--overlap",
                                    "--overcommit",
                                    "--kill-on-bad-exit=1",
                                    std::string("--immediate=") + kPatience};
  if (const std::string plugin = mpi_plugin(environment); !plugin.empty()) words.push_back("--mpi=" + plugin);
  if (const std::string bind = cpu_bind(environment); !bind.empty()) words.push_back("--cpu-bind=" + bind);
  // All of the job's: of fewer, Slurm may choose others than the outer tasks have (keep_to_outer_step chooses).
  if (on_gpus(nodes)) {
    const std::string job_gpus = environment("SLURM_JOB_GPUS").value_or("");
    const size_t count = std::max(nodes[0].gpus.size(), job_gpus.empty() ? 0 : split(job_gpus, ',').size());
    words.push_back("--gpus-per-node=" + std::to_string(count));
  }
  // By the list of hosts: else Slurm places tasks where the job has cores, 3+1 instead of 2+2.
  words.insert(words.end(), {"--ntasks=" + std::to_string(total(ranks)), "--distribution=arbitrary"});
  return words;
}

std::string hosts_of_ranks(const std::vector<StepNode>& nodes, const std::vector<int>& ranks) {
  std::string hosts;
  for (size_t k = 0; k < nodes.size(); ++k)
    for (int rank = 0; rank < ranks[k]; ++rank) hosts += nodes[k].name + "\n";
  return hosts;
}

std::vector<std::string> inner_environment(const std::vector<std::string>& variables) {
  std::vector<std::string> kept;
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool launcher = name.starts_with("SLURM_") || name.starts_with("SLURMD_") || name.starts_with("SRUN_") ||
                          name.starts_with("PMIX_") || name.starts_with("PMI_") || name.starts_with("OMPI_COMM_WORLD_");
    // Settings of users and sites, which no launcher makes; of Open MPI's (OMPI_MCA_...) too. Of SLURM_CPU_BIND
    // srun_command makes an option.
    const bool setting = name.starts_with("PMIX_MCA_") || name == "PMI_MMAP_SYNC_WAIT_TIME" ||
                         name == "SLURM_NETWORK" || name == "SLURM_MEM_BIND";
    // What the job is, over its requeues; srun does not tell its tasks anew.
    const bool needed = name == "SLURM_JOB_ID" || name == "SLURM_CONF" || name == "SLURM_RESTART_COUNT" ||
                        name == "SLURM_JOB_START_TIME" || name == "SLURM_JOB_END_TIME" ||
                        name == "SLURM_CLUSTER_NAME" || name == "SLURM_ARRAY_JOB_ID" || name == "SLURM_ARRAY_TASK_ID";
    if (!launcher || setting || needed) kept.push_back(variable);
  }
  return kept;
}

std::string shortage(const std::vector<StepNode>& nodes, const std::vector<int>& ranks,
                     const std::vector<std::string>& command) {
  for (size_t k = 0; k < nodes.size(); ++k) {
    const StepNode& node = nodes[k];
    if (node.cores < ranks[k])
      return counted(ranks[k], "rank") + " share " + counted(node.cores, "core") + " of " + node.name +
             " (the job was granted no more): faster is\n  " + direct_line(nodes, ranks, 1, command);
    if (node.memory > 0 && node.memory < kRankMemory * ranks[k])
      return counted(ranks[k], "rank") + " share " + std::to_string(node.memory) + " MiB of " + node.name +
             " (the job was granted no more): safer is --mem=" + std::to_string(kRankMemory * ranks[k]) + "M or more";
  }
  return "";
}

std::optional<int> start_one_rank_per_device(Communicator& comm, const LaunchInfo& launch, const RankRequest& request,
                                             const std::vector<std::string>& command, const StopRelay& relay) {
  const Environment environment = process_environment();
  if (launch.launcher != "srun" || request.ranks == 1 || environment(kOuterStep)) return std::nullopt;

  std::string task;
  on_all_ranks(comm, [&] { task = describe_task(environment, request); });
  const std::vector<std::string> tasks = gather_texts(comm, task);
  std::vector<StepNode> nodes;
  std::vector<int> ranks;
  std::string version;
  const std::string decision = on_rank_zero(comm, [&]() -> std::string {
    nodes = step_nodes(tasks);
    ranks = plan_ranks(nodes, request.ranks);
    if (ranks.empty()) return "stay";
    const int devices =
        std::accumulate(nodes.begin(), nodes.end(), 0, [](int n, const auto& node) { return n + node.devices; });
    const std::string step =
        "this step has " + counted(devices, on_gpus(nodes) ? "GPU" : "core") + " and " + counted(comm.size(), "task");
    const std::string remedy =
        "\n  " + direct_line(nodes, ranks, 0, command) + "\nor use --ranks 1 for one device a task";
    if (!is_on_path("srun"))
      throw UsageError(
          step + ", and srun is not here to start the missing ranks (in a container?): outside of it, type" + remedy);
    version = trim(version_of_srun());
    if (const std::string why = step_cannot_share(version, nodes); !why.empty())
      throw UsageError(step + ", and Slurm cannot start the missing ranks within it (" + why + "): type" + remedy);
    if (on_gpus(nodes) && !equal_gpus(nodes))
      throw UsageError(step +
                       ", and the nodes have unequal numbers of GPUs (srun can start the missing ranks only on "
                       "equal ones): type" +
                       remedy);
    log::info("{}: starting again by srun with {}{}", step, counted(total(ranks), "rank"),
              equal(ranks) ? ", " + std::to_string(ranks[0]) + " a node" : "");
    if (const std::string warning = shortage(nodes, ranks, command); !warning.empty()) log::warn("{}", warning);
    return "start";
  });
  if (decision == "stay") return std::nullopt;

  // The other tasks wait without a collective that spins: the cores belong to the ranks. They may not end before, or
  // srun would end this one where WaitTime is set.
  int outcome[2] = {0, 0};  // exit code, and whether it was ours
  if (comm.rank() == 0) try {
      outcome[0] = run_srun(nodes, ranks, describe_step(nodes), version, command, relay);
    } catch (const Error& error) {
      outcome[0] = error.exit_code(), outcome[1] = 1;
      log::write(log::Level::common_error, error.what());
    }
  comm.broadcast_asleep(std::as_writable_bytes(std::span(outcome)), 0);
  if (outcome[1]) throw ReportedError(outcome[0]);
  return outcome[0];
}

bool can_run_under_srun() { return process_environment()("SLURM_JOB_ID") && is_on_path("srun"); }

int run_under_srun(int ranks, const std::vector<std::string>& command, const StopRelay& relay) {
  const Environment environment = process_environment();
  BackgroundCommand expand({"scontrol", "show", "hostnames", environment("SLURM_JOB_NODELIST").value_or("")});
  const std::vector<int> cpus = counts_per_node(environment, "SLURM_JOB_CPUS_PER_NODE");
  if (expand.wait(10) != 0)
    throw UsageError("the job's nodes are not known (scontrol show hostnames: " + printable(expand.output()) +
                     "): start the ranks by srun yourself");
  std::vector<StepNode> nodes;
  for (const std::string& name : split(trim(expand.output()), '\n')) {
    nodes.push_back({.name = name, .cores = nodes.size() < cpus.size() ? cpus[nodes.size()] : ranks});
    add_new(nodes.back().gpus, environment("SLURM_JOB_GPUS").value_or(""));
  }
  return run_srun(nodes, plan_ranks(nodes, ranks), "", "", command, relay);
}

bool shortage_is_known(const Environment& environment) { return !environment(kOuterStep).value_or("").empty(); }

void keep_to_outer_step() {
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
      if (std::find(outer.begin(), outer.end(), gpus.ids[k]) != outer.end()) {
        ids.push_back(gpus.ids[k]);
        visible.push_back(gpus.visible[k]);
      }
    if (ids.size() != outer.size()) throw_lost_gpus(environment, fields[0], fields[1], gpus);
    setenv("CUDA_VISIBLE_DEVICES", join(visible, ",").c_str(), 1);
    setenv("SLURM_STEP_GPUS", join(ids, ",").c_str(), 1);
    return;
  }
}

std::string idle_devices(const Environment& environment, const std::vector<std::string>& command) {
  if (!environment("SLURM_JOB_ID") || in_srun_step(environment)) return "";
  const int nodes = number(environment, "SLURM_JOB_NUM_NODES").value_or(1);
  const int per_node =
      std::max(gpu_count(environment, "SLURM_GPUS_ON_NODE"), gpu_count(environment, "SLURM_GPUS_PER_NODE"));
  const int gpus = std::max(nodes * per_node, gpu_count(environment, "SLURM_GPUS"));
  const std::vector<int> cpus = counts_per_node(environment, "SLURM_JOB_CPUS_PER_NODE");
  const int devices = gpus > 0 ? gpus : total(cpus);
  if (devices <= 1) return "";
  return "this job has " + counted(devices, gpus > 0 ? "GPU" : "CPU") + " on " + counted(nodes, "node") +
         ", and a start without srun uses one: \"srun " + shell_line(command) + "\" uses all";
}

}  // namespace drl
