// The border between the programs and drl_torch.so, which alone is linked with libtorch: plain structs. Functions give
// what at_the_border (drl/border.hpp) does.
#pragma once

#include <cstdint>

namespace drl {

inline constexpr uint64_t kTorchMagic = 0x4c5254'4843524f54ull;
inline constexpr int32_t kTorchAbi = 1;

// [rows, columns], of which neighbours lie so many numbers apart.
struct TorchMatrix {
  float* data;
  int64_t rows, columns, row_step, column_step;
};

struct TorchFacts {
  char version[64];        // of libtorch
  char blas[256];          // "OpenBLAS", "MKL", "BLIS", "reference BLAS", or the library's file name
  int32_t reference_blas;  // the unoptimised reference implementation: 4 to 5 times slower
};

struct TorchPlugin {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[3];  // of this, TorchMatrix, TorchFacts
  int32_t (*tell)(TorchFacts* facts, char* error, int64_t error_size);
  // Limits libtorch and the BLAS library, which has threads of its own.
  int32_t (*set_threads)(int32_t threads, char* error, int64_t error_size);
  // out = a b
  int32_t (*multiply)(const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error,
                      int64_t error_size);
  // out = row + a b, where row [columns] is added to each row
  int32_t (*multiply_onto)(const TorchMatrix* out, const float* row, const TorchMatrix* a, const TorchMatrix* b,
                           char* error, int64_t error_size);
  // out += a b
  int32_t (*add_product)(const TorchMatrix* out, const TorchMatrix* a, const TorchMatrix* b, char* error,
                         int64_t error_size);
  // out [a's rows] += a x
  int32_t (*add_vector_product)(float* out, const TorchMatrix* a, const float* x, char* error, int64_t error_size);
};

}  // namespace drl

extern "C" {
using DrlTorchPluginFunction = const drl::TorchPlugin* (*)();
}
#define DRL_TORCH_PLUGIN_SYMBOL "drl_torch_plugin"
