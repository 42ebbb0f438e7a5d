// Matrix products by libtorch for the programs. The plugin drl_torch.so is opened when networks need it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nets/torch/torch_plugin.hpp"

namespace drl {

bool built_with_torch();

// Returns the path of lib/drl/drl_torch.so in this installation.
std::filesystem::path torch_library_file();

// Returns a row-major matrix without padding.
inline TorchMatrix matrix(const float* data, int64_t rows, int64_t columns) {
  return {const_cast<float*>(data), rows, columns, columns, 1};
}
inline TorchMatrix transposed(const TorchMatrix& m) { return {m.data, m.columns, m.rows, m.column_step, m.row_step}; }

class TorchLibrary {
 public:
  // Opens the plugin, unless it is linked into the program. The plugin is never closed. Throws UsageError if it cannot
  // be used.
  explicit TorchLibrary(const std::filesystem::path& file);

  const TorchFacts& facts() const { return facts_; }
  // These functions throw Error with libtorch's own message.
  void set_threads(int threads) const;
  void multiply(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const;  // out = a b
  // out = row + a b, where row [columns] is added to each row
  void multiply_add_row(const TorchMatrix& out, const float* row, const TorchMatrix& a, const TorchMatrix& b) const;
  void add_product(const TorchMatrix& out, const TorchMatrix& a, const TorchMatrix& b) const;  // out += a b
  void add_vector_product(float* out, const TorchMatrix& a, const float* x) const;             // out += a x
  // Writes a TorchScript module with these buffers and the method that `code` defines.
  void save_script(const std::string& file, const std::string& code, const std::vector<TorchArray>& arrays) const;

 private:
  const TorchPlugin* functions_;
  TorchFacts facts_{};
};

// Returns this installation's libtorch, which the first call opens, and sets its number of threads for all users.
// Throws UsageError if it cannot be used or if the limit of the address space (ulimit -v) is too low: OpenBLAS would
// then wait for its buffers forever.
const TorchLibrary& torch_library(int threads);

// Returns the error message if the address space that `limit` leaves is too small for libtorch on `threads` threads,
// otherwise "". `limit` (RLIM_INFINITY: none) and `used` are in bytes. This is a pure function.
std::string address_space_problem(uint64_t limit, uint64_t used, int threads);

}  // namespace drl
