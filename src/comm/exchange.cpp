#include "comm/exchange.hpp"

#include <mpi.h>

#include <deque>
#include <list>
#include <memory>

#include "comm/mpi_check.hpp"
#include "comm/patience.hpp"

namespace drl {
namespace {

constexpr int kTag = 1;  // mpi_communicator.cpp uses 2

// A text that MPI may still read. A text that its receiver never takes is kept forever.
struct PendingSend {
  std::shared_ptr<const std::string> text;  // shared by all receivers, which may be thousands
  int to;
  MPI_Request request;
  bool failed = false;
};

std::list<PendingSend>& pending_sends() {
  static auto& list = *new std::list<PendingSend>;  // never destroyed: MPI may still read from it at exit
  return list;
}

void send(const std::shared_ptr<const std::string>& text, int to) {
  const int size = as_count(text->size());
  PendingSend& sending = pending_sends().emplace_back(text, to, MPI_REQUEST_NULL);
  const int code = MPI_Isend(text->data(), size, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &sending.request);
  sending.failed = code != MPI_SUCCESS;
  check_mpi(code, "MPI_Isend", to);
}

void drop_completed_sends() {
  std::erase_if(pending_sends(), [](PendingSend& sending) {
    if (sending.failed) return false;
    int arrived = 0;
    const int code = MPI_Test(&sending.request, &arrived, MPI_STATUS_IGNORE);
    sending.failed = code != MPI_SUCCESS;
    check_mpi(code, "MPI_Test", sending.to);
    return arrived != 0;
  });
}

// Texts that have arrived but were not requested yet, by sender.
std::map<int, std::deque<std::string>>& inbox() {
  static auto& texts = *new std::map<int, std::deque<std::string>>;
  return texts;
}

// Receives one message from any sender into the inbox. Returns false if none is available. It probes for any sender,
// because a probe for each sender would cost one call per rank. Only one thread calls MPI, so the message that is
// received is the probed one. MPI_Mrecv, which ensures it for several threads, fails in Open MPI 4.1.4 over libfabric.
bool receive_one() {
  int there = 0, size = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
  if (!there) return false;
  const int from = status.MPI_SOURCE;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count", from);
  std::string text(static_cast<size_t>(size), '\0');
  check_mpi(MPI_Recv(text.data(), size, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv", from);
  inbox()[from].push_back(std::move(text));
  return true;
}

// Returns the next text from rank `from`, if one has arrived.
std::optional<std::string> next_from(int from) {
  const auto texts = inbox().find(from);
  if (texts == inbox().end()) return std::nullopt;
  std::string text = std::move(texts->second.front());
  texts->second.pop_front();
  if (texts->second.empty()) inbox().erase(texts);
  return text;
}

}  // namespace

std::map<int, std::string> exchange(const std::string& text, const std::vector<int>& to, const std::vector<int>& from,
                                    double seconds) {
  std::map<int, std::string> received;
  if (to.empty() && from.empty()) return received;
  const auto shared_text = std::make_shared<const std::string>(text);
  for (int rank : to) send(shared_text, rank);
  std::vector<int> awaited = from;
  Patience patience;
  const auto all_are_here = [&] {
    while (!awaited.empty() && receive_one()) continue;
    std::erase_if(awaited, [&](int rank) {
      auto answer = next_from(rank);
      if (answer) received.emplace(rank, *std::move(answer));
      return answer.has_value();
    });
    drop_completed_sends();
    return awaited.empty();
  };
  wait_until(all_are_here, patience, seconds);
  return received;
}

void flush_messages(double seconds) {
  Patience patience;
  const auto all_are_sent = [] { return drop_completed_sends(), pending_sends().empty(); };
  wait_until(all_are_sent, patience, seconds);
}

std::optional<std::vector<float>> all_reduce_within(std::vector<float> data, double seconds) {
  int running = 0;
  check_mpi(MPI_Initialized(&running), "MPI_Initialized");
  if (!running) return data;
  auto* sum = new std::vector<float>(std::move(data));  // leaked after a timeout, because MPI may still write to it
  MPI_Request request;
  check_mpi(
      MPI_Iallreduce(MPI_IN_PLACE, sum->data(), as_count(sum->size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request),
      "MPI_Iallreduce");
  const auto is_complete = [&] {
    int arrived = 0;
    check_mpi(MPI_Test(&request, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
    return arrived != 0;
  };
  if (Patience patience; !wait_until(is_complete, patience, seconds)) return std::nullopt;
  return std::move(*std::unique_ptr<std::vector<float>>(sum));
}

}  // namespace drl
