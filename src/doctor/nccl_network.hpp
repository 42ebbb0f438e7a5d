// Which network NCCL took, by its own log, and which networks the node has. Pure but for what is read below a root.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/environment.hpp"
#include "doctor/check.hpp"

namespace drl {

// Adapters of the node that a link is up on.
struct Fabrics {
  std::vector<std::string> infiniband;  // "mlx5_0"
  std::vector<std::string> roce;        // the same kind of adapter on an Ethernet
  std::vector<std::string> efa;         // "rdmap0s6"
  std::vector<std::string> slingshot;   // "cxi0" or "hsn0"
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fabrics, infiniband, roce, efa, slingshot)
Fabrics fabrics_of(const std::filesystem::path& root = "/");

struct NcclNetwork {
  std::string name;      // as NCCL says: "IB", "Socket", "Libfabric"; empty if it is not in the log
  std::string adapters;  // "mlx5_0:1/IB mlx5_1:1/IB", "eth0", "efa"
  Fabrics fabrics;
  std::string wish;     // the variable that speaks against better ones: "NCCL_IB_DISABLE"
  std::string trouble;  // why there is no log
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NcclNetwork, name, adapters, fabrics, wish, trouble)

// Of a log with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET.
NcclNetwork network_of_log(const std::string& log);
// The variable that keeps NCCL from these, as it is set; "" if none does.
std::string network_wish(const Environment& environment, const Fabrics& fabrics);

// `networks[r]` is rank r's.
Check network_finding(const std::vector<NcclNetwork>& networks, const std::vector<std::string>& hosts);

}  // namespace drl
