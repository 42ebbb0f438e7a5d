#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "../mpi_main.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "comm/shard_team.hpp"
#include "launch/launch_info.hpp"

namespace drl {
namespace {

using test::world;

// Returns element i of a rank's data. The float sum of these numbers depends on the order of addition.
float element(int rank, size_t i) {
  return std::ldexp(1.0f + 0.37f * static_cast<float>((i * 7 + rank * 13) % 31),
                    static_cast<int>((i + 3 * rank) % 20) - 10);
}

// Expects, on rank 0, that the data of all ranks is bit-identical.
template <class T>
void expect_equal_on_all_ranks(const std::vector<T>& data) {
  const std::vector<std::byte> all = world().gather(std::as_bytes(std::span(data)), 0);
  const size_t bytes = data.size() * sizeof(T);
  EXPECT_EQ(all.size(), world().rank() == 0 ? bytes * world().size() : 0);
  for (size_t at = 0; at < all.size(); at += bytes)
    EXPECT_EQ(std::memcmp(all.data() + at, data.data(), bytes), 0) << "rank " << at / bytes;
}

template <class T>
void expect_all_reduce_sums(size_t n, double tolerance) {
  std::vector<T> data(n);
  for (size_t i = 0; i < n; ++i) data[i] = element(world().rank(), i);
  world().all_reduce_sum(std::span<T>(data));
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int rank = 0; rank < world().size(); ++rank) sum += element(rank, i);
    EXPECT_NEAR(data[i], sum, tolerance * sum) << "element " << i << " of " << n;
  }
  expect_equal_on_all_ranks(data);
}

TEST(CommunicatorOnRanks, AllReduceIsTheSumAndBitIdenticalOnAllRanks) {
  for (size_t n : {1, 2, 3, 17, 1000, 9479, 100000}) {  // MPI changes its algorithm with the size
    expect_all_reduce_sums<float>(n, 4e-7);
    expect_all_reduce_sums<double>(n, 1e-15);
  }
}

// Covers all-reduces in shared memory, also with sizes that are not multiples of its pieces and cache lines.
TEST(CommunicatorOnRanks, AllReduceOnOneHostAddsInTheOrderOfTheRanks) {
  for (size_t n : {1, 15, 16, 33, 9479, 32768, 32769, 100001}) {
    std::vector<float> data(n), expected(n);
    for (size_t i = 0; i < n; ++i) {
      data[i] = element(world().rank(), i), expected[i] = element(0, i);
      for (int rank = 1; rank < world().size(); ++rank) expected[i] += element(rank, i);
    }
    world().all_reduce_sum(std::span<float>(data));
    EXPECT_EQ(data, expected);
  }
}

// A communicator of all ranks, which a team of shards may change.
std::unique_ptr<Communicator> another_world() {
  return world().size() == 1 ? make_serial_communicator() : make_group_communicator(0);
}

// Eight shards, on one, two or four ranks.
TEST(ShardTeamOnRanks, AddsAllShardsInOneTree) {
  const std::unique_ptr<Communicator> ranks = another_world();
  const int count = 8 / ranks->size();
  ShardTeam team(count, *ranks);
  for (size_t n : {1, 33, 9479, 40001}) {
    std::vector<float> expected(n);
    for (size_t i = 0; i < n; ++i) {
      float x[8];
      for (int shard = 0; shard < 8; ++shard) x[shard] = element(shard, i);
      expected[i] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
    std::vector<std::vector<float>> sums(static_cast<size_t>(count), std::vector<float>(n));
    std::vector<std::vector<double>> numbers(sums.size(), {0});
    team.run([&](int shard, Communicator& comm) {
      EXPECT_EQ(comm.rank(), ranks->rank() * count + shard);
      EXPECT_EQ(comm.size(), 8);
      std::vector<float>& mine = sums[static_cast<size_t>(shard)];
      for (size_t i = 0; i < n; ++i) mine[i] = element(comm.rank(), i);
      comm.all_reduce_sum(std::span<float>(mine));
      numbers[static_cast<size_t>(shard)] = {std::ldexp(1.0, comm.rank())};
      comm.all_reduce_sum(std::span<double>(numbers[static_cast<size_t>(shard)]));
    });
    for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, expected);
    for (const std::vector<double>& number : numbers) EXPECT_EQ(number, std::vector<double>{255});
  }
}

// The others end where they would wait for the shard that failed, also for a sum that another rank waits for.
TEST(ShardTeamOnRanks, AShardThatFailsEndsTheOthers) {
  if (world().size() > 1) GTEST_SKIP() << "other ranks would wait";
  const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  ShardTeam team(4, *ranks);
  std::vector<int> sums(4);
  for (const int failing : {0, 3}) {
    std::ranges::fill(sums, 0);
    const auto work = [&](int shard, Communicator& comm) {
      for (double x = 1;; sums[static_cast<size_t>(shard)] += 1) {
        if (shard == failing && sums[static_cast<size_t>(shard)] == 2) throw Error("shard failed");
        comm.all_reduce_sum(std::span<double>(&x, 1));
      }
    };
    EXPECT_THROW(team.run(work), Error);
    EXPECT_EQ(sums, std::vector<int>(4, 2));
  }
  int runs = 0;  // the team can be used again
  team.run([&](int shard, Communicator&) { runs += shard == 0; });
  EXPECT_EQ(runs, 1);
}

TEST(CommunicatorOnRanks, RepeatedAllReducesAreBitIdentical) {
  std::vector<float> first(5000), second(5000);
  for (size_t i = 0; i < first.size(); ++i) first[i] = second[i] = element(world().rank(), i);
  world().all_reduce_sum(std::span<float>(first));
  world().all_reduce_sum(std::span<float>(second));
  EXPECT_EQ(first, second);
}

TEST(CommunicatorOnRanks, CountsCallsAndBytes) {
  const CommStats before = world().stats();
  std::vector<float> floats(10);
  std::vector<double> doubles(3);
  world().all_reduce_sum(std::span<float>(floats));
  world().all_reduce_sum(std::span<float>(floats));
  world().all_reduce_sum(std::span<double>(doubles));
  world().broadcast(std::as_writable_bytes(std::span(doubles)), 0);
  const std::vector<std::byte> all = world().gather(std::as_bytes(std::span(doubles)), 0);
  world().scatter(all, std::as_writable_bytes(std::span(doubles)), 0);
  const CommStats& after = world().stats();
  EXPECT_EQ(after.all_reduces_f32 - before.all_reduces_f32, 2);
  EXPECT_EQ(after.bytes_f32 - before.bytes_f32, 80);
  EXPECT_EQ(after.all_reduces_f64 - before.all_reduces_f64, 1);
  EXPECT_EQ(after.bytes_f64 - before.bytes_f64, 24);
  EXPECT_EQ(after.host_calls - before.host_calls, 3);
  EXPECT_GE(after.wait_seconds, before.wait_seconds);
}

TEST(CommunicatorOnRanks, CapturedAllReducesCountWhenTheyAreReplayed) {
  const CommStats before = world().stats();
  std::vector<float> floats(10);
  std::vector<double> doubles(3);
  const CommStats captured = world().capture([&] {
    world().all_reduce_sum(std::span<float>(floats));
    world().all_reduce_sum(std::span<double>(doubles));
  });
  EXPECT_EQ(world().stats().all_reduces(), before.all_reduces());
  EXPECT_EQ(captured.all_reduces(), 2);
  for (int launch = 0; launch < 3; ++launch) world().count_replayed(captured, {});
  const CommStats& after = world().stats();
  EXPECT_EQ(after.all_reduces_f32 - before.all_reduces_f32, 3);
  EXPECT_EQ(after.bytes_f32 - before.bytes_f32, 3 * 40);
  EXPECT_EQ(after.all_reduces_f64 - before.all_reduces_f64, 3);
  EXPECT_EQ(after.bytes_f64 - before.bytes_f64, 3 * 24);
}

TEST(CommunicatorOnRanks, WaitsUntilDone) {
  int polls = 0;
  world().wait([&] { return ++polls == 3; });
  EXPECT_EQ(polls, 3);
}

TEST(CommunicatorOnRanks, BroadcastsTheRootsBytes) {
  for (int root = 0; root < world().size(); ++root) {
    std::vector<int> data = {world().rank(), 100 + world().rank()};
    world().broadcast(std::as_writable_bytes(std::span(data)), root);
    EXPECT_EQ(data, (std::vector<int>{root, 100 + root}));
  }
}

TEST(CommunicatorOnRanks, GathersBlocksOfUnequalSizesInRankOrder) {
  const std::string mine(static_cast<size_t>(world().rank()),
                         static_cast<char>('a' + world().rank()));  // "", "b", "cc", "ddd"
  const std::vector<std::byte> all = world().gather(std::as_bytes(std::span(mine)), 0);
  const std::string expected = std::string("bccddd").substr(0, world().size() * (world().size() - 1) / 2);
  const std::string text(reinterpret_cast<const char*>(all.data()), all.size());
  EXPECT_EQ(text, world().rank() == 0 ? expected : "");
}

TEST(CommunicatorOnRanks, ScattersBlocksOfUnequalSizesInRankOrder) {
  const std::string all = "bccddd";  // "", "b", "cc", "ddd"
  for (int root = 0; root < world().size(); ++root) {
    std::string mine(static_cast<size_t>(world().rank()), '-');
    const std::string dealt = world().rank() == root ? all.substr(0, world().size() * (world().size() - 1) / 2) : "";
    world().scatter(std::as_bytes(std::span(dealt)), std::as_writable_bytes(std::span(mine)), root);
    EXPECT_EQ(mine, std::string(static_cast<size_t>(world().rank()), static_cast<char>('a' + world().rank())));
  }
}

TEST(CommunicatorOnRanks, ScatterRefusesWrongSizes) {
  if (world().size() > 1) return;  // the other ranks would wait forever
  std::vector<std::byte> mine(3);
  EXPECT_THROW(world().scatter(std::vector<std::byte>(4), mine, 0), std::exception);
}

// A piece of five bytes can hold one float but no double, and blocks end within a piece.
TEST(CommunicatorOnRanks, SendsLongDataInPieces) {
  if (!launch_info().launched()) return;
  const auto pieces = make_mpi_communicator(5);
  const auto rank = static_cast<size_t>(world().rank()), size = static_cast<size_t>(world().size());
  std::vector<int> numbers = {7, 8, 9};
  if (rank != 0) numbers.assign(3, 0);
  pieces->broadcast(std::as_writable_bytes(std::span(numbers)), 0);
  EXPECT_EQ(numbers, (std::vector<int>{7, 8, 9}));
  numbers.assign(3, static_cast<int>(rank));
  pieces->broadcast_without_spinning(std::as_writable_bytes(std::span(numbers)), world().size() - 1);
  EXPECT_EQ(numbers, (std::vector<int>(3, world().size() - 1)));

  std::vector<float> floats = {1, static_cast<float>(rank), 0.5f};
  std::vector<double> doubles = {1, static_cast<double>(rank), 0.5};
  pieces->all_reduce_sum(std::span(floats));
  pieces->all_reduce_sum(std::span(doubles));
  const double n = static_cast<double>(size);
  EXPECT_EQ(doubles, (std::vector<double>{n, n * (n - 1) / 2, n / 2}));
  EXPECT_EQ(floats, (std::vector<float>(doubles.begin(), doubles.end())));

  // 3, 14, 25, 36 bytes
  const std::string mine(3 + 11 * rank, static_cast<char>('a' + rank));
  std::string expected;
  for (size_t other = 0; other < size; ++other) expected.append(3 + 11 * other, static_cast<char>('a' + other));
  const std::vector<std::byte> all = pieces->gather(std::as_bytes(std::span(mine)), 0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(all.data()), all.size()), rank == 0 ? expected : "");
  std::string back(mine.size(), '-');
  pieces->scatter(all, std::as_writable_bytes(std::span(back)), 0);
  EXPECT_EQ(back, mine);
}

TEST(CommunicatorOnRanks, GathersScattersAndBroadcastsTexts) {
  const std::string mine = world().rank() == 0 ? ""
                                               : std::string(static_cast<size_t>(1000 * world().rank()), 'x') +
                                                     std::to_string(world().rank());
  const std::vector<std::string> texts = gather_texts(world(), mine);
  EXPECT_EQ(texts.size(), world().rank() == 0 ? world().size() : 0);
  for (size_t rank = 0; rank < texts.size(); ++rank)
    EXPECT_EQ(texts[rank], rank == 0 ? "" : std::string(1000 * rank, 'x') + std::to_string(rank));
  EXPECT_EQ(scatter_texts(world(), texts), mine);
  const int last = world().size() - 1;
  EXPECT_EQ(broadcast_text(world(), world().rank() == last ? "only the root knows" : "", last), "only the root knows");
  EXPECT_EQ(broadcast_text(world(), ""), "");
}

// The log of this rank while `work` runs, and the exit code of the ReportedError that ended it (-1: none).
struct Outcome {
  std::string log;
  int code = -1;
};

Outcome run_logged(const std::function<void()>& work) {
  Outcome outcome;
  log::set_writer([&](std::string_view text) { outcome.log += text; });
  try {
    work();
  } catch (const ReportedError& error) {
    outcome.code = error.exit_code();
  }
  log::set_writer({});
  return outcome;
}

TEST(FailuresOnRanks, SuccessIsSilent) {
  int calls = 0;
  const Outcome outcome = run_logged([&] { on_all_ranks(world(), [&] { calls += 1; }); });
  EXPECT_EQ(outcome.code, -1);
  EXPECT_EQ(outcome.log, "");
  EXPECT_EQ(calls, 1);
}

TEST(FailuresOnRanks, OneFailureEndsAllRanksAndIsPrintedOnce) {
  const int bad = world().size() - 1;  // rank 1 of 2, rank 3 of 4
  const Outcome outcome = run_logged([&] {
    on_all_ranks(world(), [&] {
      if (world().rank() == bad) throw UsageError("this file is bad");
    });
  });
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.log.find("this file is bad") != std::string::npos, world().rank() == bad) << outcome.log;
}

TEST(FailuresOnRanks, TheLowestRanksFailureCounts) {
  const int first = std::min(1, world().size() - 1);
  const Outcome outcome = run_logged([&] {
    on_all_ranks(world(), [&] {
      if (world().rank() == first) throw std::runtime_error("first");
      if (world().rank() > first) throw UsageError("second");
    });
  });
  EXPECT_EQ(outcome.code, kFailure);
  EXPECT_EQ(outcome.log.empty(), world().rank() != first) << outcome.log;
}

TEST(RankZeroOnRanks, OnlyRankZeroRunsTheWorkAndAllGetTheResult) {
  int calls = 0;
  const std::string result = on_rank_zero(world(), [&] {
    calls += 1;
    return std::string("path\0of the run", 15);
  });
  EXPECT_EQ(result, std::string("path\0of the run", 15));
  EXPECT_EQ(calls, world().rank() == 0);
}

TEST(RankZeroOnRanks, FailureEndsAllRanksWithItsExitCode) {
  const Outcome outcome = run_logged([&] { on_rank_zero(world(), [] { throw Error("cannot write", 75); }); });
  EXPECT_EQ(outcome.code, 75);
  EXPECT_EQ(outcome.log.empty(), world().rank() != 0) << outcome.log;
}

}  // namespace
}  // namespace drl
