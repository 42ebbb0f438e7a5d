#pragma once

#include <string>

namespace drl {

struct BlasLibrary {
  std::string name;        // "OpenBLAS", "MKL", "BLIS", "reference BLAS", or the library's file name
  bool reference = false;  // the unoptimised reference implementation: 4 to 5 times slower
};

// The library that libtorch's matrix products run on, found from the address of the symbol that it calls.
BlasLibrary blas_library();

// Limits libtorch and the BLAS library, which has threads of its own, to `threads`.
void set_math_threads(int threads);

}  // namespace drl
