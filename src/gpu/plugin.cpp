// drl_gpu.so, the only library that links cuBLAS and NCCL (rocBLAS and RCCL).
#include "gpu/runtime.hpp"

extern "C" [[gnu::visibility("default")]] const drl::gpu::LibrariesHead* drl_gpu_plugin() {
  static constexpr drl::gpu::Libraries kLibraries{{drl::gpu::kLibrariesMagic, sizeof(drl::gpu::Libraries)},
#define DRL_FUNCTION(name) &::name,
                                                  DRL_GPU_LIBRARY_FUNCTIONS(DRL_FUNCTION)
#undef DRL_FUNCTION
  };
  return &kLibraries;
}
