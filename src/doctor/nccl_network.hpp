// Which network NCCL took, by its own log, and which networks the node has.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/report.hpp"
#include "launch/environment.hpp"

namespace drl {

// Adapters of the node that a link is up on, by "InfiniBand", "RoCE" (the same kind of adapter on an Ethernet), "EFA"
// and "Slingshot": {"mlx5_0", "mlx5_1"}.
using Fabrics = std::map<std::string, std::vector<std::string>>;
Fabrics fabrics_of(const std::filesystem::path& root = "/");

struct NcclNetwork {
  std::string name;      // as NCCL says: "IB", "Socket", "Libfabric"; empty if it is not in the log
  std::string adapters;  // "mlx5_0:1/IB mlx5_1:1/IB", "eth0", "efa"
  Fabrics fabrics;
  std::string wish;     // the variable that speaks against better ones: "NCCL_IB_DISABLE"
  std::string trouble;  // why there is no log
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NcclNetwork, name, adapters, fabrics, wish, trouble)

// Of a log with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET. Pure.
NcclNetwork network_of_log(const std::string& log);
// What it went over: "Slingshot", "EFA", "InfiniBand", "RoCE", or else "Ethernet". Pure.
std::string fabric_of(const NcclNetwork& network);
// The variable that keeps NCCL from these, as it is set; "" if none does.
std::string network_wish(const Environment& environment, const Fabrics& fabrics);

// `networks[r]` is rank r's.
Check network_finding(const std::vector<NcclNetwork>& networks, const std::vector<std::string>& hosts);

// What NCCL says of its start, in memory instead of on the terminal. To be made before NCCL starts. Whoever set
// NCCL_DEBUG or NCCL_DEBUG_FILE keeps NCCL's log for himself.
class NcclLog {
 public:
  NcclLog();
  std::string text() const;                         // so far
  std::string trouble() const { return trouble_; }  // why there is none; else empty

 private:
  std::string file_;  // stays open: NCCL writes to it as long as it runs
  std::string trouble_;
};

}  // namespace drl
