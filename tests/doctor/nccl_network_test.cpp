// Tests how the doctor finds and judges the network that NCCL chose. The logs come from public issues.
#include "doctor/nccl_network.hpp"

#include <gtest/gtest.h>

#include "../support/temp_folder.hpp"
#include "finding.hpp"

namespace drl {
namespace {

// github.com/NVIDIA/nccl-tests/issues/185, NCCL 2.19.3
constexpr const char* kRoce =
    "dgxh100-4:460770:460770 [0] NCCL INFO Bootstrap : Using enp220s0np0:11.1.128.136<0>\n"
    "dgxh100-4:460770:460770 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No "
    "such "
    "file or directory No plugin found (libnccl-net.so), using internal implementation\n"
    "dgxh100-4:460770:460770 [0] NCCL INFO cudaDriverVersion 12000\n"
    "NCCL version 2.19.3+cuda12.3\n"
    "dgxh100-4:460770:460842 [0] NCCL INFO NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/RoCE [RO]; OOB "
    "enp220s0np0:11.1.128.136<0>\n"
    "dgxh100-4:460770:460842 [0] NCCL INFO Using non-device net plugin version 0\n"
    "dgxh100-4:460770:460842 [0] NCCL INFO Using network IB\n";
// github.com/NVIDIA/nccl/issues/1267, NCCL 2.19.3
constexpr const char* kSocket =
    "instance-8g-96c-3:2744870:2744870 [0] NCCL INFO Bootstrap : Using ens7:10.128.0.32<0>\n"
    "instance-8g-96c-3:2744870:2745046 [0] NCCL INFO NET/IB : No device found.\n"
    "instance-8g-96c-3:2744870:2745046 [0] NCCL INFO NET/Socket : Using [0]ens7:10.128.0.32<0>\n"
    "instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Using non-device net plugin version 0\n"
    "instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Using network Socket\n";
// github.com/NVIDIA/nccl/issues/1597
constexpr const char* kEfa =
    "8h200-2:6831:6840 [0] NCCL INFO NET/OFI Selected Provider is efa (found 16 nics)\n"
    "8h200-2:6831:6840 [0] NCCL INFO NET/OFI Creating one domain per process\n"
    "8h200-2:6831:6840 [0] NCCL INFO PROFILER/Plugin: Could not find: libnccl-profiler.so.\n"
    "8h200-2:6831:6840 [0] NCCL INFO Using network Libfabric\n";
// github.com/NVIDIA/nccl/issues/1357, with the plugin of HPC-X
constexpr const char* kHpcx =
    "qh100-gpu19:49357:49418 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP [RO]; OOB "
    "ibp25s0:10.20.0.119<0>\n"
    "qh100-gpu19:49357:49418 [3] NCCL INFO Using network IBext\n";
// github.com/ROCm/rccl/issues/419, without relaxed ordering
constexpr const char* kIb =
    "e05r3n09:929:929 [2] NCCL INFO NET/IB : Using [0]mlx5_3:1/IB [1]mlx5_2:1/IB ; OOB ib0:11.5.5.50<0>\n"
    "e05r3n09:929:929 [2] NCCL INFO Using network IB\n";

TEST(NcclLog, ContainsTheNetworkAndItsAdapters) {
  const auto text = [](const char* log) {
    const NcclNetwork network = network_of_log(log);
    return network.name + ": " + network.adapters;
  };
  EXPECT_EQ(text(kRoce), "IB: mlx5_10:1/RoCE mlx5_11:1/RoCE");
  EXPECT_EQ(text(kSocket), "Socket: ens7");
  EXPECT_EQ(text(kEfa), "Libfabric: efa");
  EXPECT_EQ(text(kHpcx), "IBext: mlx5_0:1/IB/SHARP mlx5_1:1/IB/SHARP");
  EXPECT_EQ(text(kIb), "IB: mlx5_3:1/IB mlx5_2:1/IB");
  // A log of aws-ofi-nccl 1.15 or newer with NCCL_NET="AWS Libfabric".
  EXPECT_EQ(text("a:1:2 [0] NCCL INFO NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)\n"
                 "a:1:2 [0] NCCL INFO Using network AWS Libfabric\n"),
            "AWS Libfabric: cxi");
  EXPECT_EQ(text("NCCL version 2.28.9+cuda13.0\n"), ": ");
}

TEST(NcclLog, DeterminesTheFabric) {
  EXPECT_EQ(fabric_of(network_of_log(kRoce)), "RoCE");
  EXPECT_EQ(fabric_of(network_of_log(kSocket)), "Ethernet");
  EXPECT_EQ(fabric_of(network_of_log(kEfa)), "EFA");
  EXPECT_EQ(fabric_of(network_of_log(kHpcx)), "InfiniBand");
  EXPECT_EQ(fabric_of(network_of_log(kIb)), "InfiniBand");
  EXPECT_EQ(fabric_of({.name = "AWS Libfabric", .adapters = "cxi", .fabrics = {}, .wish = "", .trouble = ""}),
            "Slingshot");
  EXPECT_EQ(fabric_of({.name = "Libfabric", .adapters = "tcp;ofi_rxm", .fabrics = {}, .wish = "", .trouble = ""}),
            "Ethernet");
  EXPECT_EQ(fabric_of({}), "Ethernet") << "unknown";
}

class FabricsOfNode : public testing::Test {
 protected:
  void adapter(const std::string& name, const std::string& state, const std::string& layer) const {
    const std::filesystem::path port = folder / ("sys/class/infiniband/" + name + "/ports/1");
    std::filesystem::create_directories(port);
    spill(port / "state", state + "\n");
    spill(port / "link_layer", layer + "\n");
  }
  TempFolder folder;
};

TEST_F(FabricsOfNode, AreThoseWithALinkThatIsUp) {
  adapter("mlx5_1", "4: ACTIVE", "InfiniBand");
  adapter("mlx5_0", "4: ACTIVE", "InfiniBand");
  adapter("mlx5_2", "1: DOWN", "InfiniBand");
  adapter("mlx5_3", "4: ACTIVE", "Ethernet");
  adapter("rdmap0s6", "4: ACTIVE", "Unspecified");
  std::filesystem::create_directories(folder / "sys/class/cxi/cxi0");
  std::filesystem::create_directories(folder / "sys/class/net/hsn0");
  const Fabrics fabrics = fabrics_of(folder.path());
  EXPECT_EQ(
      fabrics,
      (Fabrics{
          {"InfiniBand", {"mlx5_0", "mlx5_1"}}, {"RoCE", {"mlx5_3"}}, {"EFA", {"rdmap0s6"}}, {"Slingshot", {"cxi0"}}}));
}

TEST_F(FabricsOfNode, FindSlingshotByItsNetworkInterfaces) {
  const auto interface = [&](const std::string& name, const std::string& driver, const std::string& state) {
    const std::filesystem::path place = folder / ("sys/class/net/" + name);
    std::filesystem::create_directories(place / "device");
    std::filesystem::create_symlink("../../bus/pci/drivers/" + driver, place / "device/driver");
    spill(place / "operstate", state + "\n");
  };
  interface("eth0", "ixgbe", "up");
  interface("hsn0", "cxi_ss1", "up");
  interface("hsn1", "cxi_ss1", "down");
  interface("hsn2", "mlx5_core", "up");  // Slingshot 10, which is Ethernet
  const Fabrics fabrics = fabrics_of(folder.path());
  EXPECT_EQ(fabrics, (Fabrics{{"Slingshot", {"hsn0"}}}));
}

const std::vector<std::string> kTwoNodes = {"n1", "n2"};

Check finding(NcclNetwork network, const Fabrics& fabrics, const std::string& wish = "") {
  network.fabrics = fabrics;
  network.wish = wish;
  return network_finding({network, network}, kTwoNodes);
}
Fabrics infiniband() { return {{"InfiniBand", {"mlx5_0"}}}; }
Fabrics roce() { return {{"RoCE", {"mlx5_3"}}}; }
Fabrics efa() { return {{"EFA", {"rdmap0s6"}}}; }
Fabrics slingshot() { return {{"Slingshot", {"cxi0"}}}; }

TEST(Network, IsOkIfItIsFast) {
  expect_finding(finding(network_of_log(kIb), infiniband()), Status::ok, {"IB (mlx5_3:1/IB mlx5_2:1/IB)"});
  EXPECT_EQ(finding(network_of_log(kEfa), efa()).status, Status::ok);
  EXPECT_EQ(finding(network_of_log(kHpcx), infiniband()).status, Status::ok);
}

TEST(Network, FailsIfItIsTcpAlthoughAFasterOneExists) {
  const NcclNetwork socket = network_of_log(kSocket);
  expect_finding(finding(socket, infiniband()), Status::failed,
                 {"Socket (ens7)", "InfiniBand (mlx5_0)", "rank 0 on n1; rank 1 on n2"},
                 {"libibverbs.so.1", "NCCL_IB_HCA==mlx5_0"});
  expect_finding(finding(socket, efa()), Status::failed, {},
                 {"aws-ofi-nccl", "libnccl-net.so", "LD_LIBRARY_PATH", "FI_PROVIDER=efa"});
  expect_finding(finding(socket, slingshot()), Status::failed, {}, {"FI_PROVIDER=cxi", "NCCL_SOCKET_IFNAME=hsn"});
  expect_mentions(finding(socket, infiniband(), "NCCL_IB_DISABLE").remedy, {"unset NCCL_IB_DISABLE"});
}

TEST(Network, LibfabricOverTcpIsTcp) {
  EXPECT_EQ(finding(network_of_log("NET/OFI Selected provider is tcp;ofi_rxm, fabric is 10.0.0.0/8 (found 1 nics)\n"
                                   "Using network Libfabric\n"),
                    slingshot())
                .status,
            Status::failed);
}

TEST(Network, NamesAdaptersThatMaySupportRoce) {
  const Check check = finding(network_of_log(kSocket), roce());
  EXPECT_EQ(check.status, Status::ok) << "many such adapters are for management or are set up for TCP only";
  expect_mentions(check.finding, {"Socket (ens7)", "RoCE", "mlx5_3"});
  expect_mentions(finding(network_of_log(kSocket), {}).finding, {"Socket (ens7)", "TCP"});
  EXPECT_EQ(finding(network_of_log(kSocket), {}).status, Status::ok);
}

TEST(Network, IsOkOnASingleNode) {
  NcclNetwork socket = network_of_log(kSocket);
  socket.fabrics = infiniband();
  expect_finding(network_finding({socket, socket}, {"n1", "n1"}), Status::ok, {"Socket (ens7)", "one node"});
}

TEST(Network, FailsIfRanksUseDifferentOnes) {
  expect_finding(network_finding({network_of_log(kSocket), network_of_log(kIb)}, kTwoNodes), Status::failed,
                 {"Socket (rank 0 on n1)", "IB (rank 1 on n2)"}, {"NCCL_NET"});
}

TEST(Network, IsSkippedWithoutALog) {
  NcclNetwork silent;
  EXPECT_EQ(network_finding({silent, silent}, kTwoNodes).status, Status::skipped);
  silent.trouble = "NCCL_DEBUG is set: unset it";
  expect_finding(network_finding({silent, silent}, kTwoNodes), Status::skipped, {"NCCL_DEBUG is set: unset it"});
}

TEST(Network, FindsTheVariableThatDisablesAFasterOne) {
  const auto wish = [](const Fabrics& fabrics, const std::string& variable, const std::string& value) {
    return disabling_variable([=](const char* name) { return name == variable ? std::optional(value) : std::nullopt; },
                              fabrics);
  };
  for (const Fabrics& fabrics : {infiniband(), efa(), slingshot()}) {
    EXPECT_EQ(wish(fabrics, "NCCL_NET", "Socket"), "NCCL_NET");
    EXPECT_EQ(wish(fabrics, "NCCL_NET", "IB"), "");
  }
  EXPECT_EQ(wish(infiniband(), "NCCL_IB_DISABLE", "1"), "NCCL_IB_DISABLE");
  EXPECT_EQ(wish(infiniband(), "NCCL_IB_DISABLE", "0"), "");
  EXPECT_EQ(wish(infiniband(), "NCCL_IB_HCA", "mlx5_9"), "NCCL_IB_HCA");
  EXPECT_EQ(wish(infiniband(), "NCCL_NET_PLUGIN", "none"), "") << "InfiniBand needs no plugin";
  EXPECT_EQ(wish(efa(), "NCCL_NET_PLUGIN", "none"), "NCCL_NET_PLUGIN");
  EXPECT_EQ(wish(slingshot(), "NCCL_IB_DISABLE", "1"), "") << "Slingshot does not use InfiniBand verbs";
}

}  // namespace
}  // namespace drl
