#include "doctor/findings.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/gpu_identity.hpp"
#include "comm/mpi_library.hpp"
#include "comm/roll_call.hpp"
#include "report/format.hpp"
#include "run/preflight.hpp"

namespace drl {
namespace {

using fmt::format;

constexpr size_t kNamedPairs = 3;         // of ranks that do not hear each other
constexpr double kLittleSpace = 1 << 30;  // bytes
constexpr double kLittleTime = 5 * 60;    // s
constexpr double kSlowLoad = 5;           // s

// " on node2": the hosts of ranks that did not answer, as far as the others' numbers of neighbours tell.
std::string host_of_silent(const std::map<int, Presence>& present) {
  std::map<std::string, int> missing;
  for (const auto& [rank, one] : present) missing.try_emplace(one.host, one.local_size).first->second -= 1;
  std::vector<std::string> incomplete;
  for (const auto& [host, number] : missing)
    if (!host.empty() && number > 0) incomplete.push_back(host);
  return incomplete.empty() ? "" : " on " + join(incomplete, " or ");
}

// By parts of names without "cuda", which are HIP's too, or of words of ours.
std::string kernel_remedy(const std::string& reasons) {
  static constexpr std::pair<const char*, const char*> kRemedies[] = {
      {"NoKernelImage|InvalidDeviceFunction",
       "this build has no code for that GPU: build with -DDRL_CUDA_ARCHITECTURES of it (nvidia-smi "
       "--query-gpu=compute_cap says 9.0 for 90)"},
      {"UnsupportedPtxVersion|InsufficientDriver|CompatNotSupported",
       "the driver is older than this build's CUDA: load an older CUDA and build again, or have the driver updated"},
      {"OperatingSystem|Unknown", "is /dev/nvidia-uvm there, in the container too (nvidia-modprobe -u -c 0)?"},
      {"DevicesUnavailable",
       "another process has it for itself, or nobody may compute on it: see the compute mode by nvidia-smi -q -d "
       "COMPUTE, and the processes by nvidia-smi"},
      {"SystemNotReady", "the fabric manager does not run there: systemctl status nvidia-fabricmanager"},
      {"SystemDriverMismatch", "driver and its libraries have different versions: have the node rebooted"},
      {"Mps", "the MPS daemon does not answer: unset CUDA_MPS_PIPE_DIRECTORY, or tell whoever runs it"},
      {"no GPU memory|MemoryAllocation", "other processes fill its memory: see nvidia-smi"},
      {"InvalidDevice:|NoDevice",
       "CUDA_VISIBLE_DEVICES, MIG or the job's cgroup hide it: see nvidia-smi -L within the job"},
  };
  for (const auto& [parts, remedy] : kRemedies)
    if (std::regex_search(reasons, std::regex(parts))) return remedy;
  return "what the driver says is in \"dmesg | grep -i xid\" there (ask the administrator); leave the node out (srun "
         "--exclude=NODE), and have its GPU looked at";
}

}  // namespace

Check silence(const std::vector<int>& ranks, const std::vector<std::string>& hosts, double seconds) {
  return {Status::failed, "no answer from " + ranks_text(ranks, hosts) + " within " + human_number(seconds) + " s",
          "look at these processes (ps, top): stopped, swapping, or waiting for a file system? Without "
          "that node: srun --exclude=NODE"};
}

Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived,
                    double seconds) {
  Check check{Status::failed,
              format("rank {} of {} ({}) has been in MPI_Init for {} s", launch.rank, launch.world_size, host,
                     human_number(seconds)),
              "see by \"ps\" on each node which ranks have not started the program, and try one node alone",
              "MPI start"};
  std::vector<int> missing;
  for (int rank = 0; rank < launch.world_size; ++rank)
    if (std::ranges::find(arrived, rank) == arrived.end()) missing.push_back(rank);
  if (missing.empty()) {
    check.remedy =
        "all ranks have started, but do not find each other: compare MPI and launcher on all nodes "
        "(srun --mpi=list), and try one node alone";
  } else if (!arrived.empty()) {
    check.finding += "; " + ranks_text(missing, {}) + " never arrived";
    check.remedy = format(
        "look for {} (srun -l shows its messages; is the program on that node, does its file system answer?); without "
        "that node: srun --exclude=NODE",
        ranks_text(missing, {}));
  }
  return check;
}

Check exchange_finding(int ranks, const std::map<int, Presence>& present, double seconds) {
  const std::string in_time = " within " + human_number(seconds) + " s";
  std::vector<int> silent;
  for (int rank = 0; rank < ranks; ++rank)
    if (!present.contains(rank)) silent.push_back(rank);
  if (!silent.empty())
    return {Status::failed, "no answer from " + ranks_text(silent, {}) + host_of_silent(present) + in_time,
            "look at that node (is the process stopped, does the network reach it?); without it: srun --exclude=NODE"};

  std::vector<std::string> pairs, hosts;
  for (const auto& [rank, one] : present) {
    hosts.push_back(one.host);
    for (int peer : one.missed)
      pairs.push_back(format("rank {} of {} to {} of {}", peer, present.at(peer).host, rank, one.host));
  }
  if (!pairs.empty()) {
    const size_t all = pairs.size();
    pairs.resize(std::min(all, kNamedPairs));
    return {Status::failed,
            "no messages" + in_time + " from " + join(pairs, ", ") +
                (all > kNamedPairs ? format(" and {} more", all - kNamedPairs) : ""),
            "the nodes do not reach each other by the network that MPI took: open the firewall between them, or name "
            "another network: " +
                network_variables()};
  }
  if (ranks == 1) return {Status::ok, "1 rank, no other to talk to"};
  return {Status::ok, format("{} ranks on {}, and all answer", ranks, counted(std::ssize(groups_of(hosts)), "node"))};
}

Check build_finding(const std::vector<RankFacts>& ranks) {
  const std::string difference = build_difference(column(ranks, &RankFacts::build), column(ranks, &RankFacts::host));
  if (difference.empty()) return {Status::ok, "drl " + ranks.front().build};
  return {Status::failed, difference, kOneBuild};
}

Check hardware_finding(const std::vector<RankFacts>& ranks) {
  const std::string difference = hardware_difference(column(ranks, &RankFacts::cpu_model),
                                                     column(ranks, &RankFacts::gpu), column(ranks, &RankFacts::host));
  if (!difference.empty()) return {Status::warning, difference, kOneKind};
  const RankFacts& first = ranks.front();
  return {Status::ok, first.cpu_model + (first.gpu.empty() ? "" : ", " + first.gpu)};
}

Check library_finding(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> libraries;
  for (const RankFacts& rank : ranks)
    libraries.push_back((rank.blas.empty() ? "" : rank.blas + ", ") + rank.mpi +
                        (rank.cuda.empty() ? "" : ", CUDA " + rank.cuda));
  if (groups_of(libraries).size() > 1)
    return {Status::warning, "they differ: " + by_text(libraries, column(ranks, &RankFacts::host)),
            "the slowest sets the pace, MPI versions may not understand each other, and runs repeat to the bit only "
            "with equal ones: load the same modules on all nodes"};
  if (const std::string& trouble = ranks.front().torch_trouble; !trouble.empty())
    return check_of_message(Status::warning, trouble);
  if (ranks.front().reference_blas)
    return {Status::warning, "matrix products run on the reference BLAS, 4 to 5 times slower than others",
            "install OpenBLAS on all nodes (Debian: libopenblas0-pthread)"};
  return {Status::ok, libraries.front()};
}

Check load_finding(const std::vector<RankFacts>& ranks) {
  const RankFacts& slowest = *std::ranges::max_element(ranks, {}, &RankFacts::load);
  if (slowest.load < 0) return {Status::skipped, "not known (/proc/self/stat does not tell it)"};
  const std::string seconds = human_time(slowest.load);
  if (slowest.load < kSlowLoad)
    return {Status::ok, (ranks.size() == 1 ? "" : "at most ") + seconds + " from start to main"};
  return {
      Status::warning,
      seconds + " from start to main of " + ranks_text({slowest.rank}, column(ranks, &RankFacts::host)) +
          ", the slowest",
      "unless ranks share cores (see \"placement\"), the file system of the program and its libraries is slow: look "
      "at it there, or let the batch scripts copy drl to the nodes (DRL_SBCAST)"};
}

Check folder_finding(const std::string& folder, const std::vector<FolderVisit>& visits,
                     const std::vector<std::string>& hosts, double free_bytes, bool lock_file) {
  const std::string shared = "name a folder of a file system that all nodes have, by --runs_dir or DRL_RUNS_DIR";
  std::vector<int> blind;
  std::vector<std::string> lockless;
  for (size_t rank = 0; rank < visits.size(); ++rank) {
    if (!visits[rank].trouble.empty()) blind.push_back(static_cast<int>(rank));
    if (visits[rank].second_lock) lockless.push_back(hosts[rank]);
  }
  if (!blind.empty())
    return {Status::failed,
            format("{} is not shared: {} cannot read what {} wrote ({})", folder, ranks_text(blind, hosts),
                   hosts.front(), visits[static_cast<size_t>(blind.front())].trouble),
            shared};
  if (!lockless.empty())
    return {Status::warning, format("{}: {}'s lock does not hold on {}", folder, hosts.front(), join(lockless, ", ")),
            "two jobs could write one run: mount it with locks (NFS: without nolock; Lustre: flock), or never start a "
            "run twice"};
  const std::string space = human_bytes(free_bytes) + " free";
  if (free_bytes < kLittleSpace) return {Status::warning, folder + ": only " + space, "make room, or " + shared};
  const bool one_node = groups_of(hosts).size() == 1;
  return {Status::ok, format("{}: {}, {}, {}", folder, one_node ? "writable" : "all nodes read it",
                             lock_file  ? "locked by a file (the file system has no locks)"
                             : one_node ? "with the file system's locks"
                                        : "its lock holds",
                             space)};
}

Check time_finding(const std::string& job, std::optional<double> seconds_left) {
  if (job.empty()) return {Status::ok, "not in a Slurm job, no limit known"};
  if (!seconds_left)
    return {Status::warning, "the end of job " + job + " is not known (squeue did not tell)",
            "let Slurm warn the run: sbatch --signal=USR1@120"};
  if (std::isinf(*seconds_left)) return {Status::ok, "job " + job + " has no limit"};
  const std::string left = human_duration(*seconds_left) + " of job " + job;
  if (*seconds_left >= kLittleTime) return {Status::ok, left};
  return {Status::warning, "only " + left,
          "drl_train saves and stops a minute before the end: ask for more by -t HOURS:00:00"};
}

Check slurm_finding(const std::string& job, const std::string& version, const std::string& record) {
  const std::string first = (version.empty() ? "of unknown version" : version) + "; ";
  for (const auto& [field, meaning] :
       {std::pair{" BatchFlag=0", " is no batch job (Slurm requeues only those)"},
        {" Requeue=1", " may be requeued"},
        {" Requeue=0", " may not be requeued (the batch scripts submit a follow-up job)"}})
    if (record.find(field) != std::string::npos) return {Status::ok, first + "job " + job + meaning};
  return {Status::ok, first + "whether job " + job + " may be requeued is not known (scontrol did not tell)"};
}

Check gpus_finding(const std::vector<RankFacts>& ranks, const CudaSupport& cuda, bool wants_cpu) {
  std::vector<int> without;
  std::vector<GpuIdentity> gpus;
  for (const RankFacts& rank : ranks) {
    GpuIdentity& gpu = gpus.emplace_back(rank);
    gpu.build.clear();  // a check of its own
    // One that tells nothing of itself is no other rank's.
    if (gpu.pci.empty()) gpu.pci = "unknown, of rank " + std::to_string(rank.rank);
    if (rank.device == "cpu") without.push_back(rank.rank);
  }
  if (wants_cpu) return {Status::skipped, "the ranks shall compute on the CPU (--device, --gpu_ids)"};
  if (without.size() == ranks.size())
    return {Status::skipped,
            cuda.devices == 0 ? "there is none (" + cuda.trouble + ")" : "no rank has one: see \"placement\""};
  if (!without.empty())
    return {Status::failed, ranks_text(without, column(ranks, &RankFacts::host)) + " found no GPU, the others did",
            "see nvidia-smi there; without that node: srun --exclude=NODE"};
  try {
    check_identities(gpus, false);
  } catch (const UsageError& error) {
    return check_of_message(Status::failed, error.what());
  }
  return {Status::ok, format("{}, each with a GPU of its own: NCCL {}, driver {}", counted(std::ssize(ranks), "rank"),
                             ranks.front().nccl, ranks.front().driver)};
}

Check kernel_finding(const std::vector<std::string>& reasons, const std::vector<std::string>& hosts) {
  const std::string failed = by_text(reasons, hosts);
  if (!failed.empty()) return {Status::failed, "no right result: " + failed, kernel_remedy(failed)};
  return {Status::ok, "right results on " + counted(std::ssize(reasons), "GPU")};
}

}  // namespace drl
