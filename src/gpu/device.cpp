#include "gpu/device.hpp"

#include <string>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl::gpu {

void check(gpuError_t status, const char* call) {
  if (status == gpuSuccess) return;
  throw Error(std::string("the GPU failed (") + gpuGetErrorName(status) + ": " + gpuGetErrorString(status) + ", in " +
              call + "): drl_doctor examines the node's GPUs; the last checkpoint is from before");
}

void check(gpublasStatus_t status, const char* call) {
  if (status == GPUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("the GPU's matrix product failed (") + gpublasGetStatusString(status) + ", in " + call +
              "): drl_doctor examines the node's GPUs; the last checkpoint is from before");
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  if (gpuMalloc(&memory, bytes) == gpuSuccess) return memory;
  (void)gpuGetLastError();
  size_t free = 0, total = 0;
  (void)gpuMemGetInfo(&free, &total);
  throw Error(
      "no GPU memory for " + human_bytes(static_cast<double>(bytes)) + " (" + human_bytes(static_cast<double>(free)) +
      " of " + human_bytes(static_cast<double>(total)) +
      " are free): use fewer environments (--num_envs) or shorter rollouts (--num_steps_per_env), or a GPU that "
      "no other program uses");
}

void* allocate_host(size_t bytes) {
  void* memory = nullptr;
  if (gpuMallocHost(&memory, bytes) == gpuSuccess) return memory;
  (void)gpuGetLastError();
  throw Error("no host memory that a GPU can reach for " + human_bytes(static_cast<double>(bytes)) +
              " (the driver refused it): see ulimit -l, or ask for more memory");
}

bool has_ended(gpuError_t status, const char* call) {
  if (status == gpuErrorNotReady) {
    (void)gpuGetLastError();  // some versions keep it, and the next launch would be blamed
    return false;
  }
  check(status, call);
  return true;
}

}  // namespace drl::gpu
