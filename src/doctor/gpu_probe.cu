// Compiled by nvcc, and for tests by the host's compiler.
#include <cstdint>
#include <memory>

#include "base/check.hpp"
#include "comm/patience.hpp"
#include "device/array.hpp"
#include "device/gpu_loop.hpp"
#include "device/gpu_queue.hpp"
#include "doctor/checks.hpp"
#include "drl/hd.hpp"
#include "placement/cuda_support.hpp"

namespace drl {
namespace {

constexpr int64_t kNumbers = 1 << 16;

struct ThreeTimesPlusOne {
  uint32_t* numbers;
  DRL_HD void operator()(int64_t i) const { numbers[i] = 3 * static_cast<uint32_t>(i) + 1; }
};

bool comes_to_rest(Queue& queue, double seconds) {
  Patience patience;
  for (int64_t round = 0; !queue.done(); ++round) {
    if (patience.seconds() > seconds) return false;
    nap(round);
  }
  return true;
}

// Memory that a kernel uses; left alone when the kernel hangs, as freeing would wait for it.
struct Numbers {
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<uint32_t> on_device{*queue, kNumbers}, on_host{*queue, kNumbers, Memory::host};
};

}  // namespace

std::string try_kernel(int device, double seconds) {
  try {
    use_gpu(device);
    auto numbers = std::make_unique<Numbers>();
    gpu::launch_loop(numbers->queue->native(), 0, kNumbers, ThreeTimesPlusOne{numbers->on_device.data()});
    numbers->queue->copy(numbers->on_host.data(), numbers->on_device.data(), kNumbers);
    if (!comes_to_rest(*numbers->queue, seconds)) {
      (void)numbers.release();
      return "it did not end within " + std::to_string(static_cast<int>(seconds)) + " s";
    }
    for (uint32_t i = 0; i < kNumbers; ++i)
      if (numbers->on_host[i] != 3 * i + 1) return "its results are wrong";
    return "";
  } catch (const Error& error) {
    (void)gpuGetLastError();
    return check_of_message(Status::failed, error.what()).finding;
  }
}

}  // namespace drl
