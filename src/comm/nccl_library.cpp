// What NCCL and a GPU say of themselves, and what helps where they fail.
#include <fstream>
#include <iterator>
#include <span>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/nccl_communicator.hpp"
#include "comm/program_build.hpp"
#include "gpu/device.hpp"

namespace drl {
namespace {

// As nvidia-smi -L has it; "" if the runtime does not know it.
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
  DRL_CHECK(gpucclGetVersion(&version) == gpucclSuccess, "NCCL does not tell its version");
  return nccl_version_text(version);
}

GpuIdentity this_gpu(int device) {
  gpuDeviceProp properties;
  DRL_GPU(gpuGetDeviceProperties(&properties, device));
  int cuda = 0;
  DRL_GPU(gpuDriverGetVersion(&cuda));
  std::ifstream proc("/proc/driver/nvidia/version");
  const std::string driver = driver_version({std::istreambuf_iterator<char>(proc), {}});
  return {
      .host = host_name(),
      .gpu = properties.name,
      .uuid = uuid_text(properties.uuid.bytes),
      .pci = fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID),
      .driver = (driver.empty() ? "" : driver + ", ") + "CUDA " + cuda_version_text(cuda),
      .nccl = nccl_version(),
      .build = program_build()};
}

std::string nccl_advice(const Environment& environment, const NcclSituation& situation) {
  struct WayOut {
    const char *variable, *value, *helps;
  };
  static constexpr WayOut kInterface = {"NCCL_SOCKET_IFNAME", "<interface>",
                                        "helps where NCCL takes an interface that the hosts do not share: ip addr"};
  static constexpr WayOut kWaysOut[] = {
      {"NCCL_P2P_DISABLE", "1", "helps where GPUs of a host cannot reach each other, as in some virtual machines"},
      {"NCCL_SHM_DISABLE", "1", "helps where shared memory is small or broken, as in some containers"},
      {"NCCL_IB_DISABLE", "1", "helps where InfiniBand or RoCE is broken, but is slow"},
      {"NCCL_ALGO", "Ring", "helps where a newer algorithm is broken"},
      kInterface,
  };
  // github.com/NVIDIA/nccl/issues/1066
  if (situation.sees_one_of_several)
    return "let each rank see all GPUs of its node (srun --gpu-bind=none): those that do not see each other may not "
           "reach each other; NCCL_DEBUG=INFO tells more";
  const auto advice = [&](const WayOut& way) -> std::string {
    const std::string now = environment(way.variable).value_or("");
    if (!now.empty() && now != "0") return "";
    return "try " + std::string(way.variable) + "=" + way.value + " (" + way.helps +
           "), and unset it again if it does not; NCCL_DEBUG=INFO tells more";
  };
  // Hosts that look for each other have not come to anything else yet.
  if (situation.hosts_look_for_each_other)
    if (const std::string text = advice(kInterface); !text.empty()) return text;
  for (const WayOut& way : kWaysOut)
    if (const std::string text = advice(way); !text.empty()) return text;
  return "NCCL_DEBUG=INFO tells more, and drl_doctor examines hosts and network";
}

}  // namespace drl
