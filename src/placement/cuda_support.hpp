// The GPU support of this build and of this machine's driver.
#pragma once

#include <string>

namespace drl {

struct CudaSupport {
  bool built = false;        // drl was built for GPUs
  int devices = 0;           // number of GPUs that the driver shows to this process
  std::string trouble = {};  // the driver's reason if it shows none
  std::string remedy = {};   // what to do if the driver cannot be used, as if it is too old; "" if it has no GPU
};

// Queries the driver once and caches the result.
const CudaSupport& cuda_support();

// Returns the name of a visible device, such as "NVIDIA H100 80GB HBM3"; "" without GPU support.
std::string gpu_name(int device);

// Makes this device the current one of the calling thread.
void use_gpu(int device);

// Returns the version of the GPU runtime, such as "13.0"; "" without GPU support.
std::string cuda_version();

}  // namespace drl
