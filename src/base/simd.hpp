// Hot loops that choose their instruction set at run time.
//
// We write plain loops over arrays and let the compiler vectorise them: measured on CartPole-v1, GCC 12 made 880 M
// steps/s of such a loop and 260 M of the same steps on 64-byte vector extensions, because GCC splits those for the
// baseline instruction set before it makes the clones.
#pragma once

#include <type_traits>
#include <utility>

#include "base/hd.hpp"

// Compiles the function for AVX-512, AVX2 and the baseline, and chooses one when the program starts. All that it calls
// must be inlined into it, or stays baseline code: mark callees DRL_HD (base/hd.hpp) or always_inline. Its loops should
// be branch-free (math::select) and free of libm. No clones under sanitizers (the choice is made before they are ready),
// in device code, or elsewhere than x86-64 Linux with GCC.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DRL_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define DRL_CLONES
#endif

// Before a loop whose rounds touch different elements: the compiler need not prove that no arrays overlap, and turns all
// branches into selects. (Needs -fopenmp-simd, which is no OpenMP: neither threads nor library.)
#define DRL_SIMD_LOOP _Pragma("omp simd")

namespace drl {

// body(std::integral_constant<int, k>) for k = 0 .. Count - 1, unrolled by the language: arrays indexed by k dissolve into
// registers, which a loop around this needs in order to vectorise. The compiler's own unrolling comes too late.
template <int Count, class Body>
DRL_HD void unrolled(Body body) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (body(std::integral_constant<int, k>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

}  // namespace drl
