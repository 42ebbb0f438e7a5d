#include "comm/communicator.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/failure.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/patience.hpp"

namespace drl {
namespace {

class SerialCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void abort(int exit_code) override { std::_Exit(exit_code); }

 protected:
  void do_all_reduce_sum(std::span<float>, Stream) override {}
  void do_all_reduce_sum(std::span<double>, Stream) override {}
  void do_broadcast(std::span<std::byte>, int, bool) override {}
  std::vector<std::byte> do_gather(std::span<const std::byte> data, int) override { return {data.begin(), data.end()}; }
  void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int) override {
    DRL_CHECK(all.size() == mine.size(), "scatter: the sizes of the blocks and of the data differ");
    std::ranges::copy(all, mine.begin());
  }
};

// The outcome of a rank's work; exit code 0 means success.
struct Outcome {
  std::string message;
  int exit_code = 0;
};

Outcome run_and_catch(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const ReportedError&) {
    throw;  // from a nested on_all_ranks: all ranks are already unwinding
  } catch (const Error& error) {
    return {error.what(), error.exit_code()};
  } catch (const std::exception& error) {
    return {message_of(error), kFailure};
  }
}

// Returns, on all ranks, the exit code of the lowest rank that failed, or 0 if none failed. That rank prints its
// message.
int agree(Communicator& comm, const Outcome& mine) {
  const std::byte code{static_cast<unsigned char>(mine.exit_code)};
  const std::vector<std::byte> codes = comm.gather(std::span(&code, 1), 0);
  int first[2] = {-1, 0};  // rank, exit code
  for (size_t rank = codes.size(); rank-- > 0;)
    if (codes[rank] != std::byte{0}) first[0] = static_cast<int>(rank), first[1] = std::to_integer<int>(codes[rank]);
  comm.broadcast(std::as_writable_bytes(std::span(first)), 0);
  if (first[0] == comm.rank())
    log::write(mine.exit_code == kUsage ? log::Level::common_error : log::Level::error, mine.message);
  return first[1];
}

}  // namespace

CommStats& CommStats::operator+=(const CommStats& other) {
  all_reduces_f32 += other.all_reduces_f32;
  bytes_f32 += other.bytes_f32;
  all_reduces_f64 += other.all_reduces_f64;
  bytes_f64 += other.bytes_f64;
  host_calls += other.host_calls;
  wait_seconds += other.wait_seconds;
  return *this;
}

void Communicator::all_reduce_sum(std::span<float> data, Stream stream) {
  const Clock::time_point start = Clock::now();
  do_all_reduce_sum(data, stream);
  stats_.all_reduces_f32 += 1;
  stats_.bytes_f32 += static_cast<int64_t>(data.size_bytes());
  if (!stream.handle) count_wait(seconds_since(start));
}

void Communicator::all_reduce_sum(std::span<double> data, Stream stream) {
  const Clock::time_point start = Clock::now();
  do_all_reduce_sum(data, stream);
  stats_.all_reduces_f64 += 1;
  stats_.bytes_f64 += static_cast<int64_t>(data.size_bytes());
  if (!stream.handle) count_wait(seconds_since(start));
}

void Communicator::broadcast(std::span<std::byte> data, int root) {
  stats_.host_calls += 1;
  do_broadcast(data, root, true);
}

void Communicator::broadcast_without_spinning(std::span<std::byte> data, int root) {
  stats_.host_calls += 1;
  do_broadcast(data, root, false);
}

std::vector<std::byte> Communicator::gather(std::span<const std::byte> data, int root) {
  stats_.host_calls += 1;
  return do_gather(data, root);
}

void Communicator::scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) {
  stats_.host_calls += 1;
  do_scatter(all, mine, root);
}

void Communicator::wait(const std::function<bool()>& done) {
  for (int64_t round = 0; !done(); ++round) nap(round);
}

CommStats Communicator::capture(const std::function<void()>& enqueue) {
  DRL_CHECK(!before_capture_, "captures cannot be nested");
  before_capture_ = std::exchange(stats_, {});
  const auto end = [this] { return std::exchange(stats_, *std::exchange(before_capture_, std::nullopt)); };
  try {
    enqueue();
  } catch (...) {
    end();
    throw;
  }
  return end();
}

void Communicator::count_replayed(const CommStats& captured, Stream stream) {
  stats_ += captured;
  do_replayed(captured.all_reduces(), stream);
}

std::unique_ptr<Communicator> make_serial_communicator() { return std::make_unique<SerialCommunicator>(); }

std::string broadcast_text(Communicator& comm, const std::string& text, int root) {
  uint64_t size = text.size();
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string result = comm.rank() == root ? text : std::string(size, '\0');
  comm.broadcast(std::as_writable_bytes(std::span(result)), root);
  return result;
}

std::vector<std::string> gather_texts(Communicator& comm, const std::string& text, int root) {
  const uint64_t size = text.size();
  const auto sizes = numbers<uint64_t>(comm.gather(std::as_bytes(std::span(&size, 1)), root));
  const std::vector<std::byte> all = comm.gather(bytes_of(text), root);
  std::vector<std::string> texts;
  const char* at = reinterpret_cast<const char*>(all.data());
  for (const uint64_t length : sizes) texts.emplace_back(std::exchange(at, at + length), length);
  return texts;
}

std::string scatter_texts(Communicator& comm, const std::vector<std::string>& texts, int root) {
  std::vector<uint64_t> sizes;
  for (const std::string& text : texts) sizes.push_back(text.size());
  uint64_t size = 0;
  comm.scatter(std::as_bytes(std::span(sizes)), std::as_writable_bytes(std::span(&size, 1)), root);
  std::string mine(size, '\0');
  comm.scatter(bytes_of(join(texts, "")), std::as_writable_bytes(std::span(mine)), root);
  return mine;
}

void on_all_ranks(Communicator& comm, const std::function<void()>& work) {
  const Outcome mine = run_and_catch(work);
  if (const int code = agree(comm, mine)) throw ReportedError(code);
}

std::string caught_usage_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

void require_no_error(Communicator& comm, const std::string& message) {
  on_all_ranks(comm, [&] {
    if (!message.empty()) throw UsageError(message);
  });
}

}  // namespace drl
