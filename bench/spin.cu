#include "device/gpu_loop.hpp"
#include "spin.hpp"

namespace drl {
namespace {

struct Spin {
  uint64_t nanoseconds;
  DRL_HD void operator()(int64_t) const {
    const uint64_t begin = gpuNanoseconds();
    while (gpuNanoseconds() - begin < nanoseconds) {
    }
  }
};

}  // namespace

void enqueue_spin(Queue& queue, uint64_t nanoseconds) { DRL_GPU(gpu::launch(queue.native(), 0, 1, Spin{nanoseconds})); }

}  // namespace drl
