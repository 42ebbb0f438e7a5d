// A stand-in for libnvidia-ml.so.1 with the functions that drl calls. It has GPUs with the numbers 1 to 127, which are
// the first byte of the UUID and the PCI bus. GPU N uses 1000 N joules between two reads of its counter. The variable
// STUB_NVML plants a fault.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kDriverNotLoaded = 9;

struct Device {
  unsigned long long number, reads;
};

bool fault(const char* name) {
  const char* planted = std::getenv("STUB_NVML");
  return planted && std::strcmp(planted, name) == 0;
}

int find(long number, void** device) {
  static Device devices[128];
  if (number < 1 || number > 127) return kNotFound;
  devices[number].number = static_cast<unsigned long long>(number);
  *device = &devices[number];
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return fault("no_driver") ? kDriverNotLoaded : kSuccess; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strlen(uuid) != 40 || std::strncmp(uuid, "GPU-", 4) != 0) return kNotFound;
  const char digits[] = {uuid[4], uuid[5], 0};
  return find(std::strtol(digits, nullptr, 16), device);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  if (std::strlen(pci) != 12 || std::strcmp(pci + 7, ":00.0") != 0) return kNotFound;
  return find(std::strtol(pci + 5, nullptr, 16), device);
}

int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = fault("mig");
  return kSuccess;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  Device& gpu = *static_cast<Device*>(device);
  if (fault("no_counter")) return kNotSupported;
  *millijoules = fault("driver_loaded_again") ? 0 : 7'000'000'000'000 + ++gpu.reads * gpu.number * 1'000'000;
  return kSuccess;
}

}  // extern "C"
