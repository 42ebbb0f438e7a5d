#include "comm/node_sums.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/log.hpp"
#include "comm/mpi_check.hpp"

namespace drl {
namespace {

bool on_one_host(MPI_Comm comm, int size) {
  MPI_Comm host;
  int on_host = 0;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(host, &on_host), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  int least = 0;
  check_mpi(MPI_Allreduce(&on_host, &least, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  return least == size;
}

bool all_true(MPI_Comm comm, bool mine) {
  int value = mine ? 1 : 0, all = 0;
  check_mpi(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  return all == 1;
}

}  // namespace

std::unique_ptr<NodeSums> NodeSums::make(MPI_Comm comm) {
  int rank = 0, size = 1;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (size == 1 || !on_one_host(comm, size)) return nullptr;

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
  std::unique_ptr<NodeSums> sums(new NodeSums(rank, size));
  bool good = all_true(comm, file >= 0);
  good = good && all_true(comm, rank != 0 || ftruncate(file, static_cast<off_t>(sums->bytes())) == 0);
  good = good && all_true(comm, sums->map(file));
  if (rank == 0 && file >= 0) shm_unlink(name);
  if (file >= 0) close(file);
  if (good) return sums;
  if (rank == 0)
    log::warn(
        "the {} ranks of this host cannot share memory, so all-reduces use MPI, which is several times slower for "
        "small "
        "networks (/dev/shm is full, or not the same for all ranks): check df -h /dev/shm",
        size);
  return nullptr;
}

// Each rank allocates the memory of its slot, which is then near its core. Rank 0 also allocates the flags and the
// sums.
bool NodeSums::map(int file) {
  const auto slots = static_cast<off_t>(static_cast<size_t>(size_) * sizeof(Flag)), piece = static_cast<off_t>(kPiece);
  if (rank_ == 0 && (posix_fallocate(file, 0, slots) != 0 || posix_fallocate(file, slots + size_ * piece, piece) != 0))
    return false;
  if (posix_fallocate(file, slots + rank_ * piece, piece) != 0) return false;
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

NodeSums::~NodeSums() {
  if (memory_) munmap(memory_, bytes());
}

// Returns when all ranks have called it equally often. It spins first, which is fast if each rank has a core, and then
// yields, so that ranks that share a core let the others run.
void NodeSums::barrier() {
  constexpr int kSpins = 2000;
  auto* flags = reinterpret_cast<Flag*>(memory_);
  flags[rank_].arrivals.store(++barriers_, std::memory_order_release);
  for (int rank = 0; rank < size_; ++rank)
    for (int spins = 0; flags[rank].arrivals.load(std::memory_order_acquire) < barriers_; ++spins)
      if (spins > kSpins) sched_yield();
}

template <class T>
void NodeSums::all_reduce(std::span<T> data) {
  auto* sums = reinterpret_cast<T*>(slot(size_));
  for (; !data.empty(); data = data.subspan(std::min(data.size(), kPiece / sizeof(T)))) {
    const size_t count = std::min(data.size(), kPiece / sizeof(T));
    std::memcpy(slot(rank_), data.data(), count * sizeof(T));
    barrier();
    // Each rank adds its share of whole cache lines over all slots.
    const size_t line = 64 / sizeof(T), lines = (count + line - 1) / line, ranks = static_cast<size_t>(size_);
    const size_t begin = std::min(count, lines * static_cast<size_t>(rank_) / ranks * line),
                 end = std::min(count, lines * (static_cast<size_t>(rank_) + 1) / ranks * line);
    std::copy_n(reinterpret_cast<const T*>(slot(0)) + begin, end - begin, sums + begin);
    for (int rank = 1; rank < size_; ++rank) {
      const T* other = reinterpret_cast<const T*>(slot(rank));
      for (size_t i = begin; i < end; ++i) sums[i] += other[i];
    }
    barrier();
    std::memcpy(data.data(), sums, count * sizeof(T));
  }
}
template void NodeSums::all_reduce(std::span<float>);
template void NodeSums::all_reduce(std::span<double>);

}  // namespace drl
