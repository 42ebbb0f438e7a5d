// NCCL's communicator behaves like MPI's and the serial one (tests/comm/communicator_test.cpp), with 1, 2 and 4 ranks.

#include "comm/nccl_communicator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "nccl_rig.hpp"

namespace drl {
namespace {

using namespace test;

class NcclCommunicatorOnRanks : public NcclTest {
 protected:
  // Returns element i of a rank. The sum over ranks in float depends on the order of addition.
  static float element(int rank, size_t i) {
    return std::ldexp(1.0f + 0.37f * static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 31),
                      static_cast<int>((i + 3 * static_cast<size_t>(rank)) % 20) - 10);
  }
  template <class T>
  static std::vector<T> elements(size_t n) {
    std::vector<T> data(n);
    for (size_t i = 0; i < n; ++i) data[i] = element(world().rank(), i);
    return data;
  }

  template <class T>
  std::vector<T> reduced(Communicator& comm, const std::vector<T>& data) const {
    Array<T> on_device = to_queue(*queue, data);
    all_reduce(comm, on_device);
    wait(comm);
    return to_host(*queue, on_device);
  }

  template <class T>
  void expect_all_reduce_sums(Communicator& comm, size_t n, double tolerance) const {
    const std::vector<T> data = reduced(comm, elements<T>(n));
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int rank = 0; rank < comm.size(); ++rank) sum += element(rank, i);
      EXPECT_NEAR(data[i], sum, tolerance * sum) << "element " << i << " of " << n;
    }
    const std::vector<std::byte> all = comm.gather(std::as_bytes(std::span(data)), 0);
    const size_t bytes = n * sizeof(T);
    EXPECT_EQ(all.size(), comm.rank() == 0 ? bytes * static_cast<size_t>(comm.size()) : 0);
    for (size_t at = 0; at < all.size(); at += bytes)
      EXPECT_EQ(std::memcmp(all.data() + at, data.data(), bytes), 0) << "rank " << at / bytes;
  }
};

TEST_F(NcclCommunicatorOnRanks, AllReduceIsTheSumAndBitIdenticalOnAllRanks) {
  const auto comm = connect();
  EXPECT_EQ(comm->rank(), world().rank());
  EXPECT_EQ(comm->size(), world().size());
  for (size_t n : {1, 3, 1000, 9479, 100000}) {  // NCCL changes its algorithm with the size
    expect_all_reduce_sums<float>(*comm, n, 4e-7);
    expect_all_reduce_sums<double>(*comm, n, 1e-15);
  }
}

TEST_F(NcclCommunicatorOnRanks, AllReduceIsDeterministic) {
  const auto comm = connect();
  const std::vector<float> data = elements<float>(5000);
  EXPECT_EQ(reduced(*comm, data), reduced(*comm, data));
}

TEST_F(NcclCommunicatorOnRanks, CollectivesOfHostMemoryUseTheHostsCommunicator) {
  const auto comm = connect();
  std::vector<double> data = {1, 10};
  comm->all_reduce_sum(std::span<double>(data));
  EXPECT_EQ(data, (std::vector<double>{1.0 * world().size(), 10.0 * world().size()}));
  for (int root = 0; root < comm->size(); ++root) {
    std::vector<int> numbers = {comm->rank(), 100 + comm->rank()};
    comm->broadcast(std::as_writable_bytes(std::span(numbers)), root);
    EXPECT_EQ(numbers, (std::vector<int>{root, 100 + root}));
  }
  const std::vector<std::string> texts = gather_texts(*comm, std::string(static_cast<size_t>(comm->rank()), 'x'));
  EXPECT_EQ(texts.size(), comm->rank() == 0 ? comm->size() : 0);
  for (size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank], std::string(rank, 'x'));
}

TEST_F(NcclCommunicatorOnRanks, CountsAllReducesAndTheirBytes) {
  const auto comm = connect();
  Array<float> floats(*queue, 10);
  Array<double> doubles(*queue, 3);
  all_reduce(*comm, floats, 2);
  all_reduce(*comm, doubles);
  wait(*comm);
  EXPECT_EQ(comm->stats().all_reduces_f32, 2);
  EXPECT_EQ(comm->stats().bytes_f32, 80);
  EXPECT_EQ(comm->stats().all_reduces_f64, 1);
  EXPECT_EQ(comm->stats().bytes_f64, 24);
  EXPECT_EQ(comm->stats().host_calls, 0);
}

TEST_F(NcclCommunicatorOnRanks, ARecordingReducesAndCountsAtEachLaunch) {
  const auto comm = connect();
  Array<float> value = to_queue(*queue, std::vector<float>{1});
  Recorded recorded = record(*comm, value, 2);
  EXPECT_EQ(comm->stats().all_reduces_f32, 0);
  EXPECT_EQ(recorded.captured.all_reduces_f32, 2);
  launch(*comm, recorded, 2);
  all_reduce(*comm, value);
  wait(*comm);
  EXPECT_EQ(to_host(*queue, value)[0], static_cast<float>(std::pow(world().size(), 5)));
  EXPECT_EQ(comm->stats().all_reduces_f32, 5);
  EXPECT_EQ(comm->stats().bytes_f32, 20);
}

// wait_seconds is the time of waiting for other ranks and of the transfer, added at each wait.
TEST_F(NcclCommunicatorOnRanks, AllReducesAreTimed) {
  const auto comm = connect();
  Array<float> value(*queue, 1000);
  std::vector<double> seconds = {comm->stats().wait_seconds};
  const auto wait_and_note = [&] {
    EXPECT_EQ(comm->stats().wait_seconds, seconds.back()) << "must not change before the all-reduces have ended";
    wait(*comm);
    seconds.push_back(comm->stats().wait_seconds);
  };
  all_reduce(*comm, value, 3);
  wait_and_note();
  Recorded recorded = record(*comm, value, 2);
  for (int k = 0; k < 2; ++k) {
    launch(*comm, recorded);
    wait_and_note();
  }
  EXPECT_EQ(seconds.front(), 0);
  for (size_t k = 1; k < seconds.size(); ++k)
    EXPECT_TRUE(comm->size() == 1 || seconds[k] > seconds[k - 1]) << k;  // a single rank has nothing to do
  wait(*comm);
  EXPECT_EQ(comm->stats().wait_seconds, seconds.back());
}

// Rank 0 is late for each launch of a recording, and each launch is counted.
TEST_F(NcclCommunicatorOnRanks, WaitingAddsUpOverLaunches) {
  const auto comm = connect();
  Array<float> value(*queue, 1000);
  Recorded recorded = record(*comm, value, 1);
  constexpr int kLaunches = 5;
  constexpr std::chrono::milliseconds kLate(40);
  for (int k = 0; k < kLaunches; ++k) {
    if (comm->rank() == 0) std::this_thread::sleep_for(kLate);
    launch(*comm, recorded);
  }
  wait(*comm);
  const double waited = comm->stats().wait_seconds, late = kLaunches * std::chrono::duration<double>(kLate).count();
  EXPECT_GE(waited, comm->rank() > 0 ? 0.5 * late : 0);
  EXPECT_LT(waited, 20 * late);
}

TEST_F(NcclCommunicatorOnRanks, ACaptureThatFailsCountsNothing) {
  const auto comm = connect();
  Array<float> value(*queue, 1);
  queue->synchronize();
  const auto fail = [&] {
    queue->record([&] {
      all_reduce(*comm, value);
      throw std::runtime_error("in the capture");
    });
  };
  EXPECT_THROW(comm->capture(fail), std::runtime_error);
  EXPECT_EQ(comm->stats().all_reduces_f32, 0);
  expect_all_reduce_sums<float>(*comm, 10, 4e-7);
  EXPECT_EQ(comm->stats().all_reduces_f32, 1);
}

TEST_F(NcclCommunicatorOnRanks, CanBeCreatedAgain) {
  for (int k = 0; k < 2; ++k) expect_all_reduce_sums<float>(*connect(), 10, 4e-7);
}

}  // namespace
}  // namespace drl
