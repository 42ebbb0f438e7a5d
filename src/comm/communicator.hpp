// How ranks talk. A run of one rank is not a special case: the serial communicator does the same without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace drl {

// Where work is enqueued; the CPU has one queue, which is done when the call returns.
struct Stream {
  void* handle = nullptr;
};

// What was communicated since the start.
struct CommStats {
  int64_t all_reduces_f32 = 0, bytes_f32 = 0;
  int64_t all_reduces_f64 = 0, bytes_f64 = 0;
  int64_t host_calls = 0;   // broadcasts, gathers and scatters: start, save and load only
  double wait_seconds = 0;  // inside all-reduces: transfer, and waiting for slower ranks

  int64_t all_reduces() const { return all_reduces_f32 + all_reduces_f64; }
  CommStats& operator+=(const CommStats& other);
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What the messages of exchange.hpp call a rank of this communicator.
  virtual int world_rank(int rank) const { return rank; }

  // Adds the arrays of all ranks element by element, in place; every rank receives the same bits. Enqueued on `stream`.
  void all_reduce_sum(std::span<float> data, Stream stream = {});
  void all_reduce_sum(std::span<double> data, Stream stream = {});

  // Host control traffic, of any size. Broadcast overwrites `data` (equal sizes) with the root's. Gather returns the
  // concatenated blocks, whose sizes may differ, in rank order on the root, and nothing elsewhere. Scatter is the way
  // back: `all`, empty but on the root, is dealt out in rank order, as much to each rank as its `mine` holds.
  void broadcast(std::span<std::byte> data, int root);
  std::vector<std::byte> gather(std::span<const std::byte> data, int root);
  void scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root);
  // As broadcast, but those who wait for the root sleep most of the time, and may do so for hours.
  void broadcast_asleep(std::span<std::byte> data, int root);

  // Returns when done() says that the work enqueued so far is finished. Throws Error with the cause when a collective
  // in it failed or took longer than the communicator's limit; nothing collective may follow then.
  virtual void wait(const std::function<bool()>& done);

  // Calls `enqueue`, whose all-reduces are captured in a graph instead of done: they count when the graph is launched,
  // by count_replayed(what this returned, the stream) after each launch.
  CommStats capture(const std::function<void()>& enqueue);
  void count_replayed(const CommStats& captured, Stream stream);

  // Ends all ranks at once with this exit code. For failures that the other ranks do not know of.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  const CommStats& stats() const { return stats_; }

 protected:
  virtual void do_all_reduce_sum(std::span<float> data, Stream stream) = 0;
  virtual void do_all_reduce_sum(std::span<double> data, Stream stream) = 0;
  virtual void do_broadcast(std::span<std::byte> data, int root) = 0;
  virtual void do_broadcast_asleep(std::span<std::byte> data, int root) = 0;
  virtual std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) = 0;
  virtual void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) = 0;
  virtual void do_replayed(int64_t /*all_reduces*/, Stream) {}
  // All-reduces of a device tell how long they took when they have ended.
  void count_wait(double seconds) { stats_.wait_seconds += seconds; }
  bool capturing() const { return before_capture_.has_value(); }

 private:
  CommStats stats_;
  std::optional<CommStats> before_capture_;
};

std::unique_ptr<Communicator> make_serial_communicator();
// All ranks of MPI_COMM_WORLD; MPI must be initialised (Session). MPI counts by int: what is longer than `piece` bytes
// goes piece by piece, equal ones on all ranks.
inline constexpr size_t kPiece = size_t{1} << 30;
std::unique_ptr<Communicator> make_mpi_communicator(size_t piece = kPiece);
// Collective over MPI_COMM_WORLD: the ranks that give the same `group` (0 or more), in the order of their ranks.
std::unique_ptr<Communicator> make_group_communicator(int group);

// A broadcast of a string whose size only the root knows.
std::string broadcast_text(Communicator& comm, const std::string& text, int root = 0);
// One text a rank, in rank order on the root, empty elsewhere.
std::vector<std::string> gather_texts(Communicator& comm, const std::string& text, int root = 0);
// The way back: the root has one text for each rank.
std::string scatter_texts(Communicator& comm, const std::vector<std::string>& texts, int root = 0);

// Runs `work` on every rank, and agrees on the outcome: if it threw anywhere, all ranks throw a ReportedError with the
// exit code of the lowest rank that failed, which alone has printed its message. `work` must not communicate.
void on_all_ranks(Communicator& comm, const std::function<void()>& work);
// What on_all_ranks does, of work that some ranks did before they met: a launcher ends all with the first that leaves,
// so that a rank keeps its UsageError (the message, or "") until all can hear of it.
std::string usage_error(const std::function<void()>& work);
void require_no_error(Communicator& comm, const std::string& usage_error);
// Runs `work` on rank 0 only, and returns its result on all ranks, with the same agreement on failure.
std::string on_rank_zero(Communicator& comm, const std::function<std::string()>& work);

}  // namespace drl
