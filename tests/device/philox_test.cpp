#include "drl/lanes/philox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "../support/host_loops.hpp"
#include "math_loops.hpp"

namespace drl {
namespace {

using Array4 = std::array<uint32_t, 4>;

Array4 words(const Words4& w) { return {w[0], w[1], w[2], w[3]}; }

// The expected numbers are the three lines "philox4x32 10" of tests/kat_vectors in Random123.
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(words(philox(Words4{{0, 0, 0, 0}}, {{0, 0}})), (Array4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox(Words4{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {{0xffffffff, 0xffffffff}})),
            (Array4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox(Words4{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}})),
            (Array4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Uses the first digits of pi, arranged as the comment of random_bits describes.
TEST(Philox, RandomBitsLaysOutItsCounterAsDocumented) {
  const uint64_t seed = 0x299f31d0'a4093822, index = 0x8a2e'243f6a88, step = 0x1319'85a308d3;
  const Words4 expected = philox(Words4{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}});
  EXPECT_EQ(words(random_bits(seed, Purpose{0x03}, index, step, 0x707344)), words(expected));
}

TEST(Philox, EveryArgumentChangesTheNumbers) {
  const uint64_t high = uint64_t{1} << 47;
  const std::set<Array4> different = {
      words(random_bits(1, Purpose::reset, 2, 3, 4)),
      words(random_bits(2, Purpose::reset, 2, 3, 4)),
      words(random_bits(1 + (uint64_t{1} << 63), Purpose::reset, 2, 3, 4)),
      words(random_bits(1, Purpose::action, 2, 3, 4)),
      words(random_bits(1, Purpose::reset, 3, 2, 4)),
      words(random_bits(1, Purpose::reset, 2 + high, 3, 4)),
      words(random_bits(1, Purpose::reset, 2, 3 + high, 4)),
      words(random_bits(1, Purpose::reset, 2, 3, 5)),
  };
  EXPECT_EQ(different.size(), 8u);
}

TEST(Philox, UniformsCoverZeroToBelowOne) {
  EXPECT_EQ(uniform01(0u), 0.0f);
  EXPECT_EQ(uniform01(0x80000000u), 0.5f);
  EXPECT_EQ(uniform01(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform01(0u, 0u), 0.0);
  EXPECT_EQ(uniform01(0u, 0x80000000u), 0.5);
  EXPECT_EQ(uniform01(0xffffffffu, 0xffffffffu), 1.0 - 0x1p-53);
}

// The mean of n uniforms is 1/2 with standard deviation 1/sqrt(12 n), and their variance is 1/12. Five standard
// deviations are allowed.
TEST(Philox, UniformsHaveTheMomentsOfAUniform) {
  const int n = 100000;
  double sum = 0, sum_of_squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = uniform01(random_bits(7, Purpose::benchmark, static_cast<uint64_t>(i), 0)[i % 4]);
    sum += u;
    sum_of_squares += u * u;
  }
  const double mean = sum / n;
  EXPECT_NEAR(mean, 0.5, 5 * 0.2887 / std::sqrt(n));
  EXPECT_NEAR(sum_of_squares / n - mean * mean, 1.0 / 12, 5 * 0.0745 / std::sqrt(n));
}

// The index crosses 2^32 between two lanes.
TEST(Philox, EachLaneHasTheNumbersOfItsIndex) {
  const int64_t n = 101;
  const uint64_t first = (uint64_t{7} << 32) - 50;
  test::in_every_way([&](const test::Loops& loops) {
    std::vector<int32_t> bits(4 * n);
    std::vector<float> uniform(n);
    loops(n, test::RandomBits{3, first, 9, bits.data(), uniform.data(), n});
    for (int64_t i = 0; i < n; ++i) {
      const Words4 expected = random_bits(3, Purpose::action, first + static_cast<uint64_t>(i), 9, 5);
      for (int k = 0; k < 4; ++k) EXPECT_EQ(static_cast<uint32_t>(bits[k * n + i]), expected[k]) << i << " " << k;
      EXPECT_EQ(uniform[i], uniform01(expected[0]));
    }
    return uniform;
  });
}

}  // namespace
}  // namespace drl
