#include "doctor/findings.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/gpu_identity.hpp"
#include "comm/mpi_library.hpp"
#include "comm/roll_call.hpp"
#include "gpu/remedies.hpp"
#include "gpu/vendor.hpp"
#include "report/format.hpp"
#include "run/preflight.hpp"

namespace drl {
namespace {

using fmt::format;

constexpr size_t kMaxPairsShown = 3;   // of ranks that cannot reach each other, in one finding
constexpr double kLowSpace = 1 << 30;  // bytes
constexpr double kLowTime = 5 * 60;    // s
constexpr double kSlowLoad = 5;        // s

// Returns " on node2", the hosts on which fewer ranks are present than the launcher started; "" if none can be deduced.
std::string hosts_of_missing_ranks(const std::map<int, RollCallAnswer>& present) {
  std::map<std::string, int> missing;
  for (const auto& [rank, one] : present) missing.try_emplace(one.host, one.local_size).first->second -= 1;
  std::vector<std::string> incomplete;
  for (const auto& [host, number] : missing)
    if (!host.empty() && number > 0) incomplete.push_back(host);
  return incomplete.empty() ? "" : " on " + join(incomplete, " or ");
}

// Returns why ranks have no GPU. Texts that are the same on all ranks are not followed by ranks.
std::string why_no_gpu(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> reasons;
  for (const RankFacts& rank : ranks)
    reasons.push_back(rank.device != "cpu"       ? ""
                      : !rank.other_gpus.empty() ? rank.other_gpus + " GPUs, which drl cannot use"
                                                 : rank.cuda_trouble);
  return groups_of(reasons).size() == 1 ? reasons.front() : values_with_ranks(reasons, column(ranks, &RankFacts::host));
}

void add_once(std::vector<std::string>& all, const std::string& one) {
  if (!contains(all, one)) all.push_back(one);
}

// Returns the finding if no rank has a GPU. A driver that cannot be used has a remedy.
Check no_gpu_finding(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> remedies;
  for (const RankFacts& rank : ranks)
    if (!rank.cuda_remedy.empty()) add_once(remedies, rank.cuda_remedy);
  if (!remedies.empty())
    return {Status::warning, "no GPU can be used (" + why_no_gpu(ranks) + ")", join(remedies, "; ")};
  if (const std::string others = other_gpus_text(ranks); !others.empty()) return {Status::skipped, others};
  if (std::ranges::all_of(ranks, [](const RankFacts& rank) { return rank.cuda_trouble.empty(); }))
    return {Status::skipped, "no rank uses a GPU, see \"placement\""};  // the placement failed
  return {Status::skipped, "no GPU found (" + why_no_gpu(ranks) + ")"};
}

// Returns what to do about ranks without a GPU, if others have one.
std::string missing_gpu_remedy(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> hosts, remedies, unexplained;
  for (const RankFacts& rank : ranks) {
    if (rank.device != "cpu") continue;
    add_once(hosts, rank.host);
    if (!rank.other_gpus.empty())
      add_once(remedies, format("use nodes with {} GPUs only", kGpuVendor.name));
    else if (!rank.cuda_remedy.empty())
      add_once(remedies, rank.cuda_remedy);
    else
      add_once(unexplained, rank.host);
  }
  if (!unexplained.empty()) remedies.push_back(format("run {} on {}", kGpuVendor.show_gpus, join(unexplained, ", ")));
  return join(remedies, "; ") + "; to run without " + (hosts.size() == 1 ? "this node" : "these nodes") +
         ", use srun --exclude=" + join(hosts, ",");
}

}  // namespace

Check no_answer_finding(const std::vector<int>& ranks, const std::vector<std::string>& hosts, double seconds) {
  return {Status::failed, "no answer from " + ranks_text(ranks, hosts) + " within " + human_number(seconds) + " s",
          "look at these processes with ps or top: they may be stopped, swapping or waiting for a file system; to "
          "leave the node out, use srun --exclude=NODE"};
}

Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived,
                    double seconds) {
  Check check{Status::failed,
              format("rank {} of {} ({}) has been in MPI_Init for {} s", launch.rank, launch.world_size, host,
                     human_number(seconds)),
              "run ps on each node to see which ranks have not started, and try each node alone", "MPI start"};
  std::vector<int> missing;
  for (int rank = 0; rank < launch.world_size; ++rank)
    if (std::ranges::find(arrived, rank) == arrived.end()) missing.push_back(rank);
  if (missing.empty()) {
    check.remedy =
        "all ranks have started but cannot connect: check that all nodes use the same MPI and launcher (srun "
        "--mpi=list), and try each node alone";
  } else if (!arrived.empty()) {
    check.finding += "; " + ranks_text(missing, {}) + " never arrived";
    check.remedy = format(
        "find out why {} did not start: srun -l shows its messages; check that the program exists on that node and "
        "that its file systems respond; to leave the node out, use srun --exclude=NODE",
        ranks_text(missing, {}));
  }
  return check;
}

Check exchange_finding(int ranks, const std::map<int, RollCallAnswer>& present, double seconds) {
  const std::string in_time = " within " + human_number(seconds) + " s";
  std::vector<int> unanswered;
  for (int rank = 0; rank < ranks; ++rank)
    if (!present.contains(rank)) unanswered.push_back(rank);
  if (!unanswered.empty())
    return {Status::failed, "no answer from " + ranks_text(unanswered, {}) + hosts_of_missing_ranks(present) + in_time,
            "check on that node that the process is running and that the network reaches the node; to leave it out, "
            "use srun --exclude=NODE"};

  std::vector<std::string> pairs, hosts;
  for (const auto& [rank, one] : present) {
    hosts.push_back(one.host);
    for (int peer : one.missing_peers)
      pairs.push_back(format("rank {} on {} to rank {} on {}", peer, present.at(peer).host, rank, one.host));
  }
  if (!pairs.empty()) {
    const size_t all = pairs.size();
    pairs.resize(std::min(all, kMaxPairsShown));
    return {Status::failed,
            "no messages" + in_time + " from " + join(pairs, ", ") +
                (all > kMaxPairsShown ? format(" and {} more", all - kMaxPairsShown) : ""),
            "the nodes cannot reach each other over the network that MPI chose: open the firewall between them, or "
            "choose another network: " +
                network_variables()};
  }
  if (ranks == 1) return {Status::ok, "only 1 rank, nothing to exchange"};
  return {Status::ok, format("all {} ranks on {} answer", ranks, counted(std::ssize(groups_of(hosts)), "node"))};
}

Check build_finding(const std::vector<RankFacts>& ranks) {
  const std::string difference = build_difference(column(ranks, &RankFacts::build), column(ranks, &RankFacts::host));
  if (difference.empty()) return {Status::ok, "drl " + ranks.front().build};
  return {Status::failed, difference, kSameBuildAdvice};
}

Check hardware_finding(const std::vector<RankFacts>& ranks) {
  const std::string difference = hardware_difference(column(ranks, &RankFacts::cpu_model),
                                                     column(ranks, &RankFacts::gpu), column(ranks, &RankFacts::host));
  if (!difference.empty()) return {Status::warning, difference, kSameHardwareAdvice};
  const RankFacts& first = ranks.front();
  return {Status::ok, first.cpu_model + (first.gpu.empty() ? "" : ", " + first.gpu)};
}

Check library_finding(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> libraries;
  for (const RankFacts& rank : ranks)
    libraries.push_back((rank.blas.empty() ? "" : rank.blas + ", ") + rank.mpi +
                        (rank.cuda.empty() ? "" : format(", {} {}", kGpuVendor.runtime, rank.cuda)));
  if (groups_of(libraries).size() > 1)
    return {Status::warning, "libraries differ: " + values_with_ranks(libraries, column(ranks, &RankFacts::host)),
            "load the same modules on all nodes (different MPI versions may not work together, the slowest library "
            "slows all ranks down, and runs are bit-identical only with equal libraries)"};
  if (const std::string& trouble = ranks.front().torch_trouble; !trouble.empty())
    return check_of_message(Status::warning, trouble);
  if (ranks.front().reference_blas)
    return {Status::warning, "libtorch uses the reference BLAS, whose matrix products are 4 to 5 times slower",
            "install OpenBLAS on all nodes (on Debian: apt install libopenblas0-pthread)"};
  return {Status::ok, libraries.front()};
}

Check load_finding(const std::vector<RankFacts>& ranks) {
  const RankFacts& slowest = *std::ranges::max_element(ranks, {}, &RankFacts::load);
  if (slowest.load < 0) return {Status::skipped, "unknown (/proc/self/stat has no start time)"};
  const std::string seconds = human_time(slowest.load);
  if (slowest.load < kSlowLoad)
    return {Status::ok, (ranks.size() == 1 ? "" : "at most ") + seconds + " from start to main"};
  return {Status::warning,
          seconds + " from start to main on the slowest rank, " +
              ranks_text({slowest.rank}, column(ranks, &RankFacts::host)),
          "check whether ranks share cores (see \"placement\"); if not, the file system with the program and its "
          "libraries is slow: let the batch scripts copy drl to the nodes (export DRL_SBCAST=1)"};
}

Check run_directory_finding(const std::string& folder, const std::vector<DirectoryProbe>& probes,
                            const std::vector<std::string>& hosts, double free_bytes, bool lock_file) {
  const std::string shared =
      "choose a directory on a file system that all nodes share, with --runs_dir or DRL_RUNS_DIR";
  std::vector<int> unable;
  std::vector<std::string> without_locks;
  for (size_t rank = 0; rank < probes.size(); ++rank) {
    if (!probes[rank].error.empty()) unable.push_back(static_cast<int>(rank));
    if (probes[rank].locked_twice) without_locks.push_back(hosts[rank]);
  }
  if (!unable.empty())
    return {Status::failed,
            format("{} is not shared: {} cannot read a directory that {} created ({})", folder,
                   ranks_text(unable, hosts), hosts.front(), probes[unable.front()].error),
            shared};
  if (!without_locks.empty())
    return {Status::warning,
            format("{}: a lock held by {} is ignored on {}", folder, hosts.front(), join(without_locks, ", ")),
            "two jobs could write to the same run: mount the file system with locks (NFS: without nolock; Lustre: "
            "flock), or make sure that no run is started twice"};
  const std::string space = human_bytes(free_bytes) + " free";
  if (free_bytes < kLowSpace) return {Status::warning, folder + ": only " + space, "free some space, or " + shared};
  const bool one_node = groups_of(hosts).size() == 1;
  return {Status::ok, format("{}: {}, {}, {}", folder, one_node ? "writable" : "readable on all nodes",
                             lock_file  ? "locked by a lock file (the file system has no locks)"
                             : one_node ? "locked by the file system"
                                        : "locks work across nodes",
                             space)};
}

Check time_finding(const std::string& job, std::optional<double> seconds_left) {
  if (job.empty()) return {Status::ok, "no limit (not in a Slurm job)"};
  if (!seconds_left)
    return {Status::warning, "the end time of job " + job + " is unknown (squeue did not report it)",
            "let Slurm signal the run before its end: sbatch --signal=USR1@120"};
  if (std::isinf(*seconds_left)) return {Status::ok, "job " + job + " has no time limit"};
  const std::string left = human_duration(*seconds_left) + " left in job " + job;
  if (*seconds_left >= kLowTime) return {Status::ok, left};
  return {Status::warning, "only " + left,
          "ask for more time, with -t HOURS:00:00 (drl_train saves and stops before the job ends, see --time_margin)"};
}

Check slurm_finding(const std::string& job, const std::string& version, const std::string& record) {
  const std::string first = (version.empty() ? "unknown version" : version) + "; ";
  for (const auto& [field, meaning] :
       {std::pair{" BatchFlag=0", " is not a batch job (Slurm requeues only batch jobs)"},
        {" Requeue=1", " can be requeued"},
        {" Requeue=0", " cannot be requeued (the batch scripts submit a follow-up job instead)"}})
    if (record.find(field) != std::string::npos) return {Status::ok, first + "job " + job + meaning};
  return {Status::ok, first + "scontrol did not report whether job " + job + " can be requeued"};
}

std::string other_gpus_text(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> vendors;
  for (const RankFacts& rank : ranks) vendors.push_back(rank.other_gpus.empty() ? "" : rank.other_gpus + "'s");
  const std::string which = values_with_ranks(vendors, column(ranks, &RankFacts::host));
  return which.empty() ? ""
                       : format("the GPUs are {}, and this build of drl runs on {} GPUs only", which, kGpuVendor.name);
}

Check gpus_finding(const std::vector<RankFacts>& ranks, bool wants_cpu) {
  std::vector<int> without;
  std::vector<std::string> troubles;
  std::vector<GpuIdentity> gpus;
  for (const RankFacts& rank : ranks) {
    GpuIdentity& gpu = gpus.emplace_back(rank);
    gpu.build.clear();  // builds have their own check
    // A GPU without a PCI address must not be taken for another rank's GPU.
    if (gpu.pci.empty()) gpu.pci = "unknown GPU of rank " + std::to_string(rank.rank);
    if (rank.device == "cpu") without.push_back(rank.rank);
    troubles.push_back(rank.gpu_trouble);
  }
  if (wants_cpu) return {Status::skipped, "the options select the CPU (--device, --gpu_ids)"};
  if (without.size() == ranks.size()) return no_gpu_finding(ranks);
  if (!without.empty())
    return {Status::failed, "only some ranks have a GPU: " + why_no_gpu(ranks), missing_gpu_remedy(ranks)};
  Check libraries{Status::failed, ""};
  for (std::string& trouble : troubles) {
    if (trouble.empty()) continue;
    const Check check = check_of_message(Status::failed, trouble);
    trouble = check.finding, libraries.remedy = check.remedy;
  }
  libraries.finding = values_with_ranks(troubles, column(ranks, &RankFacts::host));
  if (!libraries.finding.empty()) return libraries;
  try {
    check_identities(gpus, false);
  } catch (const UsageError& error) {
    return check_of_message(Status::failed, error.what());
  }
  return {Status::ok, format("{}, each with its own GPU; {} {}, driver {}", counted(std::ssize(ranks), "rank"),
                             kGpuVendor.collectives, ranks.front().nccl, ranks.front().driver)};
}

Check gpu_setup_finding(const std::vector<RankFacts>& ranks) {
  std::vector<Check> checks;
  const auto add = [&](Status status, const std::string& message) {
    if (!message.empty()) checks.push_back(check_of_message(status, message));
  };
  std::vector<NcclRank> all_ranks;
  for (const RankFacts& rank : ranks) all_ranks.push_back({rank.host, true, rank.visible_gpus, rank.cores});
  const NcclWarnings slow = slow_nccl_warnings(all_ranks);
  std::string order;
  for (const RankFacts& rank : ranks)
    if (kGpuVendor.pci == kNvidia.pci && order.empty() && rank.device_order != "PCI_BUS_ID")
      order = format(
          "CUDA_DEVICE_ORDER is {} on {} (Slurm and drl number GPUs by PCI_BUS_ID, so ranks may compute on GPUs that "
          "are far from their cores): unset CUDA_DEVICE_ORDER",
          printable(rank.device_order), rank.host);
  add(Status::failed, slow.one_core);
  add(Status::warning, slow.hidden_gpus);
  add(Status::warning, order);
  if (checks.empty() && ranks.size() == 1) return {Status::ok, "only 1 rank, nothing to communicate"};
  if (checks.empty()) return {Status::ok, "no setting was found that makes NCCL slow"};
  Check all = checks.front();
  for (size_t k = 1; k < checks.size(); ++k)
    all.finding += "; " + checks[k].finding, all.remedy += "; " + checks[k].remedy;
  return all;
}

Check kernel_finding(const std::vector<std::string>& reasons, const std::vector<std::string>& hosts) {
  const std::string failed = values_with_ranks(reasons, hosts);
  if (!failed.empty()) return {Status::failed, "a test kernel failed: " + failed, gpu_remedy(failed)};
  return {Status::ok, "a test kernel gave correct results on " + counted(std::ssize(reasons), "GPU")};
}

}  // namespace drl
