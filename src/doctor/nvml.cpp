#include "doctor/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

namespace drl {
namespace {

// NVML API Reference, docs.nvidia.com/deploy/nvml-api: "Initialization and Cleanup", "Device Queries", "Field Value
// Enums". Functions and structures that carry a version keep their layout in later drivers.
using Return = int;    // nvmlReturn_t
using Device = void*;  // nvmlDevice_t
constexpr Return kSuccess = 0, kInsufficientSize = 7, kFunctionNotFound = 13;
constexpr unsigned kUncorrected = 1, kVolatile = 0;  // nvmlMemoryErrorType_t, nvmlEccCounterType_t

struct ProcessInfo {  // nvmlProcessInfo_v2_t, of nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long used_memory;  // bytes; all ones: not known
  unsigned gpu_instance, compute_instance;
};

template <class... Parameters>
Return call(void* library, const char* name, Parameters... parameters) {
  const auto function = reinterpret_cast<Return (*)(Parameters...)>(dlsym(library, name));
  return function ? function(parameters...) : kFunctionNotFound;
}

std::string error_text(void* library, Return error) {
  const auto text = reinterpret_cast<const char* (*)(Return)>(dlsym(library, "nvmlErrorString"));
  return text ? text(error) : "error " + std::to_string(error);
}

// Of a GPU in parts (MIG) the processes of all parts are told, other users' too: then they stay unknown.
void ask_processes(void* library, Device device, GpuHealth& health) {
  unsigned in_parts = 0, later = 0;
  if (call(library, "nvmlDeviceGetMigMode", device, &in_parts, &later) == kSuccess && in_parts) return;
  std::vector<ProcessInfo> processes;
  unsigned count = 0;
  Return result = kInsufficientSize;
  for (int trial = 0; trial < 3 && result == kInsufficientSize; ++trial) {  // some may start in between
    processes.resize(count);
    result = call(library, "nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data());
  }
  if (result != kSuccess) return;
  processes.resize(std::min<size_t>(count, processes.size()));
  health.others = 0;
  for (const ProcessInfo& process : processes) {
    if (process.pid == static_cast<unsigned>(getpid())) continue;
    health.others += 1;
    health.pids.push_back(process.pid);
    if (process.used_memory != ~0ULL) health.others_bytes += static_cast<int64_t>(process.used_memory);
  }
}

void ask_memory(void* library, Device device, GpuHealth& health) {
  unsigned long long errors = 0;
  if (call(library, "nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &errors) == kSuccess)
    health.uncorrected = static_cast<int64_t>(errors);
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (call(library, "nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed) == kSuccess) {
    health.pending = pending != 0;
    health.worn_out = failed != 0;
  } else if (call(library, "nvmlDeviceGetRetiredPagesPendingStatus", device, &pending) == kSuccess) {  // before Ampere
    health.pending = pending != 0;
  }
}

}  // namespace

Nvml::Nvml(const std::string& pci) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    trouble_ = "libnvidia-ml.so.1 is not found";
    return;
  }
  if (const Return result = call(library_, "nvmlInit_v2"); result != kSuccess) {
    trouble_ = "NVML does not start: " + error_text(library_, result);
    library_ = nullptr;
    return;
  }
  const std::string place = pci + ".0";
  const Return result = call(library_, "nvmlDeviceGetHandleByPciBusId_v2", place.c_str(), &device_);
  if (result == kSuccess) return;
  trouble_ = "NVML does not know the GPU at " + place + ": " + error_text(library_, result);
  device_ = nullptr;
}

Nvml::~Nvml() {
  if (library_) call(library_, "nvmlShutdown");
}

GpuHealth Nvml::health() const {
  GpuHealth health;
  health.trouble = trouble_;
  if (!device_) return health;
  ask_processes(library_, device_, health);
  ask_memory(library_, device_, health);
  return health;
}

int64_t Nvml::slowdowns() const {
  if (!device_) return GpuHealth::kUnknown;
  unsigned long long reasons = 0;
  for (const char* name : {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (call(library_, name, device_, &reasons) == kSuccess) return static_cast<int64_t>(reasons);
  return GpuHealth::kUnknown;  // the second name is that of drivers before 535
}

}  // namespace drl
