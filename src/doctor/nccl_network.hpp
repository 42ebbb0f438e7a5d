// Finds out from NCCL's log which network it chose, and from /sys which networks the node has.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/report.hpp"
#include "launch/environment.hpp"

namespace drl {

// Adapters of the node whose link is up, such as {"mlx5_0", "mlx5_1"}, by fabric: "InfiniBand", "RoCE" (an InfiniBand
// adapter on Ethernet), "EFA" or "Slingshot".
using Fabrics = std::map<std::string, std::vector<std::string>>;
// Returns the fabrics of this node. `root` is the root directory; tests use another one.
Fabrics fabrics_of(const std::filesystem::path& root = "/");

struct NcclNetwork {
  std::string name;      // as in NCCL's log: "IB", "Socket", "Libfabric"; "" if missing there
  std::string adapters;  // "mlx5_0:1/IB mlx5_1:1/IB", "eth0", "efa"
  Fabrics fabrics;
  std::string wish;     // environment variable that disables a faster network, such as "NCCL_IB_DISABLE"; else ""
  std::string trouble;  // why there is no log; else ""
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NcclNetwork, name, adapters, fabrics, wish, trouble)

// Parses a log written with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET. Leaves `fabrics` and `wish` empty. Pure.
NcclNetwork network_of_log(const std::string& log);
// Returns the fabric that NCCL uses: "Slingshot", "EFA", "InfiniBand", "RoCE", or else "Ethernet". Pure.
std::string fabric_of(const NcclNetwork& network);
// Returns the name of the environment variable that keeps NCCL from using these fabrics; "" if there is none.
std::string disabling_variable(const Environment& environment, const Fabrics& fabrics);

// Judges the networks of all ranks; `networks[r]` and `hosts[r]` are rank r's. Pure.
Check network_finding(const std::vector<NcclNetwork>& networks, const std::vector<std::string>& hosts);

// Captures the log of NCCL's start in memory. Create it before NCCL starts: it sets NCCL_DEBUG, NCCL_DEBUG_SUBSYS and
// NCCL_DEBUG_FILE. If the user has requested NCCL's log with these variables, it captures nothing.
class NcclLog {
 public:
  NcclLog();
  std::string text() const;                         // the log so far
  std::string trouble() const { return trouble_; }  // why there is no log; else ""

 private:
  std::string file_;  // never closed: NCCL writes to it until the process ends
  std::string trouble_;
};

}  // namespace drl
