// Chooses the device of each rank. The decisions are pure functions of the devices that the ranks of a node see.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/vendor.hpp"
#include "launch/environment.hpp"
#include "placement/cuda_support.hpp"

namespace drl {

// The GPUs that this process may use.
struct Gpus {
  // The names in CUDA_VISIBLE_DEVICES (indices, UUIDs, MIG names), or for AMD's GPUs in the first of its lists that
  // is set (gpu/vendor.hpp); 0 to n-1 if none is set and Slurm granted n GPUs.
  std::vector<std::string> visible = {};
  const char* list = "CUDA_VISIBLE_DEVICES";  // that variable; Slurm's if none is set
  // The same devices by names that are unique on the node. If Slurm shows each task only one GPU, CUDA_VISIBLE_DEVICES
  // is "0" in all tasks, and SLURM_STEP_GPUS contains the number on the node.
  std::vector<std::string> ids = {};
  // CUDA's indices of these devices. select_gpus keeps the original indices; empty means 0, 1, ...
  std::vector<int> indices = {};
  bool in_job = false;          // within a Slurm job
  bool granted = false;         // Slurm granted GPUs, and CUDA_VISIBLE_DEVICES does not hide them
  bool physical = false;        // this node has a GPU of the build's vendor, not only a Slurm resource called gpu
  std::string vendor = {};      // as in other_gpu_vendor() (placement/gpu_vendors.hpp)
  bool vendor_granted = false;  // the granted GPUs are those of `vendor`
};

// Reads the GPUs of this process from the environment and from `root`, which contains /dev and /sys. `ours` is the
// vendor on whose GPUs drl computes.
Gpus visible_gpus(const Environment& environment, const std::filesystem::path& root = "/",
                  const GpuVendor& ours = kGpuVendor);

// Joins the words of a list after --gpu_ids to one, as mjlab's command line does: {"--gpu_ids", "0", "1"} becomes
// {"--gpu_ids", "0,1"}.
std::vector<std::string> with_gpu_ids_joined(const std::vector<std::string>& arguments);

// Returns whether --gpu_ids is "None", which selects the CPU.
bool no_gpus(const std::string& gpu_ids);

// Return the part of --device and --gpu_ids that must be the same on all ranks: "cuda" of "cuda:1" and
// of "hip:1", "None" or "".
std::string kind_of_device(const std::string& device);
std::string kind_of_gpu_ids(const std::string& gpu_ids);

// Returns the GPUs that --gpu_ids selects, with mjlab's syntax: "all" (or ""), a list of positions in `visible` ("0,2",
// "0 2" or "[0, 2]"), or "None". Throws UsageError for anything else.
Gpus select_gpus(Gpus gpus, const std::string& gpu_ids);

// Assigns a device to each rank of a node. `ids[rank]` lists the devices that the rank may use (Gpus::ids). Returns a
// position in `ids[rank]` for each rank, or -1 (the CPU) for all ranks if no rank has a device. No device is used
// twice; ranks with the same list take the devices in order. Throws UsageError if there are too few devices.
std::vector<int> assign_devices(const std::vector<std::vector<std::string>>& ids);

// The outcome of --device and --gpu_ids for this build and this machine.
struct DeviceChoice {
  bool cuda = false;          // compute on GPUs, otherwise on the CPU
  Gpus gpus = {};             // they determine the number of ranks and their cores, even if the ranks use the CPU
  std::string warning, info;  // messages for rank 0 to print; may be empty

  bool one_rank_per_gpu() const { return !gpus.visible.empty(); }
};

// Chooses the device. `device` is "auto", "cpu", "cuda", or "cuda:N" for visible GPU N. Builds for AMD's GPUs call
// these "cuda" too, as PyTorch does, and also accept "hip" and "hip:N". Throws UsageError if the device does not exist,
// or if the GPUs of a Slurm job would be idle. Pure.
DeviceChoice choose_device(const std::string& device, const std::string& gpu_ids, const Gpus& gpus,
                           const CudaSupport& cuda, const GpuVendor& ours = kGpuVendor);

}  // namespace drl
