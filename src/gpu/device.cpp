#include "gpu/device.hpp"

#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "gpu/remedies.hpp"

namespace drl::gpu {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& reason, const char* call) {
  throw Error(
      fmt::format("{} failed ({}, in {}): check the node's GPUs with drl_doctor, and resume from the last checkpoint",
                  what, reason, call));
}

#if defined(DRL_CUDA_ARCHITECTURES)
// Tells the user, once, why the program seems to hang when it loads the first kernel.
void tell_if_compiled(int device) {
  static bool told = false;
  gpuDeviceProp properties{};
  if (std::exchange(told, true) || gpuGetDeviceProperties(&properties, device) != gpuSuccess) return;
  const std::string notice = compilation_notice(DRL_CUDA_ARCHITECTURES, properties.major, properties.minor);
  if (!notice.empty()) log::info("{}", notice);
}
#else
void tell_if_compiled(int) {}
#endif

// Returns a number of the current GPU.
template <class Attribute>
int attribute(Attribute which) {
  int device = 0, value = 0;
  DRL_GPU(gpuGetDevice(&device));
  DRL_GPU(gpuDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

void check(gpuError_t status, const char* call) {
  if (status != gpuSuccess)
    fail("the GPU", fmt::format("{}: {}", gpuGetErrorName(status), gpuGetErrorString(status)), call);
}

void check_launch(gpuError_t status, const void* kernel, const std::type_info& function, int threads, size_t shared) {
  if (status == gpuSuccess) return;
  (void)gpuGetLastError();
  gpuFuncAttributes attributes{};
  const bool is_known = gpuFuncGetAttributes(&attributes, kernel) == gpuSuccess;
  const std::string launch = fmt::format(
      "the launch of {} with {} threads a block, {} registers a thread and {} of shared memory", plain_name(function),
      threads, is_known ? std::to_string(attributes.numRegs) : "?", human_bytes(static_cast<double>(shared)));
  if (status == gpuErrorLaunchOutOfResources || status == gpuErrorInvalidConfiguration ||
      status == gpuErrorInvalidValue)
    throw Error(
        fmt::format("the GPU refused {} ({}: {}): this is a defect of drl; report it with this message and the "
                    "GPU's name, and train with --device cpu until it is mended",
                    launch, gpuGetErrorName(status), gpuGetErrorString(status)));
  check(status, launch.c_str());
}

void check(gpublasStatus_t status, const char* call) {
  if (status != GPUBLAS_STATUS_SUCCESS) fail("a matrix product on the GPU", gpublasGetStatusString(status), call);
}

void use(int device) {
  const gpuError_t status = gpuSetDevice(device);
  if (status == gpuSuccess) return tell_if_compiled(device);
  (void)gpuGetLastError();
  const std::string reason = fmt::format("{}: {}", gpuGetErrorName(status), gpuGetErrorString(status));
  throw Error(fmt::format("GPU {} cannot be used ({}): {}", device, reason, gpu_remedy(reason)));
}

size_t shared_memory_per_block() { return static_cast<size_t>(attribute(gpuSharedMemoryPerBlock)); }
int multiprocessors() { return attribute(gpuMultiprocessorCount); }

void* allocate(size_t bytes) {
  void* memory = nullptr;
  if (gpuMalloc(&memory, bytes) == gpuSuccess) return memory;
  (void)gpuGetLastError();
  size_t free = 0, total = 0;
  (void)gpuMemGetInfo(&free, &total);
  const auto text = [](size_t number) { return human_bytes(static_cast<double>(number)); };
  // drl_doctor recognises "no GPU memory" (doctor/findings.cpp).
  throw Error(
      fmt::format("no GPU memory for {} ({} of {} are free): use fewer environments (--num_envs) or shorter rollouts "
                  "(--num_steps_per_env), or a GPU that no other program uses",
                  text(bytes), text(free), text(total)));
}

void* allocate_host(size_t bytes) {
  void* memory = nullptr;
  if (gpuMallocHost(&memory, bytes) == gpuSuccess) return memory;
  (void)gpuGetLastError();
  throw Error("not enough page-locked host memory for " + human_bytes(static_cast<double>(bytes)) +
              " (the GPU's driver refused the allocation): raise ulimit -l, or request more memory for the job");
}

bool has_ended(gpuError_t status, const char* call) {
  if (status == gpuErrorNotReady) {
    (void)gpuGetLastError();  // some versions keep this status, and the next launch would report it
    return false;
  }
  check(status, call);
  return true;
}

}  // namespace drl::gpu
