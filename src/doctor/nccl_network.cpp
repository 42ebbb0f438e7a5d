#include "doctor/nccl_network.hpp"

#include <strings.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/roll_call.hpp"

namespace drl {
namespace {

using fmt::format;

namespace fs = std::filesystem;

// Returns the link layer of the first port that is up ("4: ACTIVE"): "InfiniBand", "Ethernet" or "Unspecified"; "" if
// no port is up.
std::string link_layer(const fs::path& device) {
  for (const fs::path& port : entries_of(device / "ports"))
    if (file_text(port / "state").find("ACTIVE") != std::string::npos)
      return std::string(trim(file_text(port / "link_layer")));
  return "";
}

// Returns the first capture of the first match of `pattern`, "" if there is none.
std::string first_capture(const std::string& log, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(log, found, std::regex(pattern)) ? found[1].str() : "";
}

// Returns "mlx5_0:1/IB mlx5_1:1/IB" from "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ib0:10.0.0.1<0>"; "eth0" from
// "[0]eth0:10.0.0.1<0>".
std::string adapters_in(const std::string& list) {
  static const std::regex kAdapter(R"(\[\d+\]([^ :]+(:\d+/\S+)?))");
  std::vector<std::string> names;
  for (std::sregex_iterator at(list.begin(), list.end(), kAdapter); at != std::sregex_iterator(); ++at)
    names.push_back((*at)[1]);
  return join(names, " ");
}

// Returns whether NCCL uses TCP, by its own sockets or through libfabric.
bool is_tcp(const NcclNetwork& network) {
  return network.name == "Socket" || std::regex_search(network.adapters, std::regex("^(tcp|sockets|udp)"));
}

std::string text_of(const NcclNetwork& network) {
  return network.name + (network.adapters.empty() ? "" : " (" + network.adapters + ")");
}

// Returns the fastest fabric other than TCP and RoCE; "" if there is none.
std::string fastest_of(const Fabrics& fabrics) {
  for (const char* fabric : {"Slingshot", "EFA", "InfiniBand"})
    if (fabrics.contains(fabric)) return fabric;
  return "";
}

std::string remedy_for(const std::string& fabric, const std::vector<std::string>& adapters) {
  if (fabric == "InfiniBand")
    return "check that libibverbs.so.1 and /dev/infiniband exist on all nodes, also inside containers; check the "
           "adapters' state with ibstat; select them with export NCCL_IB_HCA==" +
           join(adapters, ",");
  return std::string("NCCL's plugin aws-ofi-nccl is missing: add the directory of libnccl-net.so to LD_LIBRARY_PATH ") +
         (fabric == "EFA" ? "(on EC2 /opt/amazon/ofi-nccl/lib or /opt/amazon/aws-ofi-nccl/lib), and set FI_PROVIDER=efa"
                          : "(module avail aws-ofi-nccl), and set FI_PROVIDER=cxi and NCCL_SOCKET_IFNAME=hsn");
}

}  // namespace

Fabrics fabrics_of(const fs::path& root) {
  Fabrics fabrics;
  for (const fs::path& device : entries_of(root / "sys/class/infiniband")) {
    const std::string layer = link_layer(device), name = device.filename();
    const bool efa = name.starts_with("efa") || name.starts_with("rdmap");
    if (!layer.empty()) fabrics[efa ? "EFA" : layer == "InfiniBand" ? layer : "RoCE"].push_back(name);
  }
  std::vector<std::string> slingshot;
  for (const fs::path& device : entries_of(root / "sys/class/cxi")) slingshot.push_back(device.filename());
  for (const fs::path& device : slingshot.empty() ? entries_of(root / "sys/class/net") : std::vector<fs::path>()) {
    std::error_code none;
    const std::string driver = fs::read_symlink(device / "device/driver", none).filename(), name = device.filename();
    const bool up = trim(file_text(device / "operstate")) == "up";
    if (name.starts_with("hsn") && driver.starts_with("cxi") && up) slingshot.push_back(name);
  }
  if (!slingshot.empty()) fabrics["Slingshot"] = slingshot;
  return fabrics;
}

// The patterns match the log lines of NCCL 2.18 to 2.30 (init.cc, transport/net_ib, transport/net_socket.cc) and of
// aws-ofi-nccl (nccl_ofi_net.cpp).
NcclNetwork network_of_log(const std::string& log) {
  NcclNetwork network;
  network.name = first_capture(log, "Using network (.*)");
  if (network.name == "Socket") {
    network.adapters = adapters_in(first_capture(log, "NET/Socket : Using(.*)"));
  } else if (network.name.starts_with("IB")) {  // "IBext_v8" comes from the plugin of NVIDIA's HPC-X
    network.adapters = adapters_in(first_capture(log, "NET/IB : Using(.*)"));
  } else if (network.name.ends_with("Libfabric")) {
    network.adapters = first_capture(log, "Selected [Pp]rovider is ([^ ,]+)");
  }
  return network;
}

std::string fabric_of(const NcclNetwork& network) {
  const auto is = [&](const char* part) { return network.adapters.find(part) != std::string::npos; };
  if (is_tcp(network)) return "Ethernet";
  return is("cxi") ? "Slingshot" : is("efa") ? "EFA" : is("/RoCE") ? "RoCE" : is("/IB") ? "InfiniBand" : "Ethernet";
}

std::string disabling_variable(const Environment& environment, const Fabrics& fabrics) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  const bool by_plugin = fabrics.contains("Slingshot") || fabrics.contains("EFA");
  if (value("NCCL_NET") == "Socket" || value("NCCL_NET") == "socket") return "NCCL_NET";
  if (by_plugin) return value("NCCL_NET_PLUGIN") == "none" ? "NCCL_NET_PLUGIN" : "";
  if (!value("NCCL_IB_DISABLE").empty() && value("NCCL_IB_DISABLE") != "0") return "NCCL_IB_DISABLE";
  return value("NCCL_IB_HCA").empty() ? "" : "NCCL_IB_HCA";
}

Check network_finding(const std::vector<NcclNetwork>& networks, const std::vector<std::string>& hosts) {
  const NcclNetwork& first = networks.front();
  std::vector<std::string> names;
  for (const NcclNetwork& network : networks) {
    if (network.name.empty())
      return {Status::skipped,
              "unknown (" + (network.trouble.empty() ? "NCCL's log does not contain it" : network.trouble) + ")"};
    names.push_back(network.name);
  }
  if (groups_of(hosts).size() == 1)
    return {Status::ok, text_of(first) + ", not used because all ranks are on one node"};
  if (groups_of(names).size() > 1)
    return {Status::failed, "the ranks use different networks: " + values_with_ranks(names, hosts),
            "load the same modules and plugins on all nodes, or select one network: NCCL_NET=Socket or NCCL_NET=IB"};

  std::vector<int> slow_ranks;
  for (size_t rank = 0; rank < networks.size(); ++rank)
    if (is_tcp(networks[rank]) && !fastest_of(networks[rank].fabrics).empty())
      slow_ranks.push_back(static_cast<int>(rank));
  if (!slow_ranks.empty()) {
    const NcclNetwork& network = networks[slow_ranks.front()];
    const std::string best = fastest_of(network.fabrics);
    const std::vector<std::string>& adapters = network.fabrics.at(best);
    return {Status::failed,
            format("{} is plain TCP although the node has {} ({}): {}", text_of(network), best, join(adapters, ", "),
                   ranks_text(slow_ranks, hosts)),
            network.wish.empty() ? remedy_for(best, adapters)
                                 : "unset " + network.wish + ", which disables it (a module may have set it)"};
  }
  if (!is_tcp(first)) return {Status::ok, text_of(first)};
  const auto roce = first.fabrics.find("RoCE");
  return {Status::ok,
          text_of(first) + " is plain TCP; " +
              (roce == first.fabrics.end() ? "the node has no faster network"
                                           : "adapters that may support RoCE: " + join(roce->second, ", "))};
}

NcclLog::NcclLog() {
  // The user's own NCCL log is left alone. The levels WARN and VERSION do not count: many sites set them for all users.
  const char* level = std::getenv("NCCL_DEBUG");
  if (std::getenv("NCCL_DEBUG_FILE")) trouble_ = "NCCL_DEBUG_FILE is set: unset it";
  if (level && (!strcasecmp(level, "INFO") || !strcasecmp(level, "TRACE")))
    trouble_ = "NCCL_DEBUG is set: read NCCL's own log lines, or unset it";
  if (!trouble_.empty()) return;
  const int memory = memfd_create("nccl_log", MFD_CLOEXEC);
  if (memory < 0) {
    trouble_ = "memfd_create failed";
    return;
  }
  file_ = "/proc/self/fd/" + std::to_string(memory);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 1);
  setenv("NCCL_DEBUG_FILE", file_.c_str(), 1);
}

std::string NcclLog::text() const { return file_text(file_); }

}  // namespace drl
