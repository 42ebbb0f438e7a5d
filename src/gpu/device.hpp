// Calls of the device runtime, checked.
#pragma once

#include <cstddef>

#include "gpu/runtime.hpp"

namespace drl::gpu {

// Throw Error naming the call and the runtime's reason. Every call of the runtime goes through one of them.
void check(gpuError_t status, const char* call);
void check(gpublasStatus_t status, const char* call);
#define DRL_GPU(call) ::drl::gpu::check(call, #call)
// What a query of a stream or an event says: false as long as its work is not done.
bool has_ended(gpuError_t status, const char* call);

// Device memory; throws Error that says how much was asked for and how much is free.
void* allocate(size_t bytes);
// Host memory that the device reads and writes at full speed; the same.
void* allocate_host(size_t bytes);

}  // namespace drl::gpu
