#include "gpu/libraries.hpp"

#include <dlfcn.h>

#include "base/check.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"

// Defined in programs that link the plugin's source directly, as tests do.
extern "C" [[gnu::weak]] const drl::gpu::LibrariesHead* drl_gpu_plugin();

namespace drl::gpu {
namespace {

[[noreturn]] void throw_unavailable(const std::string& why) {
  throw UsageError("cuBLAS and NCCL, which runs on GPUs need, cannot be used (" + why +
                   "): load the modules of CUDA and NCCL with which drl was built, or add the directories of these "
                   "libraries to LD_LIBRARY_PATH, or use --device cpu");
}

}  // namespace

std::filesystem::path plugin_file() { return installation() / "lib/drl/drl_gpu.so"; }

const LibrariesHead& open_plugin(const std::filesystem::path& file, size_t size) {
  if (drl_gpu_plugin) return *drl_gpu_plugin();
  // RTLD_LAZY, since most of the libraries' functions are never called.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) throw_unavailable(dlerror());
  const auto function = reinterpret_cast<DrlGpuPluginFunction>(dlsym(library, DRL_GPU_PLUGIN_SYMBOL));
  const LibrariesHead* head = function ? function() : nullptr;
  if (!head || head->magic != kLibrariesMagic || head->size != size)
    throw_unavailable(printable(file.string(), 200) + " belongs to another version of drl");
  return *head;
}

}  // namespace drl::gpu
