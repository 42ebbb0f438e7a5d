// Opens cuBLAS and NCCL (rocBLAS and RCCL) when a GPU is used. Programs that linked them would load them at each start,
// also on machines without a GPU: 0.07 to 0.2 s and 220 MB in each process. Instead, the plugin lib/drl/drl_gpu.so
// links them, and holds a table of their functions (gpu/runtime.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace drl::gpu {

inline constexpr uint64_t kLibrariesMagic = 0x4c5254'5550474cull;

// The members with which the table begins.
struct LibrariesHead {
  uint64_t magic;
  uint64_t size;  // bytes of the whole table
};

// Returns the path of lib/drl/drl_gpu.so in this installation.
std::filesystem::path plugin_file();

// Returns the table of functions, of `size` bytes. Opens the plugin `file`, unless the plugin is linked into the
// program, as in tests. The plugin is never closed. Throws UsageError if it or one of the libraries cannot be used.
const LibrariesHead& open_plugin(const std::filesystem::path& file, size_t size);

}  // namespace drl::gpu

extern "C" {
using DrlGpuPluginFunction = const drl::gpu::LibrariesHead* (*)();
}
#define DRL_GPU_PLUGIN_SYMBOL "drl_gpu_plugin"
