// Remedies for failures of GPUs, as texts. This header does not need the GPU runtime.
#pragma once

#include <string>
#include <string_view>

#include "gpu/vendor.hpp"

namespace drl {

// Returns a remedy for a failure whose text contains the runtime's name of the error ("cudaErrorDevicesUnavailable:
// ...") or drl's message "no GPU memory". Pure.
std::string gpu_remedy(const std::string& reason, const GpuVendor& vendor = kGpuVendor);

// Returns a line for the user if the driver must compile this build's code for a GPU of compute capability
// `major`.`minor`, else "". `architectures` are the build's, as in CMAKE_CUDA_ARCHITECTURES, separated by commas:
// "80-real,90,121-virtual". Code for 8.0 also runs on 8.6. Pure.
std::string compilation_notice(std::string_view architectures, int major, int minor);

}  // namespace drl
