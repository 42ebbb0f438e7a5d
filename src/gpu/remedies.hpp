// Remedies for failures of GPUs, as texts. This header does not need the GPU runtime.
#pragma once

#include <string>

#include "gpu/vendor.hpp"

namespace drl {

// Returns a remedy for a failure whose text contains the runtime's name of the error ("cudaErrorDevicesUnavailable:
// ...") or drl's message "no GPU memory". Pure.
std::string gpu_remedy(const std::string& reason, const GpuVendor& vendor = kGpuVendor);

}  // namespace drl
