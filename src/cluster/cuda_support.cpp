#include "cluster/cuda_support.hpp"

#ifdef DRL_CUDA
#include "gpu/device.hpp"
#endif

namespace drl {

#ifdef DRL_CUDA

const CudaSupport& cuda_support() {
  static const CudaSupport support = [] {
    CudaSupport found{true, 0, ""};
    const gpuError_t status = gpuGetDeviceCount(&found.devices);
    if (status == gpuSuccess) return found;
    found.devices = 0;
    found.trouble = gpuGetErrorString(status);
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

void use_gpu(int device) { DRL_GPU(gpuSetDevice(device)); }

std::string gpu_versions() {
  int runtime = 0, nccl = 0;
  DRL_GPU(gpuRuntimeGetVersion(&runtime));
  if (gpucclGetVersion(&nccl) != gpucclSuccess) nccl = 0;
  const auto number = [](int n) { return std::to_string(n); };
  return "CUDA " + number(runtime / 1000) + "." + number(runtime % 1000 / 10) + ", NCCL " + number(nccl / 10000) + "." +
         number(nccl % 10000 / 100) + "." + number(nccl % 100);
}

#else

const CudaSupport& cuda_support() {
  static const CudaSupport none;
  return none;
}
std::string gpu_name(int) { return ""; }
void use_gpu(int) {}
std::string gpu_versions() { return ""; }

#endif

}  // namespace drl
