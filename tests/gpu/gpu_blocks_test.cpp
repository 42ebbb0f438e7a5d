// Blocks, warps, and the fragments of tensor cores' products.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../support/mentions.hpp"
#include "block_kernels.hpp"
#include "device/fingerprint_kernels.hpp"
#include "device/shared_matrix.hpp"
#include "gpu_rig.hpp"

namespace drl {
namespace {

using namespace test;

// --- Halves ---

TEST(Halves, Fp16HoldsElevenBits) {
  const auto rounded = [](float x) { return Fp16::low(Fp16::pack(x, 0)); };
  for (const float x : {0.0f, 1.0f, -1.5f, 2047.0f, 65504.0f, 0x1p-14f, 0x1p-24f, -0x3p-24f}) EXPECT_EQ(rounded(x), x);
  EXPECT_EQ(rounded(2049), 2048) << "a tie goes to the even neighbour";
  EXPECT_EQ(rounded(2051), 2052);
  EXPECT_EQ(rounded(4095.5f), 4096) << "carries into the exponent";
  EXPECT_EQ(rounded(0x1.8p-24f), 0x1p-23f);
  EXPECT_EQ(rounded(0x1p-25f), 0);
  EXPECT_EQ(rounded(65519), 65504);
  EXPECT_EQ(rounded(-65520), -INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
  EXPECT_EQ(Fp16::pack(1, -2), 0xc0003c00u) << "the first number is in the lower half";
  EXPECT_EQ(Fp16::high(0xc0003c00u), -2);
  for (uint32_t half = 0; half < 0x7c00; ++half) ASSERT_EQ(Fp16::pack(Fp16::low(half), 0), half);
}

TEST(Halves, Bf16HoldsEightBits) {
  const auto rounded = [](float x) { return Bf16::low(Bf16::pack(x, 0)); };
  for (const float x : {0.0f, -1.0f, 255.0f, 0x1p120f, 0x1p-120f}) EXPECT_EQ(rounded(x), x);
  EXPECT_EQ(rounded(257), 256) << "a tie goes to the even neighbour";
  EXPECT_EQ(rounded(259), 260);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
  EXPECT_EQ(Bf16::pack(1, -2), 0xc0003f80u);
  EXPECT_EQ(Bf16::high(0xc0003f80u), -2);
}

TEST(Halves, TwoPartsHoldTwentyTwoBits) {
  for (const float size : {1.0f, 1e-3f}) {  // without a scale, second parts of the latter would be below 2^-14
    uint32_t parts[2];
    split<ExactFactors>(size / 3, -0.7f * size, parts);
    EXPECT_NEAR(Fp16::low(parts[0]) + Fp16::low(parts[1]) / ExactFactors::kSecondScale, size / 3, size * 0x1p-24);
    EXPECT_NEAR(Fp16::high(parts[0]) + Fp16::high(parts[1]) / ExactFactors::kSecondScale, -0.7f * size, size * 0x1p-23);
  }
}

// --- The order of halves in shared memory ---

// Shared memory has 32 banks of a word each, of which a request reads or writes each one once.
TEST(ChunkOrder, ChunksOfEightRowsAndWordsOfARowAreInDifferentBanks) {
  for (const int columns : {16, 32, 64, 128}) {
    const ChunkOrder order{columns};
    std::vector<int> seen(static_cast<size_t>(64 * columns / 2));
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < columns; column += 2) {
        const int word = order.word(row, column);
        seen.at(static_cast<size_t>(word)) += 1;
        EXPECT_EQ(order.column(row, word - row * columns / 2), column);
      }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << "every word has its place";
    for (int column = 0; column < columns; column += 8) {
      std::vector<int> banks(32);
      for (int row = 8; row < 16; ++row)
        for (int k = 0; k < 4; ++k) banks[static_cast<size_t>((order.word(row, column) + k) % 32)] += 1;
      EXPECT_EQ(banks, std::vector<int>(32, 1)) << columns << " columns, from " << column;
    }
  }
}

// --- Fragments ---

class Blocks : public GpuTest {};

// The product of the matrices in double, from their factors' rounded values.
template <class Factors>
void expect_products(int columns, double tolerance) {
  const auto queue = make_gpu_queue();
  std::mt19937_64 random(7);
  std::vector<float> a(256), b(256);
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = std::uniform_real_distribution<float>(-1, 1)(random);
  const auto of_a = to_queue(*queue, a), of_b = to_queue(*queue, b);
  Array<float> c(*queue, 4 * 256);
  const Products<Factors> products{of_a.data(), of_b.data(), columns, c.data()};
  for_each_block(*queue, 4, products.shared(), products);
  const std::vector<float> found = to_host(*queue, c);
  for (size_t stored = 0; stored < 4; ++stored)
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (size_t k = 0; k < 16; ++k) sum += double{a[i * 16 + k]} * b[k * 16 + j];
        EXPECT_NEAR(found[stored * 256 + i * 16 + j], sum, tolerance) << stored << ": " << i << ", " << j;
      }
}

TEST_F(Blocks, FragmentsGiveThePlainProduct) {
  for (const int columns : {16, 32, 64, 128}) {
    // A term is below 1, and 16 terms are added: with 22 bits each has an error of 2^-22, with 11 bits of 2^-11.
    expect_products<ExactFactors>(columns, 16 * 0x1p-22);
    expect_products<Fp16Factors>(columns, 16 * 0x1p-11);
    expect_products<Bf16Factors>(columns, 16 * 0x1p-8);
  }
}

TEST_F(Blocks, PhasesPassNumbersFromWarpToWarp) {
  const auto queue = make_gpu_queue();
  constexpr int blocks = 3, turns = 5;
  Array<float> out(*queue, blocks * PassOn::kWarps * 32);
  for_each_block(*queue, blocks, PassOn::kWarps * 32 * sizeof(float), PassOn{turns, out.data()});
  const std::vector<float> found = to_host(*queue, out);
  for (size_t i = 0; i < found.size(); ++i) {
    const int block = static_cast<int>(i) / 32 / PassOn::kWarps, warp = static_cast<int>(i) / 32 % PassOn::kWarps;
    int sum = 0;
    for (int back = 1; back <= turns; ++back)
      sum += block * PassOn::kWarps + (warp - back % PassOn::kWarps + PassOn::kWarps) % PassOn::kWarps;
    ASSERT_EQ(found[i], static_cast<float>(sum)) << "block " << block << ", warp " << warp;
  }
}

#if defined(DRL_GPU_RUNTIME)
TEST_F(Blocks, TooMuchSharedMemoryIsAnError) {
  const auto queue = make_gpu_queue();
  Array<float> out(*queue, 128);
  EXPECT_EQ(gpu::shared_memory_per_block(), 227u << 10) << "of an H100";
  EXPECT_THROW(for_each_block(*queue, 1, (227 << 10) + 1, PassOn{1, out.data()}), Error);
}

#if defined(__SANITIZE_ADDRESS__)
// The last of PassOn's 128 numbers lies one word after the shared memory.
TEST_F(Blocks, AnAccessAfterTheSharedMemoryEndsTheTest) {
  const auto queue = make_gpu_queue();
  Array<float> out(*queue, 128);
  EXPECT_DEATH(for_each_block(*queue, 1, 127 * sizeof(float), PassOn{1, out.data()}), "use-after-poison");
}
#endif

// PassOn's blocks have 128 threads, and the loop over one index has 32. With 512 and 2,048 registers a thread (more
// than a real one has) they need just the 65,536 of a multiprocessor.
TEST_F(Blocks, ALaunchThatTheGpuRefusesIsAnErrorThatTellsWhatItNeeds) {
  const auto queue = make_gpu_queue();
  Array<double> number(*queue, 1);
  Array<float> out(*queue, 128);
  const auto error = [&](int registers, const auto& launch) -> std::string {
    gpu::host_attributes().numRegs = registers;
    std::string message;
    try {
      launch();
    } catch (const Error& refused) {
      message = refused.what();
    }
    gpu::host_attributes() = {};
    return message;
  };
  const auto in_blocks = [&](int64_t blocks) {
    return [&, blocks] { for_each_block(*queue, blocks, 512, PassOn{1, out.data()}); };
  };
  const auto in_loop = [&] { for_each(*queue, 1, AddUp{number.data(), 0, number.data()}); };
  expect_mentions(error(513, in_blocks(1)),
                  {"test::PassOn", "128 threads", "513 registers", "512 B", "OutOfResources"});
  expect_mentions(error(2049, in_loop), {"AddUp", "32 threads", "2049 registers", "too many resources"});
  EXPECT_EQ(error(512, in_blocks(1)), "");
  EXPECT_EQ(error(2048, in_loop), "");
  expect_mentions(error(32, in_blocks(int64_t{1} << 32)), {"test::PassOn", "128 threads"});
  EXPECT_EQ(gpuGetLastError(), gpuSuccess);
}
#endif

}  // namespace
}  // namespace drl
