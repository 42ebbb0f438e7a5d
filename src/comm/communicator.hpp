// Communication between ranks. One rank is not a special case: the serial communicator has the same interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/numbers.hpp"

namespace drl {

// The stream that work is enqueued on. On the CPU (an empty handle), work is complete when the call returns.
struct Stream {
  void* handle = nullptr;
};

// Communication counts since the start.
struct CommStats {
  int64_t all_reduces_f32 = 0, bytes_f32 = 0;
  int64_t all_reduces_f64 = 0, bytes_f64 = 0;
  int64_t host_calls = 0;   // broadcasts, gathers and scatters; most iterations use none
  double wait_seconds = 0;  // time in all-reduces: transfer, and waiting for slower ranks

  int64_t all_reduces() const { return all_reduces_f32 + all_reduces_f64; }
  CommStats& operator+=(const CommStats& other);
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* kind_of_rank() const { return "rank"; }  // for messages
  // Converts a rank of this communicator to its rank in MPI_COMM_WORLD, which exchange.hpp uses.
  virtual int world_rank(int rank) const { return rank; }

  // Adds the arrays of all ranks element by element, in place, on `stream`. The result is bit-identical on all ranks.
  void all_reduce_sum(std::span<float> data, Stream stream = {});
  void all_reduce_sum(std::span<double> data, Stream stream = {});

  // Transfers of data in host memory, of any size. Broadcast overwrites `data`, of equal size on all ranks, with the
  // root's. Gather returns the blocks of all ranks, whose sizes may differ, concatenated in rank order on the root, and
  // nothing on the other ranks. Scatter is the inverse: it distributes `all` (empty except on the root) in rank order,
  // and each rank receives as many bytes as its `mine` has.
  void broadcast(std::span<std::byte> data, int root);
  std::vector<std::byte> gather(std::span<const std::byte> data, int root);
  void scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root);
  // Like broadcast, but ranks that wait for the root sleep most of the time; they may wait for hours.
  void broadcast_without_spinning(std::span<std::byte> data, int root);

  // Returns when done() is true, which means that the work enqueued so far is finished. Throws Error, with the cause,
  // if a collective in this work failed or exceeded the communicator's time limit; no collective may follow then.
  virtual void wait(const std::function<bool()>& done);
  // Lets other ranks, which may have waited for longer than they may, know that this one computes. Ranks call it from
  // time to time in long computations on the host. It returns at once.
  virtual void computes() {}

  // Collective. From now on, a rank that has stopped ends all ranks, with an error that names it, once another rank has
  // waited for it for `seconds` (comm/stall_watch.hpp). Only MPI's communicator supports this: NCCL's has its own
  // limit.
  virtual void limit_waiting(double /*seconds*/, const std::vector<std::string>& /*hosts*/) {}

  // Calls `enqueue`, whose all-reduces are captured in a graph instead of executed, and returns their counts. Call
  // count_replayed with these counts after each launch of the graph.
  CommStats capture(const std::function<void()>& enqueue);
  void count_replayed(const CommStats& captured, Stream stream);

  // From now on, all-reduces add the ranks' numbers in a tree, ((0 + 1) + (2 + 3)) + ...; otherwise, their order may
  // depend on the network. Call it on all ranks alike. Only communicators of host memory support this.
  virtual void add_in_tree() {}

  // Returns whether a collective has failed, so that no other can follow: the error of the failed one is the cause.
  virtual bool failed() const { return false; }
  // Ends all ranks immediately with this exit code. For failures that the other ranks do not know about.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  const CommStats& stats() const { return stats_; }

 protected:
  virtual void do_all_reduce_sum(std::span<float> data, Stream stream) = 0;
  virtual void do_all_reduce_sum(std::span<double> data, Stream stream) = 0;
  virtual void do_broadcast(std::span<std::byte> data, int root, bool spins) = 0;
  virtual std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) = 0;
  virtual void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) = 0;
  virtual void do_replayed(int64_t /*all_reduces*/, Stream) {}
  // Adds to wait_seconds. All-reduces of a device report their time after they have ended.
  void count_wait(double seconds) { stats_.wait_seconds += seconds; }
  bool capturing() const { return before_capture_.has_value(); }

 private:
  CommStats stats_;
  std::optional<CommStats> before_capture_;
};

std::unique_ptr<Communicator> make_serial_communicator();
// Returns a communicator of all ranks of MPI_COMM_WORLD; MPI must be initialised (session.hpp). MPI's counts are ints,
// so longer data is sent in pieces of `piece` bytes, which must be the same on all ranks.
inline constexpr size_t kPiece = size_t{1} << 30;
std::unique_ptr<Communicator> make_mpi_communicator(size_t piece = kPiece);
// Collective over MPI_COMM_WORLD. Returns a communicator of the ranks with the same `group` (0 or more), in rank order.
std::unique_ptr<Communicator> make_group_communicator(int group);

// Returns the values of all ranks in rank order on rank 0, and nothing on the other ranks.
template <class T>
std::vector<T> gather_values(Communicator& comm, const T& mine) {
  return numbers<T>(comm.gather(std::as_bytes(std::span(&mine, 1)), 0));
}
// Broadcasts a string whose size only the root knows.
std::string broadcast_text(Communicator& comm, const std::string& text, int root = 0);
// Returns the texts of all ranks in rank order on the root, and nothing on the other ranks.
std::vector<std::string> gather_texts(Communicator& comm, const std::string& text, int root = 0);
// Sends each rank its text from the root's list.
std::string scatter_texts(Communicator& comm, const std::vector<std::string>& texts, int root = 0);

// Runs `work` on every rank and agrees on the outcome. If it throws on any rank, the lowest of these ranks prints its
// message, and all ranks throw a ReportedError with its exit code. `work` must not communicate.
void on_all_ranks(Communicator& comm, const std::function<void()>& work);
// For work before the communicator exists. Runs `work` and returns the message of its UsageError, or "". A launcher
// ends all ranks as soon as one exits, so a rank keeps this message until it can call require_no_error.
std::string caught_usage_error(const std::function<void()>& work);
// Throws on all ranks, as on_all_ranks does, if any rank's message is not empty.
void require_no_error(Communicator& comm, const std::string& message);
// Runs `work` on rank 0 only and returns its result on all ranks: a text, or nothing. Failures are handled as in
// on_all_ranks.
template <class Work>
std::invoke_result_t<Work> on_rank_zero(Communicator& comm, const Work& work) {
  if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
    on_all_ranks(comm, [&] {
      if (comm.rank() == 0) work();
    });
  } else {
    std::string result;
    on_rank_zero(comm, [&] { result = work(); });
    return broadcast_text(comm, result);
  }
}

}  // namespace drl
