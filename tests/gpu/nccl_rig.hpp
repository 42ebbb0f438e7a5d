// Shared by the tests of NCCL's communicator. Every rank runs every test; with the real runtime the ranks may share a
// GPU.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../mpi_main.hpp"
#include "comm/nccl_communicator.hpp"
#include "gpu_rig.hpp"

namespace drl::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// In the emulation each rank has a separate GPU.
#if defined(DRL_GPU_RUNTIME)
constexpr bool kMayShareGpu = false;
#else
constexpr bool kMayShareGpu = true;
#endif

// Returns this rank's GPU, which it may share with other ranks. NCCL refuses two ranks on one GPU of a host, so this
// sets NCCL's variables, which NCCL reads when it starts, such that each rank appears as a separate host on the
// loopback interface.
inline int shared_gpu(int rank) {
  if (kMayShareGpu) {
    const auto set_if_unset = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); };
    set_if_unset("NCCL_HOSTID", std::to_string(rank));
    set_if_unset("NCCL_SOCKET_IFNAME", "lo");
    set_if_unset("NCCL_NET", "Socket");
    set_if_unset("NCCL_NET_PLUGIN", "none");
    for (const char* name : {"NCCL_COLLNET_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE"}) set_if_unset(name, "0");
    set_if_unset("NCCL_MAX_CTAS", "1");
  }
  int count = 1;
  DRL_GPU(gpuGetDeviceCount(&count));
  return rank % count;
}

class NcclTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    options.device = shared_gpu(world().rank());
    options.hosts.assign(static_cast<size_t>(world().size()), "testhost");
    DRL_GPU(gpuSetDevice(options.device));
    queue = make_gpu_queue();
  }
  // All ranks finish a test before any rank starts the next one.
  void TearDown() override {
    double one = 1;
    world().all_reduce_sum(std::span(&one, 1));
  }

  std::unique_ptr<Communicator> connect() const { return make_nccl_communicator(world(), options); }

  template <class T>
  void all_reduce(Communicator& comm, Array<T>& data, int times = 1) const {
    for (int k = 0; k < times; ++k) comm.all_reduce_sum(std::span<T>(data.data(), data.size()), {queue->native()});
  }
  void wait(Communicator& comm) const {
    comm.wait([&] { return queue->done(); });
  }
  // Recorded all-reduces that are launched together.
  struct Recorded {
    std::unique_ptr<RecordedWork> work;
    CommStats captured;
  };
  template <class T>
  Recorded record(Communicator& comm, Array<T>& data, int times) const {
    Recorded recorded;
    recorded.captured = comm.capture([&] { recorded.work = queue->record([&] { all_reduce(comm, data, times); }); });
    return recorded;
  }
  void launch(Communicator& comm, Recorded& recorded, int times = 1) const {
    for (int k = 0; k < times; ++k) {
      queue->launch(*recorded.work);
      comm.count_replayed(recorded.captured, {queue->native()});
    }
  }

  NcclOptions options{.init_timeout = 60, .comm_timeout = 60, .hosts = {}, .may_share_gpu = kMayShareGpu};
  std::unique_ptr<Queue> queue;
};

}  // namespace drl::test
