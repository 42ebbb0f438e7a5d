#include "apps/gpu.hpp"

#include "base/check.hpp"

#if defined(DRL_CUDA)
#include "cluster/cuda_support.hpp"
#include "cluster/nccl_communicator.hpp"
#include "device/gpu_queue.hpp"
#include "nets/gpu/gpu_nets.hpp"
#endif

namespace drl {

#if defined(DRL_CUDA)

std::unique_ptr<Queue> gpu_queue(int gpu, Isa isa) {
  use_gpu(gpu);
  return make_gpu_queue(isa);
}

std::unique_ptr<Nets> gpu_nets(Queue& queue, ParamLayout layout, int64_t rows) {
  return make_gpu_nets(queue, std::move(layout), rows);
}

std::unique_ptr<Communicator> gpu_communicator(const GpuOptions& options, int gpu, Communicator& host,
                                               const std::vector<std::string>& hosts) {
  if (host.size() == 1) return make_serial_communicator();
  use_gpu(gpu);
  NcclOptions nccl;
  nccl.init_timeout = options.init_timeout;
  nccl.comm_timeout = options.comm_timeout;
  nccl.deterministic = options.deterministic;
  nccl.device = gpu;
  nccl.hosts = hosts;
  return make_nccl_communicator(host, nccl);
}

#else

namespace {
[[noreturn]] void no_gpus() { throw Error("this build computes on CPUs only"); }
}  // namespace
std::unique_ptr<Queue> gpu_queue(int, Isa) { no_gpus(); }
std::unique_ptr<Nets> gpu_nets(Queue&, ParamLayout, int64_t) { no_gpus(); }
std::unique_ptr<Communicator> gpu_communicator(const GpuOptions&, int, Communicator&, const std::vector<std::string>&) {
  no_gpus();
}

#endif

}  // namespace drl
