#include "device/array.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"

namespace drl {
namespace {

constexpr size_t kLarge = kLazyBytes;  // this many floats are 4 MiB, which are mapped

// Tests arrays without a queue, and both kinds of memory of a host queue.
TEST(Array, IsZeroAndAlignedSmallAndLarge) {
  const auto queue = make_host_queue(available_isas().front());
  for (size_t size : {size_t{1}, size_t{17}, kLarge + 3}) {
    const Array<float> arrays[] = {Array<float>(size), Array<float>(*queue, size),
                                   Array<float>(*queue, size, Memory::host)};
    for (const Array<float>& array : arrays) {
      EXPECT_EQ(array.size(), size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % kAlignment, 0U);
      EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](float x) { return x == 0; }));
    }
  }
}

TEST(Array, IsZeroInRecycledMemory) {
  for (int i = 0; i < 3; ++i) {
    Array<int> array(100);
    EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](int x) { return x == 0; }));
    std::fill(array.begin(), array.end(), -1);
  }
}

TEST(Array, MovesWithoutCopying) {
  Array<int> a(10);
  a[3] = 7;
  const int* const data = a.data();
  Array<int> b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_TRUE(a.empty());
  Array<int> c(kLarge);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 10U);
  EXPECT_EQ(c[3], 7);
}

TEST(Array, IsASpan) {
  Array<double> array(4);
  std::span<double> whole = array;
  whole[1] = 2;
  const std::span<const double> read = array;
  EXPECT_EQ(read.size(), 4U);
  EXPECT_EQ(read[1], 2);
}

TEST(Array, EmptyHasNoMemory) {
  EXPECT_TRUE(Array<float>().empty());
  EXPECT_EQ(Array<float>(0).data(), nullptr);
}

size_t resident_bytes(Array<float>& array) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_memory(array.size() * sizeof(float) / page);
  EXPECT_EQ(mincore(array.data(), array.size() * sizeof(float), in_memory.data()), 0);
  return page * static_cast<size_t>(std::count(in_memory.begin(), in_memory.end(), 1));
}

TEST(Array, TakesMemoryOnlyForPagesThatAreWritten) {
  Array<float> array(size_t{1} << 24);  // 64 MiB
  EXPECT_EQ(resident_bytes(array), 0U);
  array[array.size() - 1] = 1;
  EXPECT_GT(resident_bytes(array), 0U);
  EXPECT_LE(resident_bytes(array), size_t{2} << 20);  // one page, which may be a huge one
}

TEST(Array, TooLargeIsAnError) {
  EXPECT_THROW(Array<double>(size_t{1} << 50), Error);  // beyond the address space
  EXPECT_THROW(Array<double>(~size_t{0}), Error);       // its size in bytes overflows
}

}  // namespace
}  // namespace drl
