#include "placement/cuda_support.hpp"

#include <cstdlib>

#ifdef DRL_GPU_SUPPORT
#include "base/format.hpp"
#include "comm/gpu_identity.hpp"
#include "gpu/device.hpp"
#include "gpu/remedies.hpp"
#endif

namespace drl {

#ifdef DRL_GPU_SUPPORT

namespace {

constexpr const char* kNoDriver = "no GPU driver";

std::string reason_of(gpuError_t status) {
  int driver = 0, runtime = 0;
  (void)gpuDriverGetVersion(&driver);
  (void)gpuRuntimeGetVersion(&runtime);
  if (driver == 0) return kNoDriver;  // the runtime would report an insufficient driver
  return fmt::format("{}; the driver supports {} {}, drl was built with {} {}", gpuGetErrorString(status),
                     kGpuVendor.runtime, runtime_version_text(driver), kGpuVendor.runtime,
                     runtime_version_text(runtime));
}

}  // namespace

const CudaSupport& cuda_support() {
  static const CudaSupport support = [] {
    // Slurm, hwloc and nvidia-smi number GPUs by their PCI address; CUDA's default puts the fastest first.
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
    CudaSupport found{true, 0, ""};
    const gpuError_t status = gpuGetDeviceCount(&found.devices);
    if (status == gpuSuccess) return found;
    found.devices = 0;
    found.trouble = reason_of(status);
    if (status != gpuErrorNoDevice && found.trouble != kNoDriver) found.remedy = gpu_remedy(gpuGetErrorName(status));
    (void)gpuGetLastError();
    return found;
  }();
  return support;
}

std::string gpu_name(int device) {
  gpuDeviceProp properties{};
  DRL_GPU(gpuGetDeviceProperties(&properties, device));
  return properties.name;
}

void use_gpu(int device) { gpu::use(device); }

std::string cuda_version() {
  int runtime = 0;
  DRL_GPU(gpuRuntimeGetVersion(&runtime));
  return runtime_version_text(runtime);
}

#else

const CudaSupport& cuda_support() {
  static const CudaSupport none;
  return none;
}
std::string gpu_name(int) { return ""; }
void use_gpu(int) {}
std::string cuda_version() { return ""; }

#endif

}  // namespace drl
