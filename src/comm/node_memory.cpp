#include "comm/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "comm/mpi_check.hpp"

namespace drl {
namespace {

bool all_true(MPI_Comm comm, bool mine) {
  int value = mine ? 1 : 0, all = 0;
  check_mpi(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  return all == 1;
}

void* map(int file, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

NodeMemory::NodeMemory(MPI_Comm comm, size_t bytes, const std::function<bool(int file)>& allocate) : bytes_(bytes) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  // The name is unlinked below, so that the memory is freed when the processes end.
  char name[64] = {};
  int file = -1;
  if (rank == 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::snprintf(name, sizeof(name), "/drl.%d.%lx", static_cast<int>(getpid()),
                  static_cast<unsigned long>(now.tv_sec) * 1000000000 + static_cast<unsigned long>(now.tv_nsec));
    file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  }
  check_mpi(MPI_Bcast(name, sizeof(name), MPI_BYTE, 0, comm), "MPI_Bcast");
  if (rank != 0) file = shm_open(name, O_RDWR, 0600);
  bool good = all_true(comm, file >= 0);
  good = good && all_true(comm, rank != 0 || ftruncate(file, static_cast<off_t>(bytes)) == 0);
  if (good) {
    if (allocate(file)) memory_ = static_cast<std::byte*>(map(file, bytes));
    good = all_true(comm, memory_ != nullptr);
  }
  if (rank == 0 && file >= 0) shm_unlink(name);
  if (file >= 0) close(file);
  if (good || !memory_) return;
  munmap(memory_, bytes_);
  memory_ = nullptr;
}

NodeMemory::~NodeMemory() {
  if (memory_) munmap(memory_, bytes_);
}

}  // namespace drl
