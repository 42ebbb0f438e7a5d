// Hot loops that choose their instruction set at run time.
//
// They are plain loops over arrays that the compiler vectorises, and not vector types: GCC splits those for the
// baseline instruction set before it makes the clones.
#pragma once

// Compiles the function for AVX-512, AVX2 and the baseline, and chooses one when the program starts. All that it calls
// must be inlined into it, or stays baseline code: mark callees DRL_HD (base/hd.hpp) or always_inline. Its loops should
// be branch-free (math::select) and free of libm. No clones under sanitizers (the choice is made before they are
// ready), in device code, or elsewhere than x86-64 Linux with GCC.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DRL_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define DRL_CLONES
#endif

// Before a loop whose rounds touch different elements: spares the compiler proving (or testing) that no arrays overlap.
#if defined(__clang__)
#define DRL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DRL_INDEPENDENT _Pragma("GCC ivdep")
#endif
