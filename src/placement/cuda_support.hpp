// What this build can do with GPUs, and the driver of this machine lets it do.
#pragma once

#include <string>

namespace drl {

struct CudaSupport {
  bool built = false;        // with CUDA
  int devices = 0;           // that the driver shows to this process
  std::string trouble = {};  // why there are none, in the driver's words
};

// Asks the driver, once.
const CudaSupport& cuda_support();

// The name of a device that the driver shows, "NVIDIA H100 80GB HBM3"; "" without CUDA.
std::string gpu_name(int device);

// All of this process' work on GPUs is done on this one from now on.
void use_gpu(int device);

// Of the runtime, "13.0"; "" without CUDA.
std::string cuda_version();

}  // namespace drl
