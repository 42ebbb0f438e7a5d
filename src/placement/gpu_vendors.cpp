#include "placement/gpu_vendors.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Looks for GPUs among the PCI devices. The classes of display controllers begin with 0x03, and those of processing
// accelerators, such as AMD's MI300, with 0x12. Servers' management controllers have the class of a graphics card
// (0x0300). Some have ATI's vendor number, but none has the driver of AMD's GPUs. Intel's GPUs for computing (Max and
// Flex) have class 0x0380. The graphics in its processors may have it too, and are always at 0000:00:02.0. Intel's
// accelerators of class 0x12 are not GPUs.
GpuVendors vendors_on_pci(const fs::path& root) {
  GpuVendors found;
  for (const fs::path& device : entries_of(root / "sys/bus/pci/devices")) {
    const std::string vendor(trim(file_text(device / "vendor"))), kind = file_text(device / "class").substr(0, 6);
    const bool display = kind.starts_with("0x03"), accelerator = kind.starts_with("0x12");
    if (!display && !accelerator) continue;
    std::error_code none;
    const std::string driver = fs::read_symlink(device / "driver", none).filename();
    if (vendor == "0x10de") found.nvidia = true;
    if (vendor == "0x1002" && (driver == "amdgpu" || kind == "0x0380" || accelerator)) found.amd = true;
    if (vendor == "0x8086" && kind == "0x0380" && (driver == "i915" || driver == "xe") &&
        device.filename() != "0000:00:02.0")
      found.intel = true;
  }
  return found;
}

// Returns whether ROCm's driver, which computes through the render nodes, shows a GPU.
bool has_rocm_gpu(const fs::path& root) {
  std::error_code ignored;
  if (!fs::exists(root / "dev/kfd", ignored)) return false;
  const auto is_render_node = [](const fs::path& file) { return file.filename().string().starts_with("renderD"); };
  return std::ranges::any_of(entries_of(root / "dev/dri"), is_render_node);
}

// Returns whether NVIDIA's driver shows a GPU. A container that got only one GPU may lack /dev/nvidia0.
bool has_nvidia_device(const fs::path& root) {
  std::error_code ignored;
  return fs::exists(root / "dev/nvidia0", ignored) || fs::exists(root / "dev/nvidiactl", ignored) ||
         !entries_of(root / "proc/driver/nvidia/gpus").empty();
}

}  // namespace

std::string GpuVendors::other_than(const GpuVendor& ours) const {
  return has(ours) ? "" : nvidia ? kNvidia.name : amd ? kAmd.name : intel ? "Intel" : "";
}

GpuVendors gpu_vendors(const fs::path& root) {
  GpuVendors found = vendors_on_pci(root);
  found.nvidia |= has_nvidia_device(root);
  found.amd |= has_rocm_gpu(root);
  return found;
}

std::string other_gpu_vendor(const fs::path& root, const GpuVendor& ours) { return gpu_vendors(root).other_than(ours); }

}  // namespace drl
