// What the driver's management library (NVML) knows of a GPU. It is not everywhere: nothing is linked, and what it does
// not tell is not known.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace drl {

struct GpuHealth {
  static constexpr int64_t kUnknown = -1;

  std::string trouble;             // why nothing is known; else empty
  int64_t others = kUnknown;       // processes that compute on it, this one aside
  std::vector<unsigned> pids;      // of those, as the host counts them: in a container they may have other numbers
  int64_t others_bytes = 0;        // of GPU memory that they hold, where NVML tells
  int64_t slowdowns = kUnknown;    // what holds the clocks down: bits of Slowdown, and others
  int64_t uncorrected = kUnknown;  // ECC errors since the driver was loaded
  int64_t pending = kUnknown;      // 1: memory will be replaced at the next reset
  int64_t worn_out = kUnknown;     // 1: memory could not be replaced
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuHealth, trouble, others, pids, others_bytes, slowdowns, uncorrected, pending,
                                   worn_out)

// nvmlClocksEventReasons: those that are no part of normal work.
enum Slowdown : int64_t { kHardware = 0x08, kSoftwareHeat = 0x20, kHardwareHeat = 0x40, kPowerBrake = 0x80 };

class Nvml {
 public:
  // The GPU at this place of the PCI bus: "0000:3b:00".
  explicit Nvml(const std::string& pci);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // All but the clocks. Other processes are told apart only before this process has begun to compute.
  GpuHealth health() const;
  // Of the clocks; they tell something while the GPU computes.
  int64_t slowdowns() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  std::string trouble_;
};

}  // namespace drl
