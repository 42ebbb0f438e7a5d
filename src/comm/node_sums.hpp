// All-reduces between the ranks of one host through shared memory. For a gradient of some tens of kilobytes, this is
// several times as fast as MPI, and it always adds in rank order.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/node_memory.hpp"

namespace drl {

class NodeSums {
 public:
  // Collective over `comm`. Returns null on all ranks if the ranks are on several hosts, or, with a warning from rank
  // 0, if they cannot share memory (/dev/shm is full, or not the same for all ranks).
  static std::unique_ptr<NodeSums> make(MPI_Comm comm);
  // Collective; sizes must be equal. Adds ((rank 0 + rank 1) + rank 2) ..., in place, or in a tree (tree_sum.hpp).
  template <class T>
  void all_reduce(std::span<T> data, bool in_tree);

 private:
  static constexpr size_t kPiece = 128 << 10;  // bytes of each rank that are added at a time
  struct alignas(128) Flag {
    std::atomic<uint32_t> arrivals;  // the barriers that the rank has reached, modulo 2^32
    std::atomic<uint32_t> sleepers;  // ranks that sleep until `arrivals` changes
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free);

  NodeSums(MPI_Comm comm, int rank, int size);
  std::byte* slot(int rank) const { return memory_.get() + size_ * sizeof(Flag) + static_cast<size_t>(rank) * kPiece; }
  void barrier();
  static void sleep_until_changed(Flag& flag, uint32_t arrivals);

  int rank_, size_;
  uint32_t barriers_ = 0;
  NodeMemory memory_;  // a flag per rank, a slot per rank, and the sums
};

}  // namespace drl
