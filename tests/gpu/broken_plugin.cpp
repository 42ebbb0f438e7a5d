// Plugins in place of drl_gpu.so that cannot be used.
#include "gpu/libraries.hpp"

#if defined(BROKEN_old)  // a library in use is too old to have a function
extern "C" int ncclFunctionOfANewerVersion();
#endif

#if !defined(BROKEN_symbol)
extern "C" const drl::gpu::LibrariesHead* drl_gpu_plugin() {
#if defined(BROKEN_old)
  static drl::gpu::LibrariesHead head{drl::gpu::kLibrariesMagic, static_cast<uint64_t>(ncclFunctionOfANewerVersion())};
#elif defined(BROKEN_magic)
  static drl::gpu::LibrariesHead head{1, sizeof(head)};
#else
  static drl::gpu::LibrariesHead head{drl::gpu::kLibrariesMagic, sizeof(head)};
#endif
  return &head;
}
#endif
