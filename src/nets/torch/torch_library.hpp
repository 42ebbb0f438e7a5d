// Matrix products by libtorch, as the programs see them: drl_torch.so is opened when networks need it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nets/torch/torch_plugin.hpp"

namespace drl {

bool built_with_torch();

// lib/drl/drl_torch.so of this installation.
std::filesystem::path torch_library_file();

// Row by row without gaps.
inline TorchMatrix matrix(const float* data, int64_t rows, int64_t columns) {
  return {const_cast<float*>(data), rows, columns, columns, 1};
}
inline TorchMatrix transposed(const TorchMatrix& m) { return {m.data, m.columns, m.rows, m.column_step, m.row_step}; }

class TorchLibrary {
 public:
  // Opens it, or finds that it is linked with the program, and stays in the process. Throws UsageError that says why it
  // cannot be had, and what to do.
  explicit TorchLibrary(const std::filesystem::path& file);

  const TorchFacts& facts() const { return facts_; }
  // All throw Error with libtorch's own text.
  void set_threads(int threads) const;
  void multiply(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const;  // out = a b
  // out = row + a b, where row [columns] is added to each row
  void multiply_onto(const TorchMatrix& out, const float* row, const TorchMatrix& a, const TorchMatrix& b) const;
  void add_product(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const;  // out += a b
  void add_vector_product(float* out, const TorchMatrix& a, const float* x) const;             // out += a x

 private:
  const TorchPlugin* functions_;
  TorchFacts facts_{};
};

// This installation's, opened by the first call, on all of which `threads` threads may compute. Throws UsageError, also
// if the limit of the address space (ulimit -v) leaves too little: OpenBLAS would wait for its buffers for ever.
const TorchLibrary& torch_library(int threads);

// What a limit of the address space leaves is too little for libtorch on `threads` threads: the error's text, "" if it
// will do. `limit` (RLIM_INFINITY: none) and `used` are in bytes. Pure.
std::string address_space_problem(uint64_t limit, uint64_t used, int threads);

}  // namespace drl
