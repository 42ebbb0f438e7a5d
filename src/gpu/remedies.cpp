#include "gpu/remedies.hpp"

#include <regex>
#include <utility>

namespace drl {

std::string gpu_remedy(const std::string& reason) {
  // Parts of CUDA's and HIP's error names, without the prefix "cuda" or "hip", and of drl's messages.
  static constexpr std::pair<const char*, const char*> kRemedies[] = {
      {"NoKernelImage|InvalidDeviceFunction",
       "this build has no code for that GPU: build drl with -DDRL_CUDA_ARCHITECTURES=<compute capability without the "
       "dot> (nvidia-smi --query-gpu=compute_cap prints 9.0 for 90)"},
      {"UnsupportedPtxVersion|InsufficientDriver|CompatNotSupported",
       "load an older CUDA module and rebuild drl, or ask the administrator to update the driver"},
      {"OperatingSystem|Unknown",
       "check that /dev/nvidia-uvm exists on that node, also inside the container; nvidia-modprobe -u -c 0 creates it"},
      {"DevicesUnavailable",
       "another process uses the GPU exclusively, or its compute mode is Prohibited: check the compute mode with "
       "nvidia-smi -q -d COMPUTE, and the processes with nvidia-smi"},
      {"SystemNotReady", "the fabric manager is not running on that node: check systemctl status nvidia-fabricmanager"},
      {"SystemDriverMismatch", "the driver and its libraries have different versions: ask for the node to be rebooted"},
      {"Mps", "the MPS daemon does not respond: unset CUDA_MPS_PIPE_DIRECTORY, or ask for the daemon to be restarted"},
      {"no GPU memory|MemoryAllocation", "other processes fill the GPU's memory: find them with nvidia-smi"},
      {"InvalidDevice:|NoDevice",
       "CUDA_VISIBLE_DEVICES, MIG or the job's cgroup hides the GPU: run nvidia-smi -L inside the job"},
  };
  for (const auto& [parts, remedy] : kRemedies)
    if (std::regex_search(reason, std::regex(parts))) return remedy;
  return "run \"dmesg | grep -i xid\" on that node to see the driver's errors (or ask the administrator); exclude the "
         "node (srun --exclude=NODE) and have its GPU checked";
}

}  // namespace drl
