#include "nets/torch/torch_library.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"

// Defined in programs that link the plugin's sources directly, as tests do.
extern "C" [[gnu::weak]] const drl::TorchPlugin* drl_torch_plugin();

namespace drl {
namespace {

namespace fs = std::filesystem;

// The address space, in bytes, that must be available for loading libtorch and its libraries (if built for CUDA, they
// take 1.8 GiB of this), for each thread (128 MiB for OpenBLAS's buffers, and up to 64 MiB for malloc), and for the
// run's own arrays.
constexpr uint64_t kLoadBytes = uint64_t{2304} << 20, kBytesPerThread = uint64_t{192} << 20,
                   kOtherBytes = uint64_t{192} << 20;

constexpr int kErrorSize = 1024;

[[noreturn]] void throw_unavailable(const std::string& why) {
  throw UsageError("libtorch, which --nets torch and CPUs without multiply-add need, cannot be used (" + why +
                   "): use --nets fused, or install a drl that is built with libtorch");
}

// Sets OPENBLAS_NUM_THREADS to 1 for the lifetime of the object. Otherwise OpenBLAS creates a thread for each core of
// the node while it is loaded; the number of threads to use is set afterwards.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, "1", 1);
  }
  ~SingleThreadedBlas() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  static constexpr const char* kName = "OPENBLAS_NUM_THREADS";
  std::optional<std::string> before_;
};

const TorchPlugin* open_plugin(const fs::path& file) {
  const std::string name = printable(file.string(), 200);
  if (!built_with_torch()) throw_unavailable("this drl was built without it, see -DDRL_WITH_TORCH");
  if (std::error_code ignored; !fs::exists(file, ignored)) throw_unavailable(name + " does not exist");
  const SingleThreadedBlas guard;
  // RTLD_GLOBAL, since MKL looks up its own parts by name. RTLD_LAZY, since most of libtorch's functions are never
  // called.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (!library) throw_unavailable(dlerror());
  const auto table = reinterpret_cast<DrlTorchPluginFunction>(dlsym(library, DRL_TORCH_PLUGIN_SYMBOL));
  const TorchPlugin* plugin = table ? table() : nullptr;
  constexpr int32_t kSizes[] = {sizeof(TorchPlugin), sizeof(TorchMatrix), sizeof(TorchArray), sizeof(TorchFacts)};
  if (!plugin || plugin->magic != kTorchMagic || plugin->abi != kTorchAbi || !std::ranges::equal(plugin->sizes, kSizes))
    throw_unavailable(name + " belongs to another version of drl");
  return plugin;
}

void require_address_space(int threads) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::string problem =
      address_space_problem(limit.rlim_cur, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), threads);
  if (!problem.empty()) throw UsageError(problem);
}

template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  char error[kErrorSize];
  if (function(arguments..., error, kErrorSize) != 0)
    throw Error("libtorch failed (" + printable(error, kErrorSize) + "): use --nets fused to train without libtorch");
}

}  // namespace

bool built_with_torch() {
#if defined(DRL_TORCH)
  return true;
#else
  return false;
#endif
}

fs::path torch_library_file() { return installation() / "lib/drl/drl_torch.so"; }

TorchLibrary::TorchLibrary(const fs::path& file)
    : functions_(drl_torch_plugin ? drl_torch_plugin() : open_plugin(file)) {
  call(functions_->get_facts, &facts_);
}

void TorchLibrary::set_threads(int threads) const { call(functions_->set_threads, threads); }
void TorchLibrary::multiply(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const {
  call(functions_->multiply, &out, &a, &b);
}
void TorchLibrary::multiply_add_row(const TorchMatrix& out, const float* row, const TorchMatrix& a,
                                    const TorchMatrix& b) const {
  call(functions_->multiply_add_row, &out, row, &a, &b);
}
void TorchLibrary::add_product(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const {
  call(functions_->add_product, &out, &a, &b);
}
void TorchLibrary::add_vector_product(float* out, const TorchMatrix& a, const float* x) const {
  call(functions_->add_vector_product, out, &a, x);
}
void TorchLibrary::save_script(const std::string& file, const std::string& code,
                               const std::vector<TorchArray>& arrays) const {
  call(functions_->save_script, file.c_str(), code.c_str(), arrays.data(), static_cast<int64_t>(arrays.size()));
}

const TorchLibrary& torch_library(int threads) {
  static const TorchLibrary library = [&] {
    require_address_space(threads);
    return TorchLibrary(torch_library_file());
  }();
  library.set_threads(threads);
  return library;
}

std::string address_space_problem(uint64_t limit, uint64_t used, int threads) {
  const uint64_t wanted = kLoadBytes + kOtherBytes + static_cast<uint64_t>(threads) * kBytesPerThread,
                 left = limit - std::min(used, limit);
  if (limit == RLIM_INFINITY || left >= wanted) return "";
  return "the limit of the address space leaves " + human_bytes(static_cast<double>(left)) + ", and libtorch with " +
         counted(threads, "thread") + " may need " + human_bytes(static_cast<double>(wanted)) + " (ulimit -v is " +
         std::to_string(limit / 1024) + "): run ulimit -v " + std::to_string((used + wanted) / 1024 + 1) +
         " or ulimit -v unlimited first, or request more memory for the job";
}

}  // namespace drl
