#include "algorithms/permutation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace drl {
namespace {

std::vector<uint32_t> images(uint64_t seed, uint64_t iteration, uint32_t epoch, uint64_t shard, uint32_t size) {
  const Permutation permutation(seed, iteration, epoch, shard, size);
  std::vector<uint32_t> result(size);
  for (uint32_t i = 0; i < size; ++i) result[i] = permutation(i);
  return result;
}

class PermutationOf : public testing::TestWithParam<uint32_t> {};

TEST_P(PermutationOf, IsABijection) {
  const uint32_t size = GetParam();
  for (uint64_t seed : {0, 1, 12345}) {
    std::vector<uint32_t> sorted = images(seed, 3, 2, 1, size);
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(sorted[i], i) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationOf,
                         testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 4095, 4096, 4097, 65536,
                                         131071, 131072, 131073));

TEST(Permutation, StaysWithinTheLargestSizes) {
  for (uint32_t size : {(1u << 30) + 1, (1u << 31) - 1, 1u << 31}) {
    const Permutation permutation(1, 2, 3, 4, size);
    for (uint32_t i = 0; i < 1000; ++i) EXPECT_LT(permutation(size - 1 - i), size);
  }
}

TEST(Permutation, EveryPartOfTheKeyMatters) {
  const std::vector<std::vector<uint32_t>> all = {images(1, 1, 1, 1, 1000), images(2, 1, 1, 1, 1000),
                                                  images(1, 2, 1, 1, 1000), images(1, 1, 2, 1, 1000),
                                                  images(1, 1, 1, 2, 1000), images(uint64_t{1} << 40, 1, 1, 1, 1000)};
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      int same = 0;
      for (size_t i = 0; i < 1000; ++i) same += all[a][i] == all[b][i];
      EXPECT_LT(same, 10) << "keys " << a << " and "
                          << b;  // random permutations agree in one place on average (Poisson)
    }
}

// Returns Pearson's statistic of counts that should be equal. For k cells it has mean k - 1 and standard deviation
// sqrt(2 (k - 1)).
double chi_square(const std::vector<int>& counts) {
  double total = 0, sum = 0;
  for (int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  for (int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Counts the images of an element for 20,000 keys. The bound is the mean plus five standard deviations.
TEST(Permutation, ImagesAreUniformlyDistributed) {
  for (uint32_t size : {2u, 3u, 5u, 8u, 16u, 20u, 32u, 50u, 64u, 100u, 128u})
    for (uint32_t element : {0u, 1u, size - 1}) {
      std::vector<int> counts(size);
      for (uint64_t key = 0; key < 20000; ++key)
        counts[Permutation(key, key % 7, key % 3, key % 5, size)(element)] += 1;
      EXPECT_LT(chi_square(counts), size - 1 + 5 * std::sqrt(2.0 * (size - 1)))
          << "element " << element << " of " << size;
    }
}

// Counts the 24 orders of four elements for 24,000 keys.
TEST(Permutation, AllOrdersAreEquallyFrequent) {
  std::vector<int> counts(24);
  for (uint64_t key = 0; key < 24000; ++key) {
    const std::vector<uint32_t> p = images(key, 0, 0, 0, 4);
    int code = 0;  // the Lehmer code: for each element, the number of later elements that are smaller
    for (int i = 0; i < 4; ++i) {
      int smaller = 0;
      for (int j = i + 1; j < 4; ++j) smaller += p[j] < p[i];
      code = code * (4 - i) + smaller;
    }
    counts[code] += 1;
  }
  EXPECT_LT(chi_square(counts), 23 + 5 * std::sqrt(46.0));
}

}  // namespace
}  // namespace drl
