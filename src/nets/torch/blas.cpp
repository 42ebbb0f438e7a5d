#include "nets/torch/blas.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

// Bytes of address space. OpenBLAS reserves 128 MiB for each thread that multiplies, malloc up to 64 MiB for each that
// allocates; besides there are threads that write, and the run's own arrays.
constexpr uint64_t kPerThread = uint64_t{192} << 20, kBesides = uint64_t{192} << 20;

// Debian chooses the BLAS by alternatives: libblas.so.3 is a link, whose target has the name.
std::string file_of_symbol(const char* symbol) {
  Dl_info info{};
  void* address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  std::error_code error;
  const auto real = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : real.string();
}

}  // namespace

BlasLibrary blas_library() {
  if (at::hasMKL()) return {"MKL", false};
  const std::string file = file_of_symbol("sgemm_");
  for (const auto& [part, name] :
       {std::pair{"openblas", "OpenBLAS"}, {"mkl", "MKL"}, {"blis", "BLIS"}, {"atlas", "ATLAS"}})
    if (file.find(part) != std::string::npos) return {name, false};
  if (file.empty()) return {"built into libtorch", false};
  const bool reference = file.find("libblas.so") != std::string::npos;
  return {reference ? "reference BLAS" : std::filesystem::path(file).filename().string(), reference};
}

std::string address_space_problem(uint64_t limit, uint64_t used, int threads) {
  const uint64_t wanted = kBesides + static_cast<uint64_t>(threads) * kPerThread, left = limit - std::min(used, limit);
  if (limit == RLIM_INFINITY || left >= wanted) return "";
  return "the limit of the address space leaves " + human_bytes(static_cast<double>(left)) + " (ulimit -v " +
         std::to_string(limit / 1024) + "), and " + counted(threads, "thread") + " of matrix products may take " +
         human_bytes(static_cast<double>(wanted)) + ": ulimit -v " + std::to_string((used + wanted) / 1024 + 1) +
         ", or unlimited; in a job ask for more memory";
}

void require_address_space(int threads) {
  static bool checked = false;  // later, what is taken may be BLAS's own
  rlimit limit{};
  if (std::exchange(checked, true) || getrlimit(RLIMIT_AS, &limit) != 0) return;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::string problem =
      address_space_problem(limit.rlim_cur, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), threads);
  if (!problem.empty()) throw UsageError(problem);
}

void set_math_threads(int threads) {
  at::set_num_threads(threads);
  if (void* set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(threads);
}

}  // namespace drl
