// Checked calls of the GPU runtime.
#pragma once

#include <cstddef>

#include "gpu/runtime.hpp"

namespace drl::gpu {

// Throw Error with the call and the runtime's message, unless `status` is success. Every call of the runtime is checked
// by one of these.
void check(gpuError_t status, const char* call);
void check(gpublasStatus_t status, const char* call);
#define DRL_GPU(call) ::drl::gpu::check(call, #call)
// Returns whether the work of a queried stream or event is done, from the query's status.
bool has_ended(gpuError_t status, const char* call);

// Allocates GPU memory. Throws Error with the requested and the free size if there is not enough.
void* allocate(size_t bytes);
// Allocates page-locked host memory, which the GPU reads and writes at full speed. Throws Error if there is not enough.
void* allocate_host(size_t bytes);

}  // namespace drl::gpu
