#include "gpu/energy_counter.hpp"

#include <dlfcn.h>

namespace drl::gpu {
namespace {

constexpr int kSuccess = 0;          // NVML_SUCCESS
constexpr unsigned kMigEnabled = 1;  // NVML_DEVICE_MIG_ENABLE

// The functions of NVML that drl calls; each returns kSuccess or an error. docs.nvidia.com/deploy/nvml-api
struct Nvml {
  int (*init)();
  int (*device_by_uuid)(const char* uuid, void** device);
  int (*device_by_pci)(const char* pci, void** device);
  int (*mig_mode)(void* device, unsigned* current, unsigned* pending);  // null with drivers before MIG
  int (*total_energy)(void* device, unsigned long long* millijoules);

  bool usable() const { return init && device_by_uuid && device_by_pci && total_energy && init() == kSuccess; }
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

// Returns null if NVML cannot be used. It stays open until the program ends.
const Nvml* nvml() {
  static const Nvml* const usable = []() -> const Nvml* {
    static Nvml functions{};
    void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return nullptr;
    find(library, "nvmlInit_v2", functions.init);
    find(library, "nvmlDeviceGetHandleByUUID", functions.device_by_uuid);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", functions.device_by_pci);
    find(library, "nvmlDeviceGetMigMode", functions.mig_mode);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", functions.total_energy);
    return functions.usable() ? &functions : nullptr;
  }();
  return usable;
}

// NVML's counter is that of the whole GPU, also for a handle of an instance.
bool is_divided(void* device) {
  unsigned current = 0, pending = 0;
  return nvml()->mig_mode && nvml()->mig_mode(device, &current, &pending) == kSuccess && current == kMigEnabled;
}

}  // namespace

EnergyCounter::EnergyCounter(const std::string& uuid, const std::string& pci) {
  if (!nvml()) return;
  void* device = nullptr;
  const int found = uuid.empty() ? nvml()->device_by_pci((pci + ".0").c_str(), &device)
                                 : nvml()->device_by_uuid(uuid.c_str(), &device);
  if (found == kSuccess && !is_divided(device)) device_ = device;
}

std::optional<double> EnergyCounter::joules() const {
  unsigned long long millijoules = 0;
  if (!device_ || nvml()->total_energy(device_, &millijoules) != kSuccess) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

}  // namespace drl::gpu
