#include "comm/gpu_energy.hpp"

#include <cmath>
#include <limits>

#include "comm/wire.hpp"

namespace drl {

GpuEnergyMeter::GpuEnergyMeter(const GpuIdentity& mine, Communicator& comm)
    : comm_(comm), counter_(mine.uuid, mine.pci), ranks_(first_ranks_of_gpus(gather_facts(comm, mine))) {}

std::optional<GpuEnergy> GpuEnergyMeter::read() {
  const std::optional<double> now = counter_.joules();
  if (!has_started_) start_ = now;
  has_started_ = true;
  // A driver that was loaded again counts from 0.
  const bool known = start_ && now && *now >= *start_;
  const double mine = known ? *now - *start_ : std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> all = gather_values(comm_, mine);
  if (all.empty()) return std::nullopt;
  GpuEnergy sum{0, static_cast<int>(ranks_.size())};
  for (const size_t rank : ranks_) sum.joules += all[rank];
  return std::isnan(sum.joules) ? std::nullopt : std::optional(sum);
}

}  // namespace drl
