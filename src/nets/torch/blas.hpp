#pragma once

#include <cstdint>
#include <string>

namespace drl {

struct BlasLibrary {
  std::string name;        // "OpenBLAS", "MKL", "BLIS", "reference BLAS", or the library's file name
  bool reference = false;  // the unoptimised reference implementation: 4 to 5 times slower
};

// The library that libtorch's matrix products run on, found from the address of the symbol that it calls.
BlasLibrary blas_library();

// What a limit of the address space leaves is too little for `threads` threads of BLAS: the error's text, "" if it will
// do. `limit` (RLIM_INFINITY: none) and `used` are in bytes. Pure.
std::string address_space_problem(uint64_t limit, uint64_t used, int threads);
// Throws UsageError if there is too little (ulimit -v): OpenBLAS asks for its buffers for ever.
void require_address_space(int threads);

// Limits libtorch and the BLAS library, which has threads of its own, to `threads`.
void set_math_threads(int threads);

}  // namespace drl
