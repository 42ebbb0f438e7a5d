// Checked calls of the GPU runtime.
#pragma once

#include <cstddef>
#include <typeinfo>

#include "gpu/runtime.hpp"

namespace drl::gpu {

// Throw Error with the call and the runtime's message, unless `status` is success. Use DRL_GPU(call) for every
// call whose failure must not be ignored.
void check(gpuError_t status, const char* call);
void check(gpublasStatus_t status, const char* call);
#define DRL_GPU(call) ::drl::gpu::check(call, #call)
// Throws Error unless `status`, that of a launch of the kernel, is success. The message contains the kernel's function
// object, the threads and shared memory of a block, and the registers that the compiler gave to a thread.
void check_launch(gpuError_t status, const void* kernel, const std::type_info& function, int threads, size_t shared);
// Takes the status of a stream or event query. Returns true if the work is done and false if it is not; throws Error if
// it failed.
bool has_ended(gpuError_t status, const char* call);

// Makes this device the current one of the calling thread. Throws Error if it cannot be used, for example because
// another process uses it exclusively.
void use(int device);

// Returns the largest shared memory of a block on the current GPU, in bytes.
size_t shared_memory_per_block();

// Returns the number of multiprocessors of the current GPU.
int multiprocessors();

// Allocates GPU memory. Throws Error with the requested and the free size if there is not enough.
void* allocate(size_t bytes);
// Allocates page-locked host memory, which the GPU reads and writes at full speed. Throws Error if there is not enough.
void* allocate_host(size_t bytes);

}  // namespace drl::gpu
