// Reads the energy counter of an NVIDIA GPU through NVML, the management library of the driver. The library is opened
// when a counter is made, so drl neither links NVML nor needs its header. A machine without it has no counters.
#pragma once

#include <optional>
#include <string>

namespace drl::gpu {

class EnergyCounter {
 public:
  // Finds a GPU by its UUID ("GPU-5a3f..."), or by its PCI address ("0000:3b:00") if the UUID is empty.
  EnergyCounter(const std::string& uuid, const std::string& pci);

  // Returns the joules that the GPU has used since its driver was loaded. Returns nullopt if NVML is missing or fails,
  // if the GPU has no counter (those before Volta), or if it is divided by MIG, since its instances have none.
  std::optional<double> joules() const;

 private:
  void* device_ = nullptr;  // NVML's handle, or null without a counter
};

}  // namespace drl::gpu
