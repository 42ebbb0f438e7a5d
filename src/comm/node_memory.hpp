// Memory that the ranks of one host share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>

namespace drl {

class NodeMemory {
 public:
  // Collective over `comm`, whose ranks are all on one host. allocate(file) allocates this rank's part of the `bytes`,
  // which is then near its core, and returns false if there is too little memory. If the ranks cannot share memory
  // (/dev/shm is full, or not the same for all ranks), get() is null on all of them. The memory is zero at first.
  NodeMemory(MPI_Comm comm, size_t bytes, const std::function<bool(int file)>& allocate);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  std::byte* get() const { return memory_; }

 private:
  size_t bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace drl
