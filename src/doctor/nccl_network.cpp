#include "doctor/nccl_network.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/text.hpp"
#include "cluster/roll_call.hpp"
#include "doctor/findings.hpp"
#include "doctor/rank_facts.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Names in this folder, sorted; none if it is not there.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Of the ports that are up ("4: ACTIVE") the kind of the first: "InfiniBand", "Ethernet", "Unspecified"; "" if none is.
std::string link_layer(const fs::path& device) {
  for (const std::string& port : names_in(device / "ports"))
    if (text_of(device / "ports" / port / "state").find("ACTIVE") != std::string::npos)
      return std::string(trim(text_of(device / "ports" / port / "link_layer")));
  return "";
}

// What stands between `begin` and `end` in the first line that holds `begin`.
std::string between(const std::string& log, const std::string& begin, const std::string& end) {
  const size_t at = log.find(begin);
  if (at == std::string::npos) return "";
  const std::string line = log.substr(at + begin.size(), log.find('\n', at) - at - begin.size());
  return std::string(trim(line.substr(0, line.find(end))));
}

// "mlx5_0:1/IB mlx5_1:1/IB" from "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]"; "eth0" from "[0]eth0:10.0.0.1<0>".
std::string without_places(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& word : split(list, ' ')) {
    std::string name = word.substr(word.find(']') + 1);
    if (const size_t address = name.find('<'); address != std::string::npos) name = name.substr(0, name.find(':'));
    if (!name.empty()) names.push_back(name);
  }
  return join(names, " ");
}

// TCP, be it NCCL's own or libfabric's.
bool is_plain(const NcclNetwork& network) {
  if (network.name == "Socket") return true;
  return network.adapters.starts_with("tcp") || network.adapters.starts_with("sockets") ||
         network.adapters.starts_with("udp");
}

std::string text_of(const NcclNetwork& network) {
  return network.name + (network.adapters.empty() ? "" : " (" + network.adapters + ")");
}

std::string better_one(const Fabrics& fabrics) {
  if (!fabrics.slingshot.empty()) return "Slingshot (" + join(fabrics.slingshot, ", ") + ")";
  if (!fabrics.efa.empty()) return "EFA (" + join(fabrics.efa, ", ") + ")";
  if (!fabrics.infiniband.empty()) return "InfiniBand (" + join(fabrics.infiniband, ", ") + ")";
  return "";
}

std::string way_to(const Fabrics& fabrics) {
  const std::string plugin =
      "NCCL lacks its plugin aws-ofi-nccl: have the folder of libnccl-net.so in LD_LIBRARY_PATH ";
  if (!fabrics.slingshot.empty())
    return plugin + "(module avail aws-ofi-nccl), and set FI_PROVIDER=cxi and NCCL_SOCKET_IFNAME=hsn";
  if (!fabrics.efa.empty())
    return plugin + "(on EC2 /opt/amazon/ofi-nccl/lib or /opt/amazon/aws-ofi-nccl/lib), and set FI_PROVIDER=efa";
  return "NCCL needs libibverbs.so.1 and /dev/infiniband on all nodes, in containers too; ibstat shows the adapters' "
         "state, and NCCL_IB_HCA==" +
         join(fabrics.infiniband, ",") + " names them";
}

}  // namespace

Fabrics fabrics_of(const fs::path& root) {
  Fabrics fabrics;
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& name : names_in(devices)) {
    const std::string layer = link_layer(devices / name);
    if (layer.empty()) continue;
    const bool efa = name.starts_with("efa") || name.starts_with("rdmap");
    (efa ? fabrics.efa : layer == "InfiniBand" ? fabrics.infiniband : fabrics.roce).push_back(name);
  }
  fabrics.slingshot = names_in(root / "sys/class/cxi");
  if (!fabrics.slingshot.empty()) return fabrics;
  const fs::path interfaces = root / "sys/class/net";
  for (const std::string& name : names_in(interfaces)) {
    std::error_code none;
    const std::string driver = fs::read_symlink(interfaces / name / "device/driver", none).filename();
    const bool up = trim(text_of(interfaces / name / "operstate")) == "up";
    if (name.starts_with("hsn") && driver.starts_with("cxi") && up) fabrics.slingshot.push_back(name);
  }
  return fabrics;
}

// Lines of NCCL 2.18 to 2.30 (init.cc, transport/net_ib, transport/net_socket.cc) and of aws-ofi-nccl
// (nccl_ofi_net.cpp).
NcclNetwork network_of_log(const std::string& log) {
  NcclNetwork network;
  network.name = between(log, "Using network ", "\n");
  if (network.name == "Socket") {
    network.adapters = without_places(between(log, "NET/Socket : Using", "\n"));
  } else if (network.name.starts_with("IB")) {  // "IBext_v8" is that of the plugin of NVIDIA's HPC-X
    network.adapters = without_places(between(log, "NET/IB : Using", "[RO]"));
    network.adapters = network.adapters.substr(0, network.adapters.find(" ; OOB"));
  } else if (network.name.ends_with("Libfabric")) {
    for (const char* before : {"Selected provider is ", "Selected Provider is "})
      if (network.adapters.empty()) network.adapters = between(log, before, " (found");
    network.adapters = network.adapters.substr(0, network.adapters.find(','));
  }
  return network;
}

std::string network_wish(const Environment& environment, const Fabrics& fabrics) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  const bool by_plugin = !fabrics.slingshot.empty() || !fabrics.efa.empty();
  if (value("NCCL_NET") == "Socket" || value("NCCL_NET") == "socket") return "NCCL_NET";
  if (by_plugin) return value("NCCL_NET_PLUGIN") == "none" ? "NCCL_NET_PLUGIN" : "";
  if (!value("NCCL_IB_DISABLE").empty() && value("NCCL_IB_DISABLE") != "0") return "NCCL_IB_DISABLE";
  return value("NCCL_IB_HCA").empty() ? "" : "NCCL_IB_HCA";
}

Check network_finding(const std::vector<NcclNetwork>& networks, const std::vector<std::string>& hosts) {
  const std::string check = "NCCL network";
  const NcclNetwork& first = networks.front();
  std::vector<std::string> names;
  for (const NcclNetwork& network : networks) {
    if (network.name.empty())
      return {check, Status::skipped,
              "not known (" + (network.trouble.empty() ? "NCCL's log does not tell it" : network.trouble) + ")"};
    names.push_back(network.name);
  }
  if (hosts_of(hosts).size() == 1)
    return {check, Status::ok, text_of(first) + ", not needed: the ranks are on one node"};
  if (hosts_of(names).size() > 1)
    return {check, Status::failed, "the ranks took different ones: " + by_value(names, hosts),
            "load the same modules and plugins on all nodes, or name one: NCCL_NET=Socket or NCCL_NET=IB"};

  std::vector<int> wasting;
  for (size_t rank = 0; rank < networks.size(); ++rank)
    if (is_plain(networks[rank]) && !better_one(networks[rank].fabrics).empty())
      wasting.push_back(static_cast<int>(rank));
  if (!wasting.empty()) {
    const NcclNetwork& network = networks[static_cast<size_t>(wasting.front())];
    return {check, Status::failed,
            text_of(network) + " is plain TCP, while " + better_one(network.fabrics) + " is there (" +
                ranks_text(wasting, hosts) + ")",
            network.wish.empty() ? way_to(network.fabrics)
                                 : "unset " + network.wish + ", which speaks against it (modules set it, perhaps)"};
  }
  if (!is_plain(first)) return {check, Status::ok, text_of(first)};
  return {check, Status::ok,
          text_of(first) + ": plain TCP, and " +
              (first.fabrics.roce.empty()
                   ? "nothing faster is there"
                   : "only adapters that may know RoCE besides (" + join(first.fabrics.roce, ", ") + ")")};
}

}  // namespace drl
