#include "engines/torch/blas.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <filesystem>

namespace drl {
namespace {

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

void set_math_threads(int threads) {
  at::set_num_threads(threads);
  if (void* set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(threads);
}

}  // namespace drl
