#include "drl/lanes/lanes.hpp"

#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "math_loops.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kNumbers = 77;

template <class Rows>
class RowsOf : public testing::Test {};
using Widths = testing::Types<CopyRows<1>, CopyRows<3>, CopyRows<4>, CopyRows<6>, CopyRows<8>, CopyRows<11>>;
TYPED_TEST_SUITE(RowsOf, Widths);

template <int K>
constexpr int width_of(CopyRows<K>) {
  return K;
}

TYPED_TEST(RowsOf, AreRestoredFromTheirColumns) {
  const size_t size = kNumbers * width_of(TypeParam{});
  std::vector<float> from(size);
  for (size_t i = 0; i < size; ++i) from[i] = static_cast<float>(i + 1);
  const std::vector<float> to = in_every_way([&](const Loops& loops) {
    std::vector<float> to(size + 16, -1);
    loops(kNumbers, TypeParam{from.data(), to.data()});
    return to;
  });
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], i < size ? from[i] : -1);
}

TEST(Lanes, HaveMasksTableLookupsAndLoopsOfDifferentLengths) {
  std::vector<int32_t> x(kNumbers);
  for (int i = 0; i < kNumbers; ++i) x[i] = i + 1;
  std::vector<float> table(3 * kNumbers + 1);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  const std::vector<int32_t> all = in_every_way([&](const Loops& loops) {
    std::vector<int32_t> out(4 * kNumbers);
    std::vector<uint8_t> flags(kNumbers);
    std::vector<float> looked_up(kNumbers);
    loops(kNumbers, LaneOperations{x.data(), table.data(), 42, out.data(), out.data() + kNumbers, flags.data(),
                                   looked_up.data()});
    std::copy(flags.begin(), flags.end(), out.begin() + 2 * kNumbers);
    std::copy(looked_up.begin(), looked_up.end(), out.begin() + 3 * kNumbers);
    return out;
  });
  for (int i = 0; i < kNumbers; ++i) {
    EXPECT_EQ(all[i], x[i] > 42);
    EXPECT_EQ(all[2 * kNumbers + i], x[i] > 42);
    EXPECT_EQ(all[3 * kNumbers + i], 3 * x[i]);
  }
  // The Collatz sequence of 1 has no steps, and that of 27 has 111.
  EXPECT_EQ(all[kNumbers], 0);
  EXPECT_EQ(all[kNumbers + 26], 111);
}

// The numbers include the largest one, and neighbours of multiples, whose quotients must not be rounded up.
TEST(Lanes, QuotientsOfLargeNumbersAreExact) {
  for (uint32_t by : {1u, 3u, 65537u, 2147483647u}) {
    std::vector<int32_t> x;
    for (uint32_t at = 4294967295u; x.size() < 64; at -= by == 1 ? 1 : by / 2 + 1)
      x.push_back(static_cast<int32_t>(at));
    const auto n = static_cast<int64_t>(x.size());
    in_every_way([&](const Loops& loops) {
      std::vector<int32_t> out(x.size());
      loops(n, Quotients{x.data(), by, out.data()});
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(static_cast<uint32_t>(out[i]), static_cast<uint32_t>(x[i]) / by) << static_cast<uint32_t>(x[i]);
      return out;
    });
  }
}

}  // namespace
}  // namespace drl
