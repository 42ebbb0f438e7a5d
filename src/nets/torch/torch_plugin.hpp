// The C interface between the programs and drl_torch.so, the only library that links libtorch. Functions return 0 on
// success; otherwise they write the message to `error`, as with_error_code (drl/task/border.hpp) does.
#pragma once

#include <cstdint>

namespace drl {

inline constexpr uint64_t kTorchMagic = 0x4c5254'4843524f54ull;
inline constexpr int32_t kTorchAbi = 2;

// A matrix [rows, columns]; element (i, j) is data[i * row_step + j * column_step].
struct TorchMatrix {
  float* data;
  int64_t rows, columns, row_step, column_step;
};

// A named array [rows, columns], or [rows] if columns is 0.
struct TorchArray {
  const char* name;
  const float* data;
  int64_t rows, columns;
};

struct TorchFacts {
  char version[64];        // of libtorch
  char blas[256];          // "OpenBLAS", "MKL", "BLIS", "reference BLAS", or the library's file name
  int32_t reference_blas;  // 1: the unoptimised reference implementation, which is 4 to 5 times slower
};

struct TorchPlugin {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[4];  // sizeof of TorchPlugin, TorchMatrix, TorchArray and TorchFacts
  int32_t (*get_facts)(TorchFacts* facts, char* error, int64_t error_size);
  // Sets the number of threads of libtorch and of the BLAS library, which has separate threads.
  int32_t (*set_threads)(int32_t threads, char* error, int64_t error_size);
  // out = a b
  int32_t (*multiply)(const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error,
                      int64_t error_size);
  // out = row + a b, where row [columns] is added to each row
  int32_t (*multiply_add_row)(const TorchMatrix* out, const float* row, const TorchMatrix* a, const TorchMatrix* b,
                              char* error, int64_t error_size);
  // out += a b
  int32_t (*add_product)(const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error,
                         int64_t error_size);
  // out [a's rows] += a x
  int32_t (*add_vector_product)(float* out, const TorchMatrix* a, const float* x, char* error, int64_t error_size);
  // Writes a TorchScript module with these buffers and the method that `code` defines.
  int32_t (*save_script)(const char* file, const char* code, const TorchArray* arrays, int64_t count, char* error,
                         int64_t error_size);
};

}  // namespace drl

extern "C" {
using DrlTorchPluginFunction = const drl::TorchPlugin* (*)();
}
#define DRL_TORCH_PLUGIN_SYMBOL "drl_torch_plugin"
