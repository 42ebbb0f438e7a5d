#include <mpi.h>

#include <chrono>
#include <climits>
#include <thread>

#include "base/check.hpp"
#include "cluster/communicator.hpp"

namespace drl {
namespace {

// MPI's default handler ends the job itself; with MPI_ERRORS_RETURN its text reaches the user through our error.
void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string(call) + " failed (" + std::string(text, static_cast<size_t>(length)) +
              "): see the lines of the other ranks above for the first cause");
}

int as_count(size_t count) {
  DRL_CHECK(count <= INT_MAX, "more than 2^31 elements in one MPI message");
  return static_cast<int>(count);
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) {
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
    MPI_Group ours, all;
    check_mpi(MPI_Comm_group(comm_, &ours), "MPI_Comm_group");
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    int found = 0;
    check_mpi(MPI_Group_translate_ranks(ours, 1, &rank, all, &found), "MPI_Group_translate_ranks");
    MPI_Group_free(&ours);
    MPI_Group_free(&all);
    return found;
  }
  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream) override { all_reduce(data.data(), data.size(), MPI_FLOAT); }
  void do_all_reduce_sum(std::span<double> data, Stream) override { all_reduce(data.data(), data.size(), MPI_DOUBLE); }

  void do_broadcast(std::span<std::byte> data, int root) override {
    check_mpi(MPI_Bcast(data.data(), as_count(data.size()), MPI_BYTE, root, comm_), "MPI_Bcast");
  }

  void do_broadcast_asleep(std::span<std::byte> data, int root) override {
    MPI_Request request;
    check_mpi(MPI_Ibcast(data.data(), as_count(data.size()), MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
    for (int done = 0;;) {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) override {
    const int mine = as_count(data.size());
    std::vector<int> sizes(static_cast<size_t>(size_)), offsets(static_cast<size_t>(size_));
    check_mpi(MPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, root, comm_), "MPI_Gather");
    size_t total = 0;
    for (size_t rank = 0; rank < sizes.size() && rank_ == root; ++rank) {
      offsets[rank] = as_count(total);
      total += static_cast<size_t>(sizes[rank]);
    }
    std::vector<std::byte> all(total);
    check_mpi(MPI_Gatherv(data.data(), mine, MPI_BYTE, all.data(), sizes.data(), offsets.data(), MPI_BYTE, root, comm_),
              "MPI_Gatherv");
    return all;
  }

 private:
  void all_reduce(void* data, size_t count, MPI_Datatype type) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data, as_count(count), type, MPI_SUM, comm_), "MPI_Allreduce");
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() { return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD); }

std::unique_ptr<Communicator> make_group_communicator(int group) {
  MPI_Comm comm;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, group, 0, &comm), "MPI_Comm_split");
  return std::make_unique<MpiCommunicator>(comm);
}

}  // namespace drl
