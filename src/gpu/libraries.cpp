#include "gpu/libraries.hpp"

#include <dlfcn.h>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "gpu/vendor.hpp"

// Defined in programs that link the plugin's source directly, as tests do.
extern "C" [[gnu::weak]] const drl::gpu::LibrariesHead* drl_gpu_plugin();

namespace drl::gpu {
namespace {

[[noreturn]] void throw_unavailable(const std::string& why, const std::string& remedy) {
  throw UsageError(std::string("cannot open ") + kGpuVendor.blas + " and " + kGpuVendor.collectives +
                   ", the libraries for training on GPUs, on " + host_name() + " (" + why + "): " + remedy +
                   ", or use --device cpu");
}

}  // namespace

std::filesystem::path plugin_file() { return installation() / "lib/drl/drl_gpu.so"; }

const LibrariesHead& open_plugin(const std::filesystem::path& file, size_t size) {
  if (drl_gpu_plugin) return *drl_gpu_plugin();
  // RTLD_LAZY, since most of the libraries' functions are never called.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    const std::string why = dlerror();
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) throw_unavailable(why, "install drl again");
    throw_unavailable(why, std::string("load the ") + kGpuVendor.modules +
                               " with which drl was built, or add their directories to LD_LIBRARY_PATH");
  }
  const auto function = reinterpret_cast<DrlGpuPluginFunction>(dlsym(library, DRL_GPU_PLUGIN_SYMBOL));
  const LibrariesHead* head = function ? function() : nullptr;
  if (!head || head->magic != kLibrariesMagic || head->size != size)
    throw_unavailable(printable(file.string(), 200) + " belongs to another version of drl", "install drl again");
  return *head;
}

}  // namespace drl::gpu
