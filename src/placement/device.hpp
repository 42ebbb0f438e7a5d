// Which device a rank computes on. Decisions are pure functions of what each rank of the node sees.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.hpp"
#include "placement/cuda_support.hpp"

namespace drl {

// The GPUs that this process may use.
struct Gpus {
  // As CUDA_VISIBLE_DEVICES names them (indices, UUIDs, MIG names); 0 to n-1 when it is unset and Slurm granted n.
  std::vector<std::string> visible = {};
  // The same devices by names that differ for different devices of the node: where Slurm shows each task only its own,
  // all tasks call it "0" in CUDA_VISIBLE_DEVICES, and SLURM_STEP_GPUS says which it is.
  std::vector<std::string> ids = {};
  std::vector<int> places = {};  // what CUDA calls them: those of select_gpus keep the place they had; empty: 0, 1, ...
  bool in_job = false;           // within a Slurm job
  bool granted = false;          // by Slurm, and not taken back by an empty CUDA_VISIBLE_DEVICES
  bool physical = false;         // an NVIDIA GPU is in this node, not only a Slurm resource of that name
  bool amd = false;              // the granted ones are AMD's
};

// `root` is where /dev and /sys are.
Gpus visible_gpus(const Environment& environment, const std::filesystem::path& root = "/");

// Does --gpu_ids say "None", the CPU?
bool no_gpus(const std::string& gpu_ids);

// The part of `gpus` that --gpu_ids names, as mjlab has it: "all" (or ""), a list of places in `visible` ("0,2", "0 2"
// or "[0, 2]"), or "None". Throws UsageError for anything else.
Gpus select_gpus(Gpus gpus, const std::string& gpu_ids);

// The device of each rank of a node, as its place in `ids[rank]`, the devices that the rank may use (Gpus::ids); -1,
// the CPU, if none may use any. No device is used twice; ranks with the same devices take them in their order. Throws
// UsageError if the devices are too few.
std::vector<int> assign_devices(const std::vector<std::vector<std::string>>& ids);

// What --device and --gpu_ids mean to this build and this machine.
struct DeviceChoice {
  bool cuda = false;          // compute on GPUs, else on the CPU
  Gpus gpus = {};             // those that ranks are counted by and placed near to, on the CPU too
  std::string warning, info;  // for rank 0 to say, often empty

  bool one_rank_per_gpu() const { return !gpus.visible.empty(); }
};

// `device` is "auto", "cpu", "cuda", or "cuda:N" for the Nth visible one. Pure. Throws UsageError for a device that is
// not there, and where a Slurm job would pay for GPUs that idle.
DeviceChoice choose_device(const std::string& device, const std::string& gpu_ids, const Gpus& gpus,
                           const CudaSupport& cuda);

}  // namespace drl
