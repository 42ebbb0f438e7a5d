#include "apps/workplace.hpp"

#include <algorithm>

#include "base/host.hpp"
#include "placement/cuda_support.hpp"
#include "run/preflight.hpp"

namespace drl {

std::vector<std::string> Workplace::hosts() const {
  std::vector<std::string> hosts;
  for (const std::string& host : rank_hosts)
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  return hosts;
}

Isa common_isa(Communicator& comm, const std::string& wanted) {
  Isa isa{};
  on_all_ranks(comm, [&] { isa = isa_of(wanted); });
  for (const Isa other : gather_values(comm, isa)) isa = std::min(isa, other);
  comm.broadcast(std::as_writable_bytes(std::span(&isa, 1)), 0);
  return isa;
}

Workplace find_workplace(const PlaceRequest& request, const std::string& isa, const LaunchInfo& launch,
                         Communicator& comm) {
  Workplace place;
  place.launch = launch;
  place.machine = this_machine();
  place.world_size = comm.size();
  place.placement = place_rank(comm, launch, process_environment(), request);
  warn_of_slow_nccl(comm, place.placement);
  if (place.placement.gpu >= 0) place.gpu_model = gpu_name(place.placement.gpu);
  place.rank_hosts = compare_hardware(
      comm, {host_name(), place.machine.cpu_model + ", " + std::string(name_of(isa_of("auto"))), place.gpu_model});
  place.isa = common_isa(comm, isa);
  place.job = allocation(process_environment());
  return place;
}

}  // namespace drl
