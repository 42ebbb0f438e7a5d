// An emulation of the CUDA runtime on the CPU, to test GPU code without a GPU. It has the names and semantics of
// drl/lanes/gpu_runtime.hpp and gpu/runtime.hpp. The threads of a kernel run one after the other. Memory comes from
// malloc, so that the sanitizers see every access. A stream runs work as soon as it is enqueued. A graph contains the
// work that was enqueued while it was captured and nothing else, so that tests notice work that is missing in a graph.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "drl/lanes/hd.hpp"
#include "gpu/libraries.hpp"

namespace drl::gpu {

enum class HostWork { kernel, copy, clear, product, collective, event };
struct HostNode {
  HostWork kind;
  std::function<void()> work;
};
struct HostGraph {
  std::vector<HostNode> nodes;
};
struct HostStream {
  std::unique_ptr<HostGraph> capturing;
  bool capture_failed = false;     // by a call that is not allowed during a capture
  std::atomic<bool> stuck{false};  // in a kernel or collective that never ends; later work is never done
};
struct HostEvent {
  std::chrono::steady_clock::time_point time;
  bool passed = true, captured = false;
};
// Rounds to 11 significant bits.
inline float host_tf32(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}
struct HostBlas {
  HostStream* stream = nullptr;
  int math = 0;
};

// The PCI bus of the device. By default each process has a different one.
inline int& host_pci_bus() {
  static int bus = ::getpid();
  return bus;
}

// Tests that run a program as a child process can set DRL_HOST_GPUS. It lists the process's devices by name and number
// ("H100 1,H100 2"); equal numbers are the same device. The numbers are those of the PCI bus. The list begins with the
// fastest device, as CUDA's own does, unless CUDA_DEVICE_ORDER is PCI_BUS_ID when the first function is called. If
// DRL_HOST_GPUS is unset, the process has one device that no other has.
struct HostDevice {
  std::string name;
  int number;
};
inline const std::vector<HostDevice>& host_devices() {
  static const std::vector<HostDevice> devices = [] {
    const char* text = std::getenv("DRL_HOST_GPUS");
    if (!text) return std::vector<HostDevice>{{"host", 0}};
    std::vector<HostDevice> all;
    std::istringstream list(text);
    HostDevice device;
    for (std::string entry;
         std::getline(list, entry, ',') && std::istringstream(entry) >> device.name >> device.number;)
      all.push_back(device);
    const char* order = std::getenv("CUDA_DEVICE_ORDER");
    if (order && std::strcmp(order, "PCI_BUS_ID") == 0) std::ranges::sort(all, {}, &HostDevice::number);
    return all;
  }();
  return devices;
}
// Returns whether DRL_HOST_FAULT, the fault to inject, is `name`.
inline bool host_fault(const char* name) {
  const char* fault = std::getenv("DRL_HOST_FAULT");
  return fault && std::strcmp(fault, name) == 0;
}

// Counts of this process's work on the device.
struct HostCounts {
  std::array<int64_t, 6> done{};  // per kind of work, including work in graphs
  int64_t recorded = 0;           // work that was captured in graphs
  int64_t calls = 0;              // launches of graphs, and of work outside graphs
  size_t allocated = 0;           // bytes of device and page-locked memory
};
inline HostCounts& host_counts() {
  static HostCounts counts;
  return counts;
}

inline void host_do(HostStream* stream, const HostNode& node) {
  if (stream->stuck) return;
  ++host_counts().done[static_cast<size_t>(node.kind)];
  node.work();
}

// Runs `work` on the stream, or adds it to the graph that is being captured.
inline void host_enqueue(HostStream* stream, HostWork kind, std::function<void()> work) {
  HostNode node{kind, std::move(work)};
  if (stream->capturing) {
    ++host_counts().recorded;
    stream->capturing->nodes.push_back(std::move(node));
  } else {
    ++host_counts().calls;
    host_do(stream, node);
  }
}

}  // namespace drl::gpu

using gpuError_t = int;
using gpuStream_t = drl::gpu::HostStream*;
using gpuEvent_t = drl::gpu::HostEvent*;
using gpuGraph_t = drl::gpu::HostGraph*;
using gpuGraphExec_t = drl::gpu::HostGraph*;
enum gpuMemcpyKind { gpuMemcpyDefault };
inline constexpr gpuError_t gpuSuccess = 0, gpuErrorNotReady = 600, gpuErrorMemoryAllocation = 2,
                            gpuErrorInvalidValue = 1, gpuErrorInvalidConfiguration = 9, gpuErrorNoKernelImage = 209,
                            gpuErrorNoDevice = 100, gpuErrorInsufficientDriver = 35, gpuErrorDevicesUnavailable = 46,
                            gpuErrorLaunchOutOfResources = 701;
inline constexpr unsigned gpuStreamNonBlocking = 1;
inline constexpr int gpuStreamCaptureModeThreadLocal = 1;

struct gpuUUID {
  char bytes[16] = {};
};
struct gpuDeviceProp {
  char name[256] = "host";
  int pciDomainID = 0, pciBusID = 0, pciDeviceID = 0;
  int major = 0, minor = 0, multiProcessorCount = 1;
};

struct gpuFuncAttributes {
  size_t localSizeBytes = 0;
  int numRegs = 64;
};

inline const char* gpuGetErrorName(gpuError_t status) {
  switch (status) {
    case gpuErrorMemoryAllocation:
      return "MemoryAllocation";
    case gpuErrorNoKernelImage:
      return "NoKernelImageForDevice";
    case gpuErrorInsufficientDriver:
      return "InsufficientDriver";
    case gpuErrorDevicesUnavailable:
      return "DevicesUnavailable";
    case gpuErrorLaunchOutOfResources:
      return "LaunchOutOfResources";
    default:
      return "Invalid";
  }
}
inline const char* gpuGetErrorString(gpuError_t status) {
  switch (status) {
    case gpuErrorMemoryAllocation:
      return "out of memory";
    case gpuErrorNoKernelImage:
      return "no kernel image is available for execution on the device";
    case gpuErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case gpuErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case gpuErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    default:
      return "invalid use of the emulated runtime";
  }
}
namespace drl::gpu {
// The last error of this thread, which stays until gpuGetLastError returns it.
inline gpuError_t& host_last_error() {
  static thread_local gpuError_t last = gpuSuccess;
  return last;
}
// Returns the status of a function, and keeps it if it is an error.
inline gpuError_t host_status(gpuError_t status) {
  if (status != gpuSuccess) host_last_error() = status;
  return status;
}
}  // namespace drl::gpu
inline gpuError_t gpuGetLastError() { return std::exchange(drl::gpu::host_last_error(), gpuSuccess); }
inline gpuError_t gpuGetDeviceCount(int* count) {
  using namespace drl::gpu;
  if (host_fault("old_driver") || host_fault("no_driver")) return host_status(gpuErrorInsufficientDriver);
  *count = static_cast<int>(host_devices().size());
  return host_status(*count ? gpuSuccess : gpuErrorNoDevice);
}
inline gpuError_t gpuGetDevice(int* device) { return *device = 0, gpuSuccess; }
inline gpuError_t gpuSetDevice(int) {
  return drl::gpu::host_status(drl::gpu::host_fault("taken") ? gpuErrorDevicesUnavailable : gpuSuccess);
}
inline gpuError_t gpuGetDeviceProperties(gpuDeviceProp* properties, int place) {
  *properties = {};
  const drl::gpu::HostDevice& device = drl::gpu::host_devices().at(static_cast<size_t>(place));
  std::strncpy(properties->name, device.name.c_str(), sizeof(properties->name) - 1);
  properties->pciBusID = device.number ? device.number : drl::gpu::host_pci_bus();
  return gpuSuccess;
}
inline gpuError_t gpuDeviceGetUuid(gpuUUID* uuid, int place) {
  std::memset(uuid->bytes, drl::gpu::host_devices().at(static_cast<size_t>(place)).number, sizeof(uuid->bytes));
  return gpuSuccess;
}
inline gpuError_t gpuDeviceCanAccessPeer(int* can, int, int) {
  return *can = !drl::gpu::host_fault("no_peers"), gpuSuccess;
}
inline gpuError_t gpuDriverGetVersion(int* version) {
  *version = drl::gpu::host_fault("no_driver") ? 0 : drl::gpu::host_fault("old_driver") ? 12020 : 13000;
  return gpuSuccess;
}
inline gpuError_t gpuRuntimeGetVersion(int* version) { return *version = 13000, gpuSuccess; }
// The values are those of an H100.
enum gpuDeviceAttribute {
  gpuMultiprocessorCount = 132,
  gpuThreadsPerMultiprocessor = 2048,
  gpuSharedMemoryPerBlock = 232448
};
inline gpuError_t gpuDeviceGetAttribute(int* value, gpuDeviceAttribute attribute, int) {
  return *value = attribute, gpuSuccess;
}
inline gpuError_t gpuMemGetInfo(size_t* free, size_t* total) { return *free = *total = size_t{1} << 30, gpuSuccess; }

// Fresh device memory has arbitrary contents.
inline gpuError_t gpuMalloc(void** memory, size_t bytes) {
  if (bytes > size_t{1} << 34 || drl::gpu::host_fault("no_memory"))
    return drl::gpu::host_status(gpuErrorMemoryAllocation);
  drl::gpu::host_counts().allocated += bytes;
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xEE, bytes);
  return gpuSuccess;
}
inline gpuError_t gpuFree(void* memory) { return std::free(memory), gpuSuccess; }
inline gpuError_t gpuMallocHost(void** memory, size_t bytes) { return gpuMalloc(memory, bytes); }
inline gpuError_t gpuFreeHost(void* memory) { return gpuFree(memory); }
inline gpuError_t gpuMemcpyAsync(void* to, const void* from, size_t bytes, gpuMemcpyKind, gpuStream_t stream) {
  drl::gpu::host_enqueue(stream, drl::gpu::HostWork::copy, [=] {
    if (bytes) std::memcpy(to, from, bytes);
  });
  return gpuSuccess;
}
inline gpuError_t gpuMemsetAsync(void* memory, int value, size_t bytes, gpuStream_t stream) {
  drl::gpu::host_enqueue(stream, drl::gpu::HostWork::clear, [=] { std::memset(memory, value, bytes); });
  return gpuSuccess;
}

inline gpuError_t gpuStreamCreateWithFlags(gpuStream_t* stream, unsigned) {
  if (drl::gpu::host_fault("no_host_memory")) throw std::bad_alloc();
  *stream = new drl::gpu::HostStream;
  (*stream)->stuck = drl::gpu::host_fault("kernel_hangs");
  return gpuSuccess;
}
inline gpuError_t gpuStreamDestroy(gpuStream_t stream) { return delete stream, gpuSuccess; }
inline gpuError_t gpuStreamQuery(gpuStream_t stream) {
  if (drl::gpu::host_fault("no_kernel_image")) return drl::gpu::host_status(gpuErrorNoKernelImage);
  if (stream->capturing) stream->capture_failed = true;
  return drl::gpu::host_status(stream->capturing ? gpuErrorInvalidValue
                               : stream->stuck   ? gpuErrorNotReady
                                                 : gpuSuccess);
}
inline gpuError_t gpuStreamBeginCapture(gpuStream_t stream, int) {
  if (stream->capturing) return drl::gpu::host_status(gpuErrorInvalidValue);
  stream->capturing = std::make_unique<drl::gpu::HostGraph>();
  stream->capture_failed = false;
  return gpuSuccess;
}
inline gpuError_t gpuStreamEndCapture(gpuStream_t stream, gpuGraph_t* graph) {
  if (stream->capture_failed) stream->capturing.reset();
  *graph = stream->capturing.release();
  return drl::gpu::host_status(*graph ? gpuSuccess : gpuErrorInvalidValue);
}

inline gpuError_t gpuEventCreate(gpuEvent_t* event) { return *event = new drl::gpu::HostEvent, gpuSuccess; }
inline gpuError_t gpuEventDestroy(gpuEvent_t event) { return delete event, gpuSuccess; }
inline gpuError_t gpuEventRecord(gpuEvent_t event, gpuStream_t stream) {
  event->passed = false, event->captured = stream->capturing != nullptr;  // the host cannot wait for a captured event
  drl::gpu::host_enqueue(stream, drl::gpu::HostWork::event,
                         [event] { event->time = std::chrono::steady_clock::now(), event->passed = true; });
  return gpuSuccess;
}
inline gpuError_t gpuEventQuery(gpuEvent_t event) {
  return drl::gpu::host_status(event->captured ? gpuErrorInvalidValue : event->passed ? gpuSuccess : gpuErrorNotReady);
}
inline gpuError_t gpuEventElapsedTime(float* milliseconds, gpuEvent_t from, gpuEvent_t to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return gpuSuccess;
}

inline gpuError_t gpuGraphInstantiateWithFlags(gpuGraphExec_t* exec, gpuGraph_t graph, unsigned long long) {
  if (drl::gpu::host_fault("no_memory_for_graphs")) return drl::gpu::host_status(gpuErrorMemoryAllocation);
  return *exec = new drl::gpu::HostGraph(*graph), gpuSuccess;
}
inline gpuError_t gpuGraphLaunch(gpuGraphExec_t exec, gpuStream_t stream) {
  if (stream->capturing) return drl::gpu::host_status(gpuErrorInvalidValue);
  ++drl::gpu::host_counts().calls;
  for (const drl::gpu::HostNode& node : exec->nodes) drl::gpu::host_do(stream, node);
  return gpuSuccess;
}
inline gpuError_t gpuGraphDestroy(gpuGraph_t graph) { return delete graph, gpuSuccess; }
inline gpuError_t gpuGraphExecDestroy(gpuGraphExec_t exec) { return delete exec, gpuSuccess; }

inline void gpuRangePush(const char*) {}
inline void gpuRangePop() {}

// Products and collectives are part of the emulation, so there are no libraries to open.
inline void gpuOpenLibraries() {
  if (drl::gpu::host_fault("no_libraries")) (void)drl::gpu::open_plugin("/nowhere/drl_gpu.so", 0);
}

using gpublasHandle_t = drl::gpu::HostBlas*;
enum gpublasStatus_t { GPUBLAS_STATUS_SUCCESS, GPUBLAS_STATUS_INVALID_VALUE };
enum gpublasOperation_t { GPUBLAS_OP_N, GPUBLAS_OP_T };
inline constexpr int GPUBLAS_DEFAULT_MATH = 2, GPUBLAS_TF32_MATH = 3;
inline const char* gpublasGetStatusString(gpublasStatus_t) { return "invalid value"; }
inline gpublasStatus_t gpublasCreate(gpublasHandle_t* handle) {
  if (drl::gpu::host_fault("no_blas")) return GPUBLAS_STATUS_INVALID_VALUE;
  return *handle = new drl::gpu::HostBlas, GPUBLAS_STATUS_SUCCESS;
}
inline gpublasStatus_t gpublasDestroy(gpublasHandle_t handle) { return delete handle, GPUBLAS_STATUS_SUCCESS; }
inline gpublasStatus_t gpublasSetStream(gpublasHandle_t handle, gpuStream_t stream) {
  return handle->stream = stream, GPUBLAS_STATUS_SUCCESS;
}
inline gpublasStatus_t gpublasSetWorkspace(gpublasHandle_t, void*, size_t) { return GPUBLAS_STATUS_SUCCESS; }
inline gpublasStatus_t gpublasSetMathMode(gpublasHandle_t handle, int mode) {
  return handle->math = mode, GPUBLAS_STATUS_SUCCESS;
}

// Computes C = alpha op(A) op(B) + beta C for `count` column-major matrices (m x k, k x n, m x n).
inline gpublasStatus_t gpublasSgemmStridedBatched(gpublasHandle_t handle, gpublasOperation_t op_a,
                                                  gpublasOperation_t op_b, int m, int n, int k, const float* alpha,
                                                  const float* a, int lda, long long stride_a, const float* b, int ldb,
                                                  long long stride_b, const float* beta, float* c, int ldc,
                                                  long long stride_c, int count) {
  const bool fits = lda >= (op_a == GPUBLAS_OP_N ? m : k) && ldb >= (op_b == GPUBLAS_OP_N ? k : n) && ldc >= m;
  if (!fits) return GPUBLAS_STATUS_INVALID_VALUE;
  const float alpha_value = *alpha, beta_value = *beta;
  const bool tf32 = handle->math == GPUBLAS_TF32_MATH;
  const auto factor = [tf32](float x) { return tf32 ? drl::gpu::host_tf32(x) : x; };
  drl::gpu::host_enqueue(handle->stream, drl::gpu::HostWork::product, [=] {
    for (int p = 0; p < count; ++p) {
      const float *from_a = a + p * stride_a, *from_b = b + p * stride_b;
      float* to = c + p * stride_c;
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
          float sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += factor(op_a == GPUBLAS_OP_N ? from_a[i + l * lda] : from_a[l + i * lda]) *
                   factor(op_b == GPUBLAS_OP_N ? from_b[l + j * ldb] : from_b[j + l * ldb]);
          // With beta 0 the old value is not read; it may be arbitrary.
          to[i + j * ldc] = alpha_value * sum + (beta_value == 0 ? 0 : beta_value * to[i + j * ldc]);
        }
    }
  });
  return GPUBLAS_STATUS_SUCCESS;
}
inline gpublasStatus_t gpublasSgemm(gpublasHandle_t handle, gpublasOperation_t op_a, gpublasOperation_t op_b, int m,
                                    int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                                    const float* beta, float* c, int ldc) {
  return gpublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

// Kernels
#define __global__
#define __launch_bounds__(...)
struct gpuIndex {
  unsigned x;
};
inline thread_local gpuIndex blockIdx, threadIdx, blockDim;  // of the running kernel

namespace drl::gpu {
// The registers and stack of every kernel, which tests set.
inline gpuFuncAttributes& host_attributes() {
  static gpuFuncAttributes attributes;
  return attributes;
}
// Returns what an H100 says to a launch: the limits of the grid, of a block, and of the registers, which each thread
// gets in portions of 8.
inline gpuError_t host_launch_status(int64_t blocks, int threads) {
  if (blocks <= 0 || blocks > INT32_MAX || threads <= 0 || threads > 1024)
    return host_status(gpuErrorInvalidConfiguration);
  const int registers = (host_attributes().numRegs + 7) / 8 * 8;
  return host_status(threads * registers > 65536 ? gpuErrorLaunchOutOfResources : gpuSuccess);
}
}  // namespace drl::gpu
inline gpuError_t gpuFuncGetAttributes(gpuFuncAttributes* attributes, const void*) {
  return *attributes = drl::gpu::host_attributes(), gpuSuccess;
}
template <class... Parameters>
gpuError_t gpuLaunch(void (*kernel)(Parameters...), int64_t blocks, int threads, gpuStream_t stream,
                     std::type_identity_t<Parameters>... arguments) {
  if (const gpuError_t status = drl::gpu::host_launch_status(blocks, threads); status != gpuSuccess) return status;
  drl::gpu::host_enqueue(stream, drl::gpu::HostWork::kernel, [=] {
    blockDim.x = static_cast<unsigned>(threads);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(arguments...);
  });
  return gpuSuccess;
}

namespace drl::gpu {
// How blocks run (device/blocks.hpp): the seed of the order of a phase's warps or threads, and the byte that fills
// shared memory before each block. Neither may change results, so tests change both.
struct HostBlocks {
  uint64_t order_seed = 1;
  unsigned char poison = 0xff;  // a float or half of these bytes is NaN
};
inline HostBlocks& host_blocks() {
  static HostBlocks blocks;
  return blocks;
}
// Calls work(k) for 0 <= k < count, in an order that changes from call to call.
template <class Work>
void host_in_any_order(int count, const Work& work) {
  std::array<int, 1024> order;
  uint64_t& seed = host_blocks().order_seed;
  for (int k = 0; k < count; ++k) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const int other = static_cast<int>((seed >> 33) % static_cast<uint64_t>(k + 1));
    order[static_cast<size_t>(k)] = order[static_cast<size_t>(other)];
    order[static_cast<size_t>(other)] = k;
  }
  for (int k = 0; k < count; ++k) work(order[static_cast<size_t>(k)]);
}
inline thread_local std::byte* host_shared_memory = nullptr;  // of the running block

// The number of words before each place of a plan, which no kernel may use (device/blocks.hpp). The address sanitizer
// ends a test that accesses these words, or memory beside that of the block.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr int kHostGap = 32;
inline void host_forbid(const void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void host_allow(const void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
inline constexpr int kHostGap = 0;
inline void host_forbid(const void*, size_t) {}
inline void host_allow(const void*, size_t) {}
#endif

// The shared memory of a block, between zones that are as large as itself, at least 4 KB.
class HostSharedMemory {
 public:
  explicit HostSharedMemory(size_t bytes)
      : bytes_(bytes),
        zone_(std::max(size_t{4096}, (bytes + 127) / 128 * 128)),
        all_(static_cast<std::byte*>(std::aligned_alloc(128, 3 * zone_))) {}
  ~HostSharedMemory() {
    host_allow(all_, 3 * zone_);
    std::free(all_);
  }
  HostSharedMemory(const HostSharedMemory&) = delete;
  HostSharedMemory& operator=(const HostSharedMemory&) = delete;

  std::byte* data() const { return all_ + zone_; }
  // Fills it with arbitrary contents. A kernel of the fused engine has a plan, with gaps before its places.
  template <class Kernel>
  void begin_block([[maybe_unused]] const Kernel& kernel) const {
    host_allow(data(), bytes_);
    std::memset(data(), host_blocks().poison, bytes_);
    host_forbid(all_, zone_);
    host_forbid(data() + bytes_, 2 * zone_ - bytes_);
    if constexpr (requires { kernel.pass.plan.sums; }) {
      const auto& plan = kernel.pass.plan;
      const auto forbid_gap_before = [&](int place) {
        if (4 * static_cast<size_t>(place) < bytes_) host_forbid(data() + 4 * (place - kHostGap), 4 * kHostGap);
      };
      for (const int place : {plan.at.x, plan.at.d, plan.out, plan.index, plan.d_out, plan.largest, plan.sums})
        forbid_gap_before(place);
      for (int layer = 0; layer + 1 < plan.layers(); ++layer) forbid_gap_before(plan.at.hidden[layer]);
    }
  }

 private:
  size_t bytes_, zone_;
  std::byte* all_;
};

// Returns how much shared memory a kernel's blocks may have.
inline size_t& host_shared_limit(const void* kernel) {
  static std::map<const void*, size_t> limits;
  return limits.try_emplace(kernel, size_t{48} << 10).first->second;
}
}  // namespace drl::gpu
template <class... Parameters>
gpuError_t gpuAllowSharedMemory(void (*kernel)(Parameters...), size_t bytes) {
  if (bytes > gpuSharedMemoryPerBlock) return drl::gpu::host_status(gpuErrorInvalidValue);
  drl::gpu::host_shared_limit(reinterpret_cast<const void*>(kernel)) = bytes;
  return gpuSuccess;
}
// The kernel is called once for each block, and runs its warps itself.
template <class... Parameters>
gpuError_t gpuLaunchBlocks(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                           gpuStream_t stream, std::type_identity_t<Parameters>... arguments) {
  const size_t& limit = drl::gpu::host_shared_limit(reinterpret_cast<const void*>(kernel));
  if (const gpuError_t status = drl::gpu::host_launch_status(blocks, threads); status != gpuSuccess) return status;
  if (shared > limit) return drl::gpu::host_status(gpuErrorInvalidValue);
  drl::gpu::host_enqueue(stream, drl::gpu::HostWork::kernel, [=, &limit] {
    if (shared > limit) throw std::logic_error("a kernel's shared memory was limited after it was recorded");
    const drl::gpu::HostSharedMemory memory(shared);
    drl::gpu::host_shared_memory = memory.data();
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
      (memory.begin_block(arguments), ...);
      kernel(arguments...);
    }
  });
  return gpuSuccess;
}

// The clock for kernels.
DRL_HD uint64_t gpuNanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

#include "gpu/host_collectives.hpp"
