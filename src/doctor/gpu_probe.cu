// Compiled by nvcc, and for tests by the host's compiler.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "cluster/gpu_identity.hpp"
#include "cluster/nccl_communicator.hpp"
#include "cluster/patience.hpp"
#include "device/array.hpp"
#include "device/gpu_loop.hpp"
#include "device/gpu_queue.hpp"
#include "doctor/gpu_probe.hpp"
#include "drl/hd.hpp"

namespace drl {
namespace {

constexpr int64_t kNumbers = 1 << 16;
constexpr int64_t kThreadsPerProcessor = 2048;  // as many as fit
constexpr double kKernelTime = 4e-3;            // s, at least
constexpr int kTries = 5;
constexpr int kMostSteps = 1 << 24;

struct ThreeTimesPlusOne {
  uint32_t* numbers;
  DRL_HD void operator()(int64_t i) const { numbers[i] = 3 * static_cast<uint32_t>(i) + 1; }
};

// Multiplications and additions in registers, eight independent chains a thread.
struct Arithmetic {
  float* out;
  int steps;
  DRL_HD void operator()(int64_t i) const {
    float x[8];
    for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(i + k);
    for (int step = 0; step < steps; ++step)
      for (int k = 0; k < 8; ++k) x[k] = x[k] * 0.999f + 0.001f;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += x[k];
    out[i] = sum;
  }
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
template <class T>
struct Buffers {
  explicit Buffers(size_t size) : on_device(*queue, size), on_host(*queue, size, Memory::host) {}
  template <class Function>
  void launch(const Function& function) {
    gpu::launch_loop(queue->native(), 0, static_cast<int64_t>(on_device.size()), function);
  }
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<T> on_device, on_host;
};

}  // namespace

std::string cuda_runtime_version() {
  int version = 0;
  DRL_GPU(gpuRuntimeGetVersion(&version));
  return cuda_version_text(version);
}

std::string try_kernel(int device, double seconds) {
  try {
    DRL_GPU(gpuSetDevice(device));
    auto numbers = std::make_unique<Buffers<uint32_t>>(kNumbers);
    numbers->launch(ThreeTimesPlusOne{numbers->on_device.data()});
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
    return runtime_reason(error.what());
  }
}

double fastest_kernel(int device, double seconds, const std::function<void()>& meanwhile) {
  gpuDeviceProp properties{};
  DRL_GPU(gpuGetDeviceProperties(&properties, device));
  const int64_t threads = properties.multiProcessorCount * kThreadsPerProcessor;
  auto buffers = std::make_unique<Buffers<float>>(static_cast<size_t>(threads));
  const std::unique_ptr<Queue::Event> begin = buffers->queue->make_event(), end = buffers->queue->make_event();
  const auto time = [&](int steps, const std::function<void()>& while_it_runs) {
    begin->record();
    buffers->launch(Arithmetic{buffers->on_device.data(), steps});
    end->record();
    while_it_runs();
    if (!comes_to_rest(*buffers->queue, seconds)) {
      (void)buffers.release();
      throw Error("the GPU failed (a kernel of 5 ms did not end within " + std::to_string(static_cast<int>(seconds)) +
                  " s): look at it by nvidia-smi and dmesg");
    }
    return end->seconds_since(*begin);
  };
  int steps = 64;
  while (time(steps, [] {}) < kKernelTime && steps < kMostSteps) steps *= 2;
  double best = HUGE_VAL;
  for (int k = 0; k < kTries; ++k) best = std::min(best, time(steps, k + 1 < kTries ? [] {} : meanwhile));
  return best / steps;
}

PeerAccess peer_access(int device) {
  PeerAccess access;
  int count = 0;
  DRL_GPU(gpuGetDeviceCount(&count));
  for (int other = 0; other < count; ++other) {
    if (other == device) continue;
    const GpuIdentity gpu = this_gpu(other);
    int reached = 0;
    DRL_GPU(gpuDeviceCanAccessPeer(&reached, device, other));
    access.visible.push_back(gpu.uuid.empty() ? gpu.pci : gpu.uuid);
    if (!reached) access.out_of_reach.push_back(access.visible.back());
  }
  return access;
}

struct GpuAllReduce::OnDevice {
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<float> data{*queue, kLarge / sizeof(float)};
  Array<float> on_host{*queue, kMedium / sizeof(float), Memory::host};
  std::unique_ptr<RecordedWork> recording;
};

GpuAllReduce::GpuAllReduce(Communicator& nccl) : nccl_(nccl), device_(std::make_unique<OnDevice>()) {}

// As the communicator: after a failure nothing is freed, which would wait for the GPU.
GpuAllReduce::~GpuAllReduce() {
  if (std::uncaught_exceptions() > 0) (void)device_.release();
}

bool GpuAllReduce::is_right(int64_t bytes) {
  OnDevice& on = *device_;
  const std::vector<float> mine = summands(nccl_.rank(), bytes);
  std::ranges::copy(mine, on.on_host.data());
  on.queue->copy(on.data.data(), on.on_host.data(), mine.size());
  nccl_.all_reduce_sum(std::span(on.data.data(), mine.size()), {on.queue->native()});
  on.queue->copy(on.on_host.data(), on.data.data(), mine.size());
  nccl_.wait([&] { return on.queue->done(); });
  return drl::is_right({on.on_host.data(), on.on_host.data() + mine.size()}, nccl_.size());
}

// One by one they would take the time that the host needs to enqueue them.
double GpuAllReduce::repeat(int64_t bytes, int times) {
  OnDevice& on = *device_;
  const double before = nccl_.stats().wait_seconds;
  const auto enqueue = [&] {
    for (int k = 0; k < times; ++k)
      nccl_.all_reduce_sum(std::span(on.data.data(), static_cast<size_t>(bytes) / sizeof(float)), {on.queue->native()});
  };
  if (times == 1) {
    enqueue();
  } else {
    const CommStats captured = nccl_.capture([&] { on.recording = on.queue->record(enqueue); });
    on.queue->launch(*on.recording);
    nccl_.count_replayed(captured, {on.queue->native()});
  }
  nccl_.wait([&] { return on.queue->done(); });
  return nccl_.stats().wait_seconds - before;
}

}  // namespace drl
