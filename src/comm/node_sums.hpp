// Sums over the ranks of one host through memory that all of them see: for a gradient of some tens of kilobytes
// several times as fast as MPI's own, and always in the order of the ranks.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace drl {

class NodeSums {
 public:
  // Collective over `comm`. On all ranks or on none: null when some rank is on another host, or, which rank 0 says,
  // when the memory cannot be had or seen by all (/dev/shm is full, or is not the same for all).
  static std::unique_ptr<NodeSums> make(MPI_Comm comm);
  ~NodeSums();
  NodeSums(const NodeSums&) = delete;
  NodeSums& operator=(const NodeSums&) = delete;

  // Collective, of equal sizes: adds up ((rank 0 + rank 1) + rank 2) ..., in place.
  template <class T>
  void all_reduce(std::span<T> data);

 private:
  static constexpr size_t kPiece = 128 << 10;  // bytes of each rank that are added up at a time
  struct alignas(128) Flag {
    std::atomic<uint64_t> arrivals;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  NodeSums(int rank, int size) : rank_(rank), size_(size) {}
  bool map(int file);
  size_t bytes() const { return static_cast<size_t>(size_) * (sizeof(Flag) + kPiece) + kPiece; }
  std::byte* slot(int rank) const { return memory_ + size_ * sizeof(Flag) + static_cast<size_t>(rank) * kPiece; }
  void meet();

  int rank_, size_;
  uint64_t meetings_ = 0;
  std::byte* memory_ = nullptr;  // a flag and a slot for each rank, and the sums
};

}  // namespace drl
