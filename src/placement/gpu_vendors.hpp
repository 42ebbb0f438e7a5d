// Looks for GPUs in the system's files, without their drivers' libraries.
#pragma once

#include <filesystem>
#include <string>

#include "gpu/vendor.hpp"

namespace drl {

// The vendors whose GPUs a node has. AMD's may be a processor's integrated graphics.
struct GpuVendors {
  bool nvidia = false, amd = false, intel = false;

  bool has(const GpuVendor& vendor) const { return vendor.pci == kAmd.pci ? amd : nvidia; }
  std::string other_than(const GpuVendor& ours) const;  // as other_gpu_vendor()
};

// Returns the vendors of this node's GPUs. `root` contains /dev and /sys.
GpuVendors gpu_vendors(const std::filesystem::path& root);

// Returns the vendor, "NVIDIA", "AMD" or "Intel", of this node's GPUs if none of them is of `ours`; "" otherwise. drl
// cannot compute on these.
std::string other_gpu_vendor(const std::filesystem::path& root = "/", const GpuVendor& ours = kGpuVendor);

}  // namespace drl
