// What a build without CUDA lacks: the placement of such a build never names a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "device/queue.hpp"
#include "nets/nets.hpp"
#include "run/train_options.hpp"

namespace drl {

// On GPU number `gpu`, which this thread uses from then on.
std::unique_ptr<Queue> gpu_queue(int gpu, Isa isa);
std::unique_ptr<Nets> gpu_nets(Queue& queue, ParamLayout layout, int64_t rows);
// What carries all-reduces in the GPUs' memory; `host` carries what is in the host's. Collective.
std::unique_ptr<Communicator> gpu_communicator(const GpuOptions& options, int gpu, Communicator& host,
                                               const std::vector<std::string>& hosts);

}  // namespace drl
