#include "comm/node_sums.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#include "base/log.hpp"
#include "comm/mpi_check.hpp"
#include "comm/tree_sum.hpp"

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

// Asks Linux for the shortest time slices (0.1 ms instead of about 3 ms). A rank that shares its core with another
// process then runs as soon as the rank that it waited for has arrived. Linux before 6.12 ignores the request.
void ask_for_short_slices() {
  struct {  // struct sched_attr, whose header contradicts glibc's before Linux 6.7
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;  // ns
  } attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;  // of others it is another number
  attributes.runtime = 100'000;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

std::unique_ptr<NodeSums> NodeSums::make(MPI_Comm comm) {
  int rank = 0, size = 1;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (size == 1 || !on_one_host(comm, size)) return nullptr;

  std::unique_ptr<NodeSums> sums(new NodeSums(comm, rank, size));
  if (sums->memory_.get()) {
    ask_for_short_slices();
    return sums;
  }
  if (rank == 0)
    log::warn(
        "the {} ranks of this host cannot share memory, so all-reduces use MPI, which is several times slower for "
        "small networks (/dev/shm is full, or not the same for all ranks): check df -h /dev/shm",
        size);
  return nullptr;
}

// Each rank allocates its slot. Rank 0 also allocates the flags and the sums.
NodeSums::NodeSums(MPI_Comm comm, int rank, int size)
    : rank_(rank),
      size_(size),
      memory_(comm, static_cast<size_t>(size) * (sizeof(Flag) + kPiece) + kPiece, [&](int file) {
        const auto slots = static_cast<off_t>(static_cast<size_t>(size) * sizeof(Flag)),
                   piece = static_cast<off_t>(kPiece);
        if (rank == 0 &&
            (posix_fallocate(file, 0, slots) != 0 || posix_fallocate(file, slots + size * piece, piece) != 0))
          return false;
        return posix_fallocate(file, slots + rank * piece, piece) == 0;
      }) {}

// Returns when all ranks have called it equally often. It spins first, which is fast if each rank has a core, and then
// sleeps, so that a rank that shares its core with another process can move to this one's core.
void NodeSums::barrier() {
  constexpr int kSpins = 50000;  // some tens of microseconds, about what it takes to wake a sleeper
  auto* flags = reinterpret_cast<Flag*>(memory_.get());
  Flag& mine = flags[rank_];
  mine.arrivals.store(++barriers_);
  if (mine.sleepers.load() > 0) syscall(SYS_futex, &mine.arrivals, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  for (int rank = 0; rank < size_; ++rank)
    for (int spins = 0;; ++spins) {
      const uint32_t arrivals = flags[rank].arrivals.load(std::memory_order_acquire);
      if (static_cast<int32_t>(arrivals - barriers_) >= 0) break;
      if (spins > kSpins) sleep_until_changed(flags[rank], arrivals);
    }
}

// A rank counts itself before it compares `arrivals` again (in the kernel), and the other rank stores `arrivals` before
// it reads the count. So one of them notices the other.
void NodeSums::sleep_until_changed(Flag& flag, uint32_t arrivals) {
  flag.sleepers.fetch_add(1);
  syscall(SYS_futex, &flag.arrivals, FUTEX_WAIT, arrivals, nullptr, nullptr, 0);
  flag.sleepers.fetch_sub(1);
}

template <class T>
void NodeSums::all_reduce(std::span<T> data, bool in_tree) {
  auto* sums = reinterpret_cast<T*>(slot(size_));
  for (; !data.empty(); data = data.subspan(std::min(data.size(), kPiece / sizeof(T)))) {
    const size_t count = std::min(data.size(), kPiece / sizeof(T));
    std::memcpy(slot(rank_), data.data(), count * sizeof(T));
    barrier();
    // Each rank adds its share of whole cache lines over all slots.
    const size_t line = 64 / sizeof(T), lines = (count + line - 1) / line, ranks = static_cast<size_t>(size_);
    const size_t begin = std::min(count, lines * static_cast<size_t>(rank_) / ranks * line),
                 end = std::min(count, lines * (static_cast<size_t>(rank_) + 1) / ranks * line);
    std::vector<T*> shares;
    for (int rank = 0; rank < size_; ++rank) shares.push_back(reinterpret_cast<T*>(slot(rank)) + begin);
    if (in_tree) {
      add_in_tree(std::span<T* const>(shares), end - begin);
    } else {
      for (int rank = 1; rank < size_; ++rank)
        for (size_t i = 0; i < end - begin; ++i) shares[0][i] += shares[static_cast<size_t>(rank)][i];
    }
    std::copy_n(shares[0], end - begin, sums + begin);
    barrier();
    std::memcpy(data.data(), sums, count * sizeof(T));
  }
}
template void NodeSums::all_reduce(std::span<float>, bool);
template void NodeSums::all_reduce(std::span<double>, bool);

}  // namespace drl
