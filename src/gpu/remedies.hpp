// Remedies for failures of GPUs, as texts. This header does not need CUDA.
#pragma once

#include <string>

namespace drl {

// Returns a remedy for a failure whose text contains CUDA's name of the error ("cudaErrorDevicesUnavailable: ...") or
// drl's message "no GPU memory". Pure.
std::string gpu_remedy(const std::string& reason);

}  // namespace drl
