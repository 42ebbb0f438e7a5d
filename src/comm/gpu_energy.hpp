// Measures the energy that the GPUs of all ranks use.
#pragma once

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/gpu_identity.hpp"
#include "gpu/energy_counter.hpp"

namespace drl {

struct GpuEnergy {
  double joules = 0;
  int gpus = 0;
};

class GpuEnergyMeter {
 public:
  // Collective. `mine`: this rank's GPU. `comm` must outlive the meter.
  GpuEnergyMeter(const GpuIdentity& mine, Communicator& comm);

  // Collective. Returns the energy since the first call, which starts the measurement, on rank 0, and nullopt on the
  // other ranks. A GPU that several ranks share counts once. Returns nullopt on all ranks if the energy of one of the
  // GPUs is unknown.
  std::optional<GpuEnergy> read();

 private:
  Communicator& comm_;
  gpu::EnergyCounter counter_;
  bool has_started_ = false;
  std::optional<double> start_;  // the counter at the first call, in joules
  std::vector<size_t> ranks_;    // on rank 0: one rank for each GPU
};

}  // namespace drl
