#include "doctor/gpu_findings.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cluster/gpu_identity.hpp"
#include "cluster/roll_call.hpp"
#include "doctor/findings.hpp"

namespace drl {
namespace {

constexpr const char* kDrain = "leave the node out (srun --exclude=NODE), and have its GPU looked at";

std::vector<std::string> hosts_of_ranks(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> hosts;
  for (const RankFacts& rank : ranks) hosts.push_back(rank.host);
  return hosts;
}

// A GPU that tells nothing of itself is no other rank's. Builds have a check of their own.
GpuIdentity identity_of(const RankFacts& rank) {
  const std::string place = rank.pci.empty() ? "unknown, of rank " + std::to_string(rank.rank) : rank.pci;
  return {rank.host, rank.gpu, rank.uuid, place, rank.driver, rank.nccl, ""};
}

// What check_identities says of the ranks, as a check; its finding is empty if it says nothing.
Check refusal(const std::string& check, const std::vector<GpuIdentity>& ranks, bool may_share) {
  try {
    check_identities(ranks, may_share);
    return {check, Status::ok, ""};
  } catch (const UsageError& error) {
    return check_of_message(check, Status::failed, error.what());
  }
}

// "A (rank 1 on n1), B (rank 2 on n2)" of the ranks whose text is not empty.
std::string said_by(const std::vector<std::string>& texts, const std::vector<std::string>& hosts) {
  std::vector<std::string> said;
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    if (!text.empty() && std::ranges::find(said, text) == said.end()) said.push_back(text);
  for (const std::string& text : said) {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < texts.size(); ++rank)
      if (texts[rank] == text) ranks.push_back(static_cast<int>(rank));
    parts.push_back(text + " (" + ranks_text(ranks, hosts) + ")");
  }
  return join(parts, ", ");
}

// Where NVML says nothing of any GPU: why. Of some GPUs is enough.
std::string nothing_known(const std::vector<GpuHealth>& gpus, int64_t GpuHealth::*what) {
  if (std::ranges::any_of(gpus, [&](const GpuHealth& gpu) { return gpu.*what != GpuHealth::kUnknown; })) return "";
  return gpus.front().trouble.empty() ? "not known (NVML does not tell it of this GPU)"
                                      : "not known (" + gpus.front().trouble + ")";
}

// One text of each GPU, empty where all is well.
std::vector<std::string> texts_of(const std::vector<GpuHealth>& gpus,
                                  const std::function<std::string(const GpuHealth&)>& text) {
  std::vector<std::string> texts;
  for (const GpuHealth& gpu : gpus) texts.push_back(text(gpu));
  return texts;
}

std::string kernel_remedy(const std::string& reasons) {
  struct Remedy {
    const char *part, *remedy;
  };
  static constexpr const char* kBuildForIt =
      "this build has no code for that GPU: build with -DDRL_CUDA_ARCHITECTURES of it (nvidia-smi "
      "--query-gpu=compute_cap says 9.0 for 90)";
  // Names without "cuda", which are HIP's too, and words of ours.
  static constexpr Remedy kRemedies[] = {
      {"NoKernelImage", kBuildForIt},
      {"InvalidDeviceFunction", kBuildForIt},
      {"UnsupportedPtxVersion",
       "the driver is older than this build's CUDA: load an older CUDA and build again, or "
       "have the driver updated"},
      {"InsufficientDriver",
       "the driver is older than this build's CUDA: load an older CUDA and build again, or have "
       "the driver updated"},
      {"CompatNotSupported",
       "the driver is older than this build's CUDA, and this GPU knows no forward compatibility: load an older CUDA "
       "and "
       "build again"},
      {"OperatingSystem", "is /dev/nvidia-uvm there, in the container too (nvidia-modprobe -u -c 0)?"},
      {"Unknown", "is /dev/nvidia-uvm there, in the container too (nvidia-modprobe -u -c 0)?"},
      {"DevicesUnavailable",
       "another process has it for itself, or nobody may compute on it: see the compute mode by "
       "nvidia-smi -q -d COMPUTE, and the processes by nvidia-smi"},
      {"SystemNotReady", "the fabric manager does not run there: systemctl status nvidia-fabricmanager"},
      {"SystemDriverMismatch", "driver and its libraries have different versions: have the node rebooted"},
      {"Mps", "the MPS daemon does not answer: unset CUDA_MPS_PIPE_DIRECTORY, or tell whoever runs it"},
      {"no GPU memory", "other processes fill it: see nvidia-smi"},
      {"MemoryAllocation", "other processes fill its memory: see nvidia-smi"},
      {"InvalidDevice:", "CUDA_VISIBLE_DEVICES, MIG or the job's cgroup hide it: see nvidia-smi -L within the job"},
      {"NoDevice", "CUDA_VISIBLE_DEVICES, MIG or the job's cgroup hide it: see nvidia-smi -L within the job"},
  };
  for (const auto& [part, remedy] : kRemedies)
    if (reasons.find(part) != std::string::npos) return remedy;
  return "what the driver says is in \"dmesg | grep -i xid\" there (ask the administrator); " + std::string(kDrain);
}

std::string others_text(const GpuHealth& gpu) {
  if (gpu.others <= 0) return "";
  std::vector<std::string> pids;
  for (unsigned pid : gpu.pids) pids.push_back(std::to_string(pid));
  return std::string(gpu.others == 1 ? "process " : "processes ") + join(pids, ", ") +
         (gpu.others_bytes ? " with " + human_bytes(static_cast<double>(gpu.others_bytes)) : "");
}

std::string memory_text(const GpuHealth& gpu) {
  std::vector<std::string> parts;
  if (gpu.worn_out == 1) parts.push_back("memory rows could not be replaced");
  if (gpu.uncorrected > 0) parts.push_back(counted(gpu.uncorrected, "uncorrected ECC error"));
  if (gpu.pending == 1) parts.push_back("memory to be replaced at the next reset");
  return join(parts, " and ");
}

// Hardware slowdown stands for heat or the power brake too, where these are told.
std::string slowdown_text(const GpuHealth& gpu) {
  if (gpu.slowdowns == GpuHealth::kUnknown) return "";
  std::vector<std::string> parts;
  if (gpu.slowdowns & (kHardwareHeat | kSoftwareHeat)) parts.push_back("heat");
  if (gpu.slowdowns & kPowerBrake) parts.push_back("the power brake");
  if (gpu.slowdowns & kHardware && parts.empty()) parts.push_back("a hardware slowdown");
  return join(parts, " and ");
}

}  // namespace

Check gpu_users_finding(const std::vector<RankFacts>& ranks, const CudaSupport& cuda, bool wants_cpu) {
  std::vector<int> without;
  for (const RankFacts& rank : ranks)
    if (rank.device == "cpu") without.push_back(rank.rank);
  const auto skipped = [](const std::string& why) { return Check{"GPUs", Status::skipped, why}; };
  if (wants_cpu) return skipped("the ranks shall compute on the CPU (--device, --gpu_ids)");
  if (without.size() == ranks.size())
    return skipped(cuda.devices == 0 ? "there is none (" + cuda.trouble + ")" : "no rank has one: see \"placement\"");
  if (without.empty()) return {"GPUs", Status::ok, counted(std::ssize(ranks), "rank") + ", each with a GPU"};
  return {"GPUs", Status::failed, ranks_text(without, hosts_of_ranks(ranks)) + " found no GPU, the others did",
          "see nvidia-smi there; without that node: srun --exclude=NODE"};
}

Check gpu_sharing_finding(const std::vector<RankFacts>& ranks, bool may_share) {
  std::vector<GpuIdentity> identities;
  for (const RankFacts& rank : ranks) {
    identities.push_back(identity_of(rank));
    identities.back().driver = identities.back().nccl = "";
  }
  Check check = refusal("GPU sharing", identities, may_share);
  if (check.status == Status::ok)
    check.finding = may_share ? "allowed by DRL_TEST_SHARE_GPU" : "each rank has a GPU of its own";
  return check;
}

Check gpu_library_finding(const std::vector<RankFacts>& ranks) {
  std::vector<GpuIdentity> identities;
  std::vector<std::string> runtimes;
  for (const RankFacts& rank : ranks) {
    identities.push_back(identity_of(rank));
    runtimes.push_back("CUDA " + rank.cuda);
  }
  Check check = refusal("GPU libraries", identities, true);
  if (check.status != Status::ok) return check;
  if (std::ranges::count(runtimes, runtimes.front()) != std::ssize(runtimes))
    return {"GPU libraries", Status::warning, "they differ: " + by_value(runtimes, hosts_of_ranks(ranks)),
            "runs repeat to the bit only with equal ones: load the same modules on all nodes"};
  check.finding = runtimes.front() + ", NCCL " + ranks.front().nccl + ", driver " + ranks.front().driver;
  return check;
}

std::string runtime_reason(const std::string& message) {
  const std::string prefix = "the GPU failed (";
  if (message.starts_with(prefix)) return message.substr(prefix.size(), message.rfind(", in ") - prefix.size());
  const size_t end = message.find("): ");
  return end == std::string::npos ? message : message.substr(0, end + 1);
}

Check runtime_finding(const std::string& check, const std::vector<std::string>& reasons,
                      const std::vector<std::string>& hosts) {
  const std::string failed = said_by(reasons, hosts);
  if (!failed.empty()) return {check, Status::failed, "no right result: " + failed, kernel_remedy(failed)};
  return {check, Status::ok, "right results on " + counted(std::ssize(reasons), "GPU")};
}

Check processes_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts) {
  const std::string unknown = nothing_known(gpus, &GpuHealth::others);
  if (!unknown.empty()) return {"GPU processes", Status::skipped, unknown};
  const std::string others = said_by(texts_of(gpus, others_text), hosts);
  if (others.empty()) return {"GPU processes", Status::ok, "no others"};
  return {"GPU processes", Status::warning, "others compute there too: " + others,
          "they take time and memory: look for them by nvidia-smi and ps; without that node: srun --exclude=NODE"};
}

Check memory_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts) {
  const std::string errors = said_by(texts_of(gpus, memory_text), hosts);
  const std::string unknown = nothing_known(gpus, &GpuHealth::uncorrected);
  if (errors.empty() && !unknown.empty()) return {"GPU memory", Status::skipped, unknown};
  if (errors.empty()) return {"GPU memory", Status::ok, "no uncorrected ECC errors"};
  const bool worn_out = std::ranges::any_of(gpus, [](const GpuHealth& gpu) { return gpu.worn_out == 1; });
  return {"GPU memory", worn_out ? Status::failed : Status::warning, errors,
          "tell the administrator (nvidia-smi -q -d ECC,ROW_REMAPPER); if runs fail there, " + std::string(kDrain)};
}

Check clocks_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts) {
  const std::string unknown = nothing_known(gpus, &GpuHealth::slowdowns);
  if (!unknown.empty()) return {"GPU clocks", Status::skipped, unknown};
  const std::string slow = said_by(texts_of(gpus, slowdown_text), hosts);
  if (slow.empty()) return {"GPU clocks", Status::ok, "held down by no fault"};
  return {"GPU clocks", Status::warning, "held down by " + slow,
          "all ranks wait for the slowest: have cooling and power supply looked at (nvidia-smi -q -d PERFORMANCE), or "
          "leave the node out (srun --exclude=NODE)"};
}

Check peers_finding(const std::vector<PeerAccess>& access, const std::vector<RankFacts>& ranks) {
  const auto name = [](const RankFacts& rank) { return rank.uuid.empty() ? rank.pci : rank.uuid; };
  const auto holds = [](const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
  };
  int neighbours = 0, asked = 0;
  std::vector<std::string> apart;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t other = 0; other < ranks.size(); ++other) {
      if (rank == other || ranks[rank].host != ranks[other].host) continue;
      neighbours += 1;
      if (!holds(access[rank].visible, name(ranks[other]))) continue;
      asked += 1;
      if (rank < other && holds(access[rank].out_of_reach, name(ranks[other])))
        apart.push_back(std::to_string(rank) + " and " + std::to_string(other) + " on " + ranks[rank].host);
    }
  if (neighbours == 0) return {"GPU peer access", Status::ok, "1 GPU a node, no neighbour to reach"};
  if (asked == 0)
    return {"GPU peer access", Status::skipped, "not known (each rank sees its own GPU only; NCCL finds out)"};
  if (apart.empty()) return {"GPU peer access", Status::ok, "the GPUs of a node reach each other directly"};
  if (2 * std::ssize(apart) == asked)  // as most GPUs without NVLink, and virtual ones
    return {"GPU peer access", Status::ok, "none: all-reduces take the way through host memory"};
  const size_t all = apart.size(), most = 3;
  if (all > most) apart.resize(most), apart.push_back(std::to_string(all - most) + " pairs more");
  return {
      "GPU peer access", Status::warning, "none between the GPUs of ranks " + join(apart, ", "),
      "their all-reduces take the way through host memory; on hardware with NVLink or PCIe switches look at nvidia-smi "
      "topo -p2p r, and in virtual machines at ACS and IOMMU"};
}

Check sums_finding(const std::string& check, const std::vector<bool>& right, const std::vector<std::string>& hosts) {
  std::vector<int> wrong;
  for (size_t rank = 0; rank < right.size(); ++rank)
    if (!right[rank]) wrong.push_back(static_cast<int>(rank));
  if (wrong.empty()) return {check, Status::ok, "sums are right"};
  return {check, Status::failed, "sums are wrong on " + ranks_text(wrong, hosts),
          "GPUs, their links or NCCL corrupt data: try NCCL_P2P_DISABLE=1, then NCCL_ALGO=Ring, and tell the "
          "administrator (dmesg | grep -i xid)"};
}

}  // namespace drl
