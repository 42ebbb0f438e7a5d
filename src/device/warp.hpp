// A warp of a GPU: 32 threads that compute together. On a GPU, a WarpFloat is one thread's number. In the CPU emulation
// of the CUDA runtime, it is the numbers of all 32 threads. So one source serves both, and tests see what the tensor
// cores would get. Functions are those of NVIDIA's "Parallel Thread Execution ISA", section "Matrix
// multiply-accumulate", from compute capability 8.0 on.
//
// A fragment is the part of a matrix that a warp holds in registers. Thread l has, with g = l / 4 and t = l % 4:
//   of a factor A [16, 16] four words: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8),
//   of a factor B [16, 8] two words: (2t, g), (2t + 8, g), where a word holds this row and the next one,
//   of a product C [16, 8] four floats: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
// A word of A holds this column and the next one.
#pragma once

#include <cstdint>

#if !defined(DRL_GPU_COMPILER)
#include <algorithm>
#include <bit>
#include <cmath>
#endif

#include "device/fast_math.hpp"
#include "device/halves.hpp"
#include "drl/lanes/lanes.hpp"

#if defined(DRL_GPU_COMPILER)
#define DRL_WARP __device__ __forceinline__
#define DRL_UNROLL _Pragma("unroll")
#else
#define DRL_WARP inline
#define DRL_UNROLL
#endif

namespace drl {

#if defined(DRL_GPU_COMPILER)
using WarpFloat = float;
#else
using WarpFloat = Pack<float, 32>;
#endif
using WarpInt = Int<WarpFloat>;
using WarpBits = Bits<WarpFloat>;
using WarpMask = Mask<WarpFloat>;

// Returns the threads' numbers, 0 to 31.
DRL_WARP WarpInt warp_lanes() {
#if defined(DRL_GPU_COMPILER)
  return static_cast<int>(threadIdx.x) & 31;
#else
  return lane_numbers<WarpInt>();
#endif
}

// Calls work(l) in each thread l < count. The threads' order is not defined.
template <class Work>
DRL_WARP void for_each_lane(int count, const Work& work) {
#if defined(DRL_GPU_COMPILER)
  if (warp_lanes() < count) work(warp_lanes());
#else
  for (int l = 0; l < count; ++l) work(l);
#endif
}
// Makes what the warp's threads have stored visible to all of them.
DRL_WARP void sync_warp() {
#if defined(DRL_GPU_COMPILER)
  __syncwarp();
#endif
}

// Returns number(l) in each thread; lane(x, l) is its number of x.
template <class V, class Number>
DRL_WARP V in_each_lane(const Number& number) {
#if defined(DRL_GPU_COMPILER)
  return number(0);
#else
  V all;
  for (int l = 0; l < 32; ++l) all.v[l] = number(l);
  return all;
#endif
}

// Makes `value` thread l's number of x, in for_each_lane.
template <class V, class T>
DRL_WARP void set_lane(V& x, int l, T value) {
#if defined(DRL_GPU_COMPILER)
  x = value;
#else
  x.v[l] = value;
#endif
}

// Stores x to to[at], where the mask is true.
template <class T, class V>
DRL_WARP void store_at(T* to, WarpInt at, V x) {
#if defined(DRL_GPU_COMPILER)
  to[at] = x;
#else
  for (int l = 0; l < 32; ++l) to[at.v[l]] = x.v[l];
#endif
}
template <class T, class V>
DRL_WARP void store_at(T* to, WarpInt at, V x, WarpMask mask) {
#if defined(DRL_GPU_COMPILER)
  if (mask) to[at] = x;
#else
  for (int l = 0; l < 32; ++l)
    if (mask.v[l]) to[at.v[l]] = x.v[l];
#endif
}

// Returns the largest number of all threads, in each of them; x must not be negative.
DRL_WARP WarpFloat warp_max(WarpFloat x) {
#if defined(DRL_GPU_COMPILER)
  for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, distance));
  return x;
#else
  float largest = 0;
  for (int l = 0; l < 32; ++l) largest = std::fmax(largest, x.v[l]);
  return WarpFloat(largest);
#endif
}

// Return 2^x and 1 / x with a relative error of about 1e-7, by a GPU's special function unit.
DRL_WARP WarpFloat fast_exp2(WarpFloat x) {
#if defined(DRL_GPU_COMPILER)
  return special_exp2(x);
#else
  return in_each_lane<WarpFloat>([&](int l) { return std::exp2(lane(x, l)); });
#endif
}
DRL_WARP WarpFloat fast_reciprocal(WarpFloat x) {
#if defined(DRL_GPU_COMPILER)
  return special_reciprocal(x);
#else
  return WarpFloat(1.0f) / x;
#endif
}

// Two floats as halves in a word, and back.
template <class Format>
DRL_WARP WarpBits pack_halves(WarpFloat low, WarpFloat high) {
  return in_each_lane<WarpBits>([&](int l) { return Format::pack(lane(low, l), lane(high, l)); });
}
template <class Format>
DRL_WARP WarpFloat low_half(WarpBits word) {
  return in_each_lane<WarpFloat>([&](int l) { return Format::low(lane(word, l)); });
}
template <class Format>
DRL_WARP WarpFloat high_half(WarpBits word) {
  return in_each_lane<WarpFloat>([&](int l) { return Format::high(lane(word, l)); });
}

// Loads four matrices [8, 8] of halves from shared memory (ldmatrix): thread l gets word l % 4 of row l / 4 of each.
// The rows of matrix m begin at the words at[8 m] to at[8 m + 7], counted from `from`, and are 16-byte aligned.
DRL_WARP void load_matrices(const uint32_t* from, WarpInt at, WarpBits (&words)[4]) {
#if defined(DRL_GPU_COMPILER)
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from + at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
#else
  for (int m = 0; m < 4; ++m)
    words[m] = in_each_lane<WarpBits>([&](int l) { return from[lane(at, 8 * m + l / 4) + l % 4]; });
#endif
}
// Does the same with each matrix transposed.
DRL_WARP void load_transposed_matrices(const uint32_t* from, WarpInt at, WarpBits (&words)[4]) {
#if defined(DRL_GPU_COMPILER)
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from + at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
#else
  for (int m = 0; m < 4; ++m)
    words[m] = in_each_lane<WarpBits>([&](int l) {
      const auto half = [&](int row) { return from[lane(at, 8 * m + row) + l / 4 / 2] >> (l / 4 % 2 * 16) & 0xffff; };
      return half(2 * (l % 4)) | half(2 * (l % 4) + 1) << 16;
    });
#endif
}

#if !defined(DRL_GPU_COMPILER)
// Returns c + left[0] right[0] + ... + left[15] right[15] as an H100's tensor cores do: the products are exact, all
// terms are cut to multiples of 2^-24 times the power of two of the largest, and their sum is cut to a float. (Fasi et
// al., "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, found the same on an A100, whose
// sums have 8 products.) An A100 rounds less often than this, as it aligns fewer terms.
inline float add_products(float c, const float* left, const float* right, int right_stride) {
  double terms[17] = {c}, largest = std::fabs(double{c});
  for (int i = 0; i < 16; ++i) {
    terms[i + 1] = double{left[i]} * double{right[i * right_stride]};
    largest = std::fmax(largest, std::fabs(terms[i + 1]));
  }
  if (largest == 0) return c;
  if (!(largest <= 3.4028234e38)) {  // not finite
    for (int i = 1; i < 17; ++i) terms[0] += terms[i];
    return static_cast<float>(terms[0]);
  }
  const uint64_t exponent = (bit_cast<uint64_t>(largest) >> 52) - 24;  // biased by 1023
  const double unit = bit_cast<double>(exponent << 52), per_unit = bit_cast<double>((2046 - exponent) << 52);
  int64_t sum = 0;
  for (const double term : terms) sum += static_cast<int64_t>(term * per_unit);
  const auto digits = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  const int surplus = std::max(static_cast<int>(std::bit_width(digits)) - 24, 0);
  const double size = static_cast<double>(digits >> surplus << surplus) * unit;
  return static_cast<float>(sum < 0 ? -size : size);
}
#endif

// c += A B, for the fragments a, b and c of halves of the Format.
template <class Format>
DRL_WARP void multiply_add(WarpFloat (&c)[4], const WarpBits (&a)[4], WarpBits b0, WarpBits b1) {
#if defined(DRL_GPU_COMPILER)
  if constexpr (std::is_same_v<Format, Fp16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  float left[16][16], right[16][8];
  const auto unpack = [](WarpBits word, int l, float& low, float& high) {
    low = Format::low(lane(word, l)), high = Format::high(lane(word, l));
  };
  for (int l = 0; l < 32; ++l) {
    const int g = l / 4, t = l % 4;
    for (int k = 0; k < 4; ++k)
      unpack(a[k], l, left[g + k % 2 * 8][2 * t + k / 2 * 8], left[g + k % 2 * 8][2 * t + k / 2 * 8 + 1]);
    unpack(b0, l, right[2 * t][g], right[2 * t + 1][g]);
    unpack(b1, l, right[2 * t + 8][g], right[2 * t + 9][g]);
  }
  for (int l = 0; l < 32; ++l)
    for (int k = 0; k < 4; ++k)
      c[k].v[l] = add_products(c[k].v[l], left[l / 4 + k / 2 * 8], &right[0][l % 4 * 2 + k % 2], 8);
#endif
}

}  // namespace drl
