// Stands for NVIDIA's libnvidia-ml.so.1, with the functions that the doctor calls, after their manual: one GPU at
// 0000:01:00.0. The environment says what is wrong with it:
//   FAKE_NVML_PIDS=4711,12  FAKE_NVML_SLOWDOWNS=32  FAKE_NVML_ECC=2  FAKE_NVML_PENDING=1
//   FAKE_NVML_OLD=1 (a driver before 535)  FAKE_NVML_DOWN=1 (no driver)
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum nvmlReturn_t {
  NVML_SUCCESS,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9
};
enum nvmlMemoryErrorType_t { NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED };
enum nvmlEccCounterType_t { NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC };
struct nvmlProcessInfo_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
};
struct Gpu {
  bool found = false;
} gpu;
using nvmlDevice_t = Gpu*;

int started = 0;

unsigned long long number(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : 0;
}

// What is asked of another device, or outside of init and shutdown, is a mistake of the caller.
bool in_order(nvmlDevice_t device) { return started == 1 && device == &gpu && gpu.found; }

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  if (number("FAKE_NVML_DOWN")) return NVML_ERROR_DRIVER_NOT_LOADED;
  started += 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlShutdown() { return started -= 1, NVML_SUCCESS; }

const char* nvmlErrorString(nvmlReturn_t result) {
  return result == NVML_ERROR_NOT_FOUND ? "Not Found" : "Driver Not Loaded";
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* place, nvmlDevice_t* device) {
  if (std::strcmp(place, "0000:01:00.0") != 0) return NVML_ERROR_NOT_FOUND;
  gpu.found = true;
  *device = &gpu;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  std::vector<unsigned> pids = {static_cast<unsigned>(getpid())};
  if (const char* list = std::getenv("FAKE_NVML_PIDS")) {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) pids.push_back(static_cast<unsigned>(std::stoul(word)));
  }
  const bool fits = *count >= pids.size();
  *count = static_cast<unsigned>(pids.size());
  if (!fits) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (size_t k = 0; k < pids.size(); ++k) infos[k] = {pids[k], 1ULL << 30, ~0u, ~0u};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                                         unsigned long long* errors) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  const bool asked = type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED && counter == NVML_VOLATILE_ECC;
  *errors = asked ? number("FAKE_NVML_ECC") : 1000;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected, unsigned int* uncorrected,
                                       unsigned int* pending, unsigned int* failed) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  if (number("FAKE_NVML_OLD")) return NVML_ERROR_NOT_SUPPORTED;
  *corrected = 1000, *uncorrected = 1000, *failed = 0;
  *pending = static_cast<unsigned>(number("FAKE_NVML_PENDING"));
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, unsigned int* pending) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  *pending = static_cast<unsigned>(number("FAKE_NVML_PENDING"));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  if (number("FAKE_NVML_OLD")) return NVML_ERROR_NOT_SUPPORTED;
  *reasons = number("FAKE_NVML_SLOWDOWNS");
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  if (!in_order(device)) return NVML_ERROR_NOT_FOUND;
  *reasons = number("FAKE_NVML_SLOWDOWNS");
  return NVML_SUCCESS;
}

}  // extern "C"
