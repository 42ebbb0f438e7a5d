#include "nets/torch/torch_library.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/check.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"

// There in programs that are linked with what drl_torch.so is made of, as tests are.
extern "C" [[gnu::weak]] const drl::TorchPlugin* drl_torch_plugin();

namespace drl {
namespace {

namespace fs = std::filesystem;

// Bytes of address space: what libtorch and its libraries take while they are loaded (one for CUDA 1.8 GiB), 128 MiB
// that OpenBLAS reserves for each thread that multiplies, up to 64 MiB of malloc for each that allocates, and the run's
// own arrays.
constexpr uint64_t kLoading = uint64_t{2304} << 20, kPerThread = uint64_t{192} << 20, kBesides = uint64_t{192} << 20;

constexpr int kErrorSize = 1024;

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError("libtorch, which --nets torch and CPUs without multiply-add take, cannot be used (" + why +
                   "): use --nets fused, or install a drl that is built with libtorch");
}

// OpenBLAS makes a thread for each core of the node while it is loaded, unless this variable tells it otherwise; what
// it may use is said afterwards.
class OneThreadOfBlas {
 public:
  OneThreadOfBlas() {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, "1", 1);
  }
  ~OneThreadOfBlas() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }
  OneThreadOfBlas(const OneThreadOfBlas&) = delete;
  OneThreadOfBlas& operator=(const OneThreadOfBlas&) = delete;

 private:
  static constexpr const char* kName = "OPENBLAS_NUM_THREADS";
  std::optional<std::string> before_;
};

const TorchPlugin* open_plugin(const fs::path& file) {
  const std::string name = printable(file.string(), 200);
  if (!built_with_torch()) refuse("this drl was built with -DDRL_WITH_TORCH=OFF");
  if (std::error_code ignored; !fs::exists(file, ignored)) refuse(name + " is not there");
  const OneThreadOfBlas guard;
  // Global, since MKL finds parts of itself by names; lazily, since libtorch has more functions than anybody calls.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (!library) refuse(dlerror());
  const auto table = reinterpret_cast<DrlTorchPluginFunction>(dlsym(library, DRL_TORCH_PLUGIN_SYMBOL));
  const TorchPlugin* plugin = table ? table() : nullptr;
  constexpr int32_t kSizes[] = {sizeof(TorchPlugin), sizeof(TorchMatrix), sizeof(TorchFacts)};
  if (!plugin || plugin->magic != kTorchMagic || plugin->abi != kTorchAbi || !std::ranges::equal(plugin->sizes, kSizes))
    refuse(name + " is of another drl");
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
    throw Error("libtorch fails (" + printable(error, kErrorSize) + "): the text is its own");
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
  call(functions_->tell, &facts_);
}

void TorchLibrary::set_threads(int threads) const { call(functions_->set_threads, threads); }
void TorchLibrary::multiply(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const {
  call(functions_->multiply, &out, &a, &b);
}
void TorchLibrary::multiply_onto(const TorchMatrix& out, const float* row, const TorchMatrix& a,
                                 const TorchMatrix& b) const {
  call(functions_->multiply_onto, &out, row, &a, &b);
}
void TorchLibrary::add_product(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const {
  call(functions_->add_product, &out, &a, &b);
}
void TorchLibrary::add_vector_product(float* out, const TorchMatrix& a, const float* x) const {
  call(functions_->add_vector_product, out, &a, x);
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
  const uint64_t wanted = kLoading + kBesides + static_cast<uint64_t>(threads) * kPerThread,
                 left = limit - std::min(used, limit);
  if (limit == RLIM_INFINITY || left >= wanted) return "";
  return "the limit of the address space leaves " + human_bytes(static_cast<double>(left)) + " (ulimit -v " +
         std::to_string(limit / 1024) + "), and libtorch with " + counted(threads, "thread") +
         " of matrix products may take " + human_bytes(static_cast<double>(wanted)) + ": ulimit -v " +
         std::to_string((used + wanted) / 1024 + 1) + ", or unlimited; in a job ask for more memory";
}

}  // namespace drl
