// What the tests of NCCL's communicator share. Every rank runs every test; with the real runtime the ranks may share a
// GPU.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../mpi_main.hpp"
#include "cluster/nccl_communicator.hpp"
#include "gpu_rig.hpp"

namespace drl::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// This rank's GPU, which it may share with others.
inline int shared_gpu(int rank) {
#if !defined(DRL_GPU_HOST)
  ::setenv("DRL_TEST_SHARE_GPU", "1", 1);
#endif
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
    stream = std::make_unique<gpu::Stream>();
  }
  // All ranks end a test before one begins the next.
  void TearDown() override {
    double one = 1;
    world().all_reduce_sum(std::span(&one, 1));
  }

  std::unique_ptr<Communicator> connect() const { return make_nccl_communicator(world(), options); }

  template <class T>
  void all_reduce(Communicator& comm, gpu::Array<T>& data, int times = 1) const {
    for (int k = 0; k < times; ++k) comm.all_reduce_sum(std::span<T>(data.data(), data.size()), {stream->get()});
  }
  // As a training loop does: an event behind the work, and a wait for it.
  void wait(Communicator& comm) const {
    gpu::Event event;
    event.record(*stream);
    comm.wait([&] { return gpu::has_ended(gpuEventQuery(event.get()), "gpuEventQuery"); });
  }

  NcclOptions options{.init_timeout = 60, .comm_timeout = 60, .hosts = {}};
  std::unique_ptr<gpu::Stream> stream;
};

}  // namespace drl::test
