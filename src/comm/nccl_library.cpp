// Versions and identity of NCCL and the GPU, and advice for failures.
#include <span>

#include "base/build_id.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/nccl_communicator.hpp"
#include "gpu/device.hpp"

namespace drl {
namespace {

// Formats a UUID as nvidia-smi -L does; "" if all bytes are 0 (unknown to the runtime).
std::string uuid_text(std::span<const char> bytes) {
  std::string text = "GPU";
  for (size_t k = 0; k < bytes.size(); ++k)
    text += fmt::format("{}{:02x}", k == 0 || k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
                        static_cast<unsigned char>(bytes[k]));
  return text.find_first_of("123456789abcdef") == std::string::npos ? "" : text;
}

}  // namespace

std::string nccl_version() {
  int version = 0;
  DRL_CHECK(gpucclGetVersion(&version) == gpucclSuccess, "NCCL does not report its version");
  return nccl_version_text(version);
}

GpuIdentity this_gpu(int device) {
  gpuDeviceProp properties;
  DRL_GPU(gpuGetDeviceProperties(&properties, device));
  gpuUUID uuid;
  DRL_GPU(gpuDeviceGetUuid(&uuid, device));
  int version = 0;
  DRL_GPU(gpuDriverGetVersion(&version));
  const std::string driver = driver_version(file_text("/proc/driver/nvidia/version"));
  return {
      .host = host_name(),
      .gpu = properties.name,
      .uuid = uuid_text(uuid.bytes),
      .pci = fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID),
      .driver = (driver.empty() ? "" : driver + ", ") + kGpuVendor.runtime + " " + runtime_version_text(version),
      .nccl = nccl_version(),
      .build = program_build()};
}

std::string nccl_advice(const Environment& environment, const NcclSituation& situation) {
  struct Workaround {
    const char *variable, *value, *helps;
  };
  static constexpr Workaround kInterface = {"NCCL_SOCKET_IFNAME", "<interface>",
                                            "helps if NCCL uses an interface that the hosts do not share; see ip addr"};
  static constexpr Workaround kWorkarounds[] = {
      {"NCCL_P2P_DISABLE", "1", "helps if GPUs of one host cannot reach each other, as in some virtual machines"},
      {"NCCL_SHM_DISABLE", "1", "helps if shared memory is too small or broken, as in some containers"},
      {"NCCL_IB_DISABLE", "1", "helps if InfiniBand or RoCE is broken, but is slow"},
      {"NCCL_ALGO", "Ring", "helps if a newer algorithm is broken"},
      kInterface,
  };
  // github.com/NVIDIA/nccl/issues/1066
  if (situation.sees_one_of_several)
    return "let each rank see all GPUs of its node with srun --gpu-bind=none (ranks that do not see each other's GPUs "
           "may not reach them); NCCL_DEBUG=INFO shows more";
  const auto advice = [&](const Workaround& workaround) -> std::string {
    const std::string now = environment(workaround.variable).value_or("");
    if (!now.empty() && now != "0") return "";
    return "try " + std::string(workaround.variable) + "=" + workaround.value + " (" + workaround.helps +
           "), and unset it if it does not help; NCCL_DEBUG=INFO shows more";
  };
  // If hosts are still looking for each other, the network interface is the most likely cause.
  if (situation.hosts_look_for_each_other)
    if (const std::string text = advice(kInterface); !text.empty()) return text;
  // An illegal address in one of NCCL's kernels does not come from direct access between GPUs, the first of the list.
  for (const Workaround& workaround : std::span(kWorkarounds).subspan(situation.gpu_failed ? 1 : 0))
    if (const std::string text = advice(workaround); !text.empty()) return text;
  return "set NCCL_DEBUG=INFO to see more, and run drl_doctor to check hosts and network";
}

}  // namespace drl
