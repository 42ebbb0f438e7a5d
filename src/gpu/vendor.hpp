// The vendor whose GPUs this build computes on, and the names of its programs and libraries in messages. In all builds,
// --device calls GPUs "cuda", as PyTorch does, and messages call the library of collectives NCCL, whose names RCCL has.
#pragma once

namespace drl {

struct GpuVendor {
  const char* name;
  unsigned pci;  // number of the vendor on the PCI bus
  const char *runtime, *blas, *collectives;
  bool has_tf32;               // matrix products whose factors are rounded to 11 significant bits
  int major_unit, minor_unit;  // the runtime's version is major * major_unit + minor * minor_unit
  const char *modules, *show_gpus, *show_links;
  // Variables that list the visible GPUs. The first that is set counts; Slurm sets the last.
  const char *lists[2], *slurm_list;
};

inline constexpr GpuVendor kNvidia{
    .name = "NVIDIA",
    .pci = 0x10de,
    .runtime = "CUDA",
    .blas = "cuBLAS",
    .collectives = "NCCL",
    .has_tf32 = true,
    .major_unit = 1000,
    .minor_unit = 10,
    .modules = "CUDA and NCCL modules",
    .show_gpus = "nvidia-smi",
    .show_links = "nvidia-smi topo -m and nvidia-smi nvlink -s",
    .lists = {},
    .slurm_list = "CUDA_VISIBLE_DEVICES",
};
// ROCR_VISIBLE_DEVICES, which Slurm sets, hides GPUs from HIP. The other two number those that it leaves.
inline constexpr GpuVendor kAmd{
    .name = "AMD",
    .pci = 0x1002,
    .runtime = "HIP",
    .blas = "rocBLAS",
    .collectives = "RCCL",
    .has_tf32 = false,
    .major_unit = 10'000'000,
    .minor_unit = 100'000,
    .modules = "ROCm module",
    .show_gpus = "rocm-smi",
    .show_links = "rocm-smi --showtopo",
    .lists = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"},
    .slurm_list = "ROCR_VISIBLE_DEVICES",
};

#if defined(DRL_FOR_AMD_GPUS)
inline constexpr const GpuVendor& kGpuVendor = kAmd;
#else
inline constexpr const GpuVendor& kGpuVendor = kNvidia;  // also without support of GPUs
#endif

}  // namespace drl
