// Tests a GPU with a small kernel. The GPU's compiler compiles this file; tests also compile it with the host's. Clang
// 15 cannot compile nlohmann-json for AMD GPUs, so no header here includes it.
#include <cstdint>
#include <memory>

#include "comm/patience.hpp"
#include "device/array.hpp"
#include "device/gpu_loop.hpp"
#include "device/gpu_queue.hpp"
#include "doctor/gpu_probe.hpp"
#include "drl/lanes/hd.hpp"
#include "placement/cuda_support.hpp"

namespace drl {
namespace {

constexpr int64_t kNumbers = 1 << 16;

struct ThreeTimesPlusOne {
  uint32_t* numbers;
  DRL_HD void operator()(int64_t i) const { numbers[i] = 3 * static_cast<uint32_t>(i) + 1; }
};

bool finishes_within(Queue& queue, double seconds) {
  Patience patience;
  for (int64_t round = 0; !queue.done(); ++round) {
    if (patience.seconds() > seconds) return false;
    nap(round);
  }
  return true;
}

// Memory of the kernel. It is leaked if the kernel hangs, because freeing it would wait for the kernel.
struct KernelBuffers {
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<uint32_t> on_device{*queue, kNumbers}, on_host{*queue, kNumbers, Memory::host};
};

}  // namespace

std::string run_kernel(int device, double seconds) {
  use_gpu(device);
  auto numbers = std::make_unique<KernelBuffers>();
  gpu::launch_loop(numbers->queue->native(), 0, kNumbers, ThreeTimesPlusOne{numbers->on_device.data()});
  numbers->queue->copy(numbers->on_host.data(), numbers->on_device.data(), kNumbers);
  if (!finishes_within(*numbers->queue, seconds)) {
    (void)numbers.release();
    return "the kernel did not finish within " + std::to_string(static_cast<int>(seconds)) + " s";
  }
  for (uint32_t i = 0; i < kNumbers; ++i)
    if (numbers->on_host[i] != 3 * i + 1) return "the kernel's results are wrong";
  return "";
}

}  // namespace drl
