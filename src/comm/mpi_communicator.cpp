#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include "base/check.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_check.hpp"
#include "comm/node_sums.hpp"
#include "comm/stall_watch.hpp"
#include "comm/tree_sum.hpp"

namespace drl {
namespace {

constexpr int kTag = 2;  // exchange.cpp uses 1

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm, size_t piece = kPiece) : comm_(comm), piece_(piece) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiCommunicator() override {
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int world_rank(int rank) const override {
    if (comm_ == MPI_COMM_WORLD) return rank;
    MPI_Group ours, all;
    check_mpi(MPI_Comm_group(comm_, &ours), "MPI_Comm_group");
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    int found = 0;
    check_mpi(MPI_Group_translate_ranks(ours, 1, &rank, all, &found), "MPI_Group_translate_ranks");
    check_mpi(MPI_Group_free(&ours), "MPI_Group_free");
    check_mpi(MPI_Group_free(&all), "MPI_Group_free");
    return found;
  }
  void limit_waiting(double seconds, const std::vector<std::string>& hosts) override {
    stall_watch_ = std::make_unique<StallWatch>(comm_, seconds, hosts);
  }
  void add_in_tree() override { in_tree_ = true; }
  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream) override { all_reduce(data, MPI_FLOAT); }
  void do_all_reduce_sum(std::span<double> data, Stream) override { all_reduce(data, MPI_DOUBLE); }

  void do_broadcast(std::span<std::byte> data, int root, bool spins) override {
    const StallWatch::Waiting waiting(spins ? stall_watch_.get() : nullptr);
    for_each_piece(data, [&](std::span<std::byte> piece) {
      if (spins) return check_mpi(MPI_Bcast(piece.data(), as_count(piece.size()), MPI_BYTE, root, comm_), "MPI_Bcast");
      MPI_Request request;
      check_mpi(MPI_Ibcast(piece.data(), as_count(piece.size()), MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
      for (int done = 0;;) {
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }

  // Uses point-to-point messages, because the offsets of MPI_Gatherv are ints too.
  std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) override {
    const StallWatch::Waiting waiting(stall_watch_.get());
    const std::vector<uint64_t> sizes = sizes_on_root(data.size(), root);
    std::vector<std::byte> all(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}));
    Requests requests;
    if (rank_ != root) send(data, root, requests);
    for_each_block(std::span(all), sizes, [&](std::span<std::byte> block, int rank) {
      rank == root ? void(std::ranges::copy(data, block.begin())) : receive(block, rank, requests);
    });
    wait_for(requests);
    return all;
  }

  void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    const StallWatch::Waiting waiting(stall_watch_.get());
    const std::vector<uint64_t> sizes = sizes_on_root(mine.size(), root);
    DRL_CHECK(rank_ != root || all.size() == std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}),
              "scatter: the sizes of the blocks and of the data differ");
    Requests requests;
    if (rank_ != root) receive(mine, root, requests);
    for_each_block(all, sizes, [&](std::span<const std::byte> block, int rank) {
      rank == root ? void(std::ranges::copy(block, mine.begin())) : send(block, rank, requests);
    });
    wait_for(requests);
  }

 private:
  using Requests = std::vector<MPI_Request>;

  template <class T, class Work>
  void for_each_piece(std::span<T> data, const Work& work) const {
    const size_t most = std::max<size_t>(1, piece_ / sizeof(T));
    for (; data.size() > most; data = data.subspan(most)) work(data.first(most));
    if (!data.empty()) work(data);
  }

  // Calls work(block, rank) for each rank's block of `all`. Only the root has sizes; on other ranks this does nothing.
  template <class T, class Work>
  static void for_each_block(std::span<T> all, const std::vector<uint64_t>& sizes, const Work& work) {
    for (size_t rank = 0, at = 0; rank < sizes.size(); at += sizes[rank++])
      work(all.subspan(at, sizes[rank]), static_cast<int>(rank));
  }

  std::vector<uint64_t> sizes_on_root(uint64_t mine, int root) const {
    std::vector<uint64_t> sizes(rank_ == root ? static_cast<size_t>(size_) : 0);
    check_mpi(MPI_Gather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, root, comm_), "MPI_Gather");
    return sizes;
  }

  void send(std::span<const std::byte> data, int to, Requests& requests) const {
    for_each_piece(data, [&](std::span<const std::byte> piece) {
      check_mpi(MPI_Isend(piece.data(), as_count(piece.size()), MPI_BYTE, to, kTag, comm_, &requests.emplace_back()),
                "MPI_Isend", to);
    });
  }

  void receive(std::span<std::byte> data, int from, Requests& requests) const {
    for_each_piece(data, [&](std::span<std::byte> piece) {
      check_mpi(MPI_Irecv(piece.data(), as_count(piece.size()), MPI_BYTE, from, kTag, comm_, &requests.emplace_back()),
                "MPI_Irecv", from);
    });
  }

  static void wait_for(Requests& requests) {
    for (MPI_Request& request : requests) check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }

  template <class T>
  void all_reduce(std::span<T> data, MPI_Datatype type) {
    const StallWatch::Waiting waiting(stall_watch_.get());
    if (!node_sums_) node_sums_.emplace(NodeSums::make(comm_));
    if (*node_sums_) return (*node_sums_)->all_reduce(data, in_tree_);
    if (in_tree_) return add_gathered(data, type);
    for_each_piece(data, [&](std::span<T> piece) {
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, piece.data(), as_count(piece.size()), type, MPI_SUM, comm_),
                "MPI_Allreduce");
    });
  }

  // Every rank receives the numbers of all ranks and adds them itself.
  template <class T>
  void add_gathered(std::span<T> data, MPI_Datatype type) {
    constexpr size_t numbers = size_t{1} << 20;  // of each rank at a time
    const auto ranks = static_cast<size_t>(size_);
    std::vector<T> all(ranks * std::min(data.size(), numbers));
    for (; !data.empty(); data = data.subspan(std::min(data.size(), numbers))) {
      const std::span<T> piece = data.first(std::min(data.size(), numbers));
      check_mpi(
          MPI_Allgather(piece.data(), as_count(piece.size()), type, all.data(), as_count(piece.size()), type, comm_),
          "MPI_Allgather");
      std::vector<T*> arrays;
      for (size_t rank = 0; rank < ranks; ++rank) arrays.push_back(all.data() + rank * piece.size());
      drl::add_in_tree(std::span<T* const>(arrays), piece.size());
      std::copy_n(arrays.front(), piece.size(), piece.begin());
    }
  }

  MPI_Comm comm_;
  size_t piece_;  // bytes
  bool in_tree_ = false;
  int rank_ = 0, size_ = 1;
  // Created by the first all-reduce; null unless all ranks are on one host.
  std::optional<std::unique_ptr<NodeSums>> node_sums_;
  std::unique_ptr<StallWatch> stall_watch_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(size_t piece) {
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, piece);
}

std::unique_ptr<Communicator> make_group_communicator(int group) {
  MPI_Comm comm;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, group, 0, &comm), "MPI_Comm_split");
  return std::make_unique<MpiCommunicator>(comm);
}

}  // namespace drl
