#include "gpu/remedies.hpp"

#include <charconv>
#include <regex>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {

namespace {

// Parts of an error's name, without the prefix "cuda" or "hip", or of drl's messages, and what to do.
struct Remedy {
  const char *parts, *text;
};

constexpr Remedy kNvidiaRemedies[] = {
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

constexpr Remedy kAmdRemedies[] = {
    {"NoBinaryForGpu|NoKernelImage|InvalidDeviceFunction|InvalidImage",
     "this build has no code for that GPU: build drl with -DDRL_HIP_ARCHITECTURES=<the GPU's name, such as gfx90a, "
     "which "
     "rocminfo prints>"},
    {"InsufficientDriver|Unknown|OperatingSystem",
     "check that /dev/kfd and /dev/dri/renderD* can be opened on that node, also inside the container, and that the "
     "driver supports this ROCm"},
    {"no GPU memory|MemoryAllocation|OutOfMemory",
     "other processes fill the GPU's memory: find them with rocm-smi --showpids"},
    {"InvalidDevice:|NoDevice",
     "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or the job's cgroup hides the GPU: run rocm-smi inside the job"},
};

constexpr const char* kOtherwise =
    " on that node to see the driver's errors (or ask the administrator); exclude the node (srun --exclude=NODE) and "
    "have its GPU checked";

}  // namespace

std::string gpu_remedy(const std::string& reason, const GpuVendor& vendor) {
  const bool amd = vendor.pci == kAmd.pci;
  for (const auto& [parts, remedy] : amd ? std::span<const Remedy>(kAmdRemedies) : kNvidiaRemedies)
    if (std::regex_search(reason, std::regex(parts))) return remedy;
  return std::string("run \"dmesg | grep -i ") + (amd ? "amdgpu" : "xid") + "\"" + kOtherwise;
}

std::string compilation_notice(std::string_view architectures, int major, int minor) {
  for (const std::string& architecture : split(architectures, ',')) {
    int number = 0;
    if (std::from_chars(architecture.data(), architecture.data() + architecture.size(), number).ec != std::errc())
      return "";  // "native", "all" or "all-major"
    if (!architecture.ends_with("-virtual") && number / 10 == major && number % 10 <= minor) return "";
  }
  return fmt::format(
      "the GPU's driver now compiles drl's code, because this build has none for compute capability {0}.{1}: that can "
      "take minutes at the first start, and later ones find the result in ~/.nv/ComputeCache; a build with "
      "-DDRL_CUDA_ARCHITECTURES={0}{1} starts at once",
      major, minor);
}

}  // namespace drl
