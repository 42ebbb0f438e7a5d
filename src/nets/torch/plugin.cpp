// The contents of drl_torch.so: matrix products by libtorch. No other file in src includes libtorch's headers.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "drl/task/border.hpp"
#include "nets/torch/torch_plugin.hpp"

namespace drl {
namespace {

at::Tensor view(const TorchMatrix& m) {
  return at::from_blob(m.data, {m.rows, m.columns}, {m.row_step, m.column_step}, at::kFloat);
}
at::Tensor view(const float* data, int64_t size) { return at::from_blob(const_cast<float*>(data), {size}, at::kFloat); }

// Returns the file that defines a symbol, or "" if there is none. Symbolic links are resolved: on Debian, libblas.so.3
// is a link of the alternatives system, and its target shows which BLAS it is.
std::string file_of_symbol(const char* symbol) {
  Dl_info info{};
  void* address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  std::error_code error;
  const auto real = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : real.string();
}

// Returns the library that computes matrix products, and whether it is the reference implementation. The library is
// found from the address of the BLAS function that libtorch calls.
std::pair<std::string, bool> blas_library() {
  if (at::hasMKL()) return {"MKL", false};
  const std::string file = file_of_symbol("sgemm_");
  for (const auto& [part, name] :
       {std::pair{"openblas", "OpenBLAS"}, {"mkl", "MKL"}, {"blis", "BLIS"}, {"atlas", "ATLAS"}})
    if (file.find(part) != std::string::npos) return {name, false};
  if (file.empty()) return {"built into libtorch", false};
  if (file.find("libblas.so") != std::string::npos) return {"reference BLAS", true};
  return {std::filesystem::path(file).filename().string(), false};
}

template <class Work>
int32_t compute(char* error, int64_t size, const Work& work) {
  return with_error_code(error, size, [&] {
    const c10::InferenceMode guard;  // switches autograd off
    work();
  });
}

constexpr TorchPlugin kPlugin = {
    kTorchMagic,
    kTorchAbi,
    {sizeof(TorchPlugin), sizeof(TorchMatrix), sizeof(TorchArray), sizeof(TorchFacts)},
    [](TorchFacts* facts, char* error, int64_t size) {
      return with_error_code(error, size, [&] {
        const auto [blas, reference] = blas_library();
        std::snprintf(facts->version, sizeof(facts->version), "%s", TORCH_VERSION);
        std::snprintf(facts->blas, sizeof(facts->blas), "%s", blas.c_str());
        facts->reference_blas = reference;
      });
    },
    [](int32_t threads, char* error, int64_t size) {
      return with_error_code(error, size, [&] {
        at::set_num_threads(threads);
        if (void* set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(threads);
      });
    },
    [](const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error, int64_t size) {
      return compute(error, size, [&] {
        at::Tensor to = view(*out);
        at::mm_out(to, view(*a), view(*b));
      });
    },
    [](const TorchMatrix* out, const float* row, const TorchMatrix* a, const TorchMatrix* b, char* error,
       int64_t size) {
      return compute(error, size, [&] {
        at::Tensor to = view(*out);
        at::addmm_out(to, view(row, out->columns), view(*a), view(*b));
      });
    },
    [](const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error, int64_t size) {
      return compute(error, size, [&] { view(*out).addmm_(view(*a), view(*b)); });
    },
    [](float* out, const TorchMatrix* a, const float* x, char* error, int64_t size) {
      return compute(error, size, [&] { view(out, a->rows).addmv_(view(*a), view(x, a->columns)); });
    },
    [](const char* file, const char* code, const TorchArray* arrays, int64_t count, char* error, int64_t size) {
      return with_error_code(error, size, [&] {
        torch::jit::Module module("DrlPolicy");
        for (const TorchArray& array : std::span(arrays, static_cast<size_t>(count))) {
          const at::Tensor flat = view(array.data, array.rows * std::max<int64_t>(array.columns, 1));
          module.register_buffer(array.name, (array.columns ? flat.view({array.rows, array.columns}) : flat).clone());
        }
        module.define(code);
        module.save(file);
      });
    }};

}  // namespace
}  // namespace drl

extern "C" __attribute__((visibility("default"))) const drl::TorchPlugin* drl_torch_plugin() { return &drl::kPlugin; }
