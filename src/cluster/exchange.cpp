#include "cluster/exchange.hpp"

#include <mpi.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <thread>

namespace drl {
namespace {

using Clock = std::chrono::steady_clock;

// A call of MPI that fails counts as no answer: those who wait name the rank.

constexpr int kTag = 1;
constexpr auto kSpin = std::chrono::milliseconds(1);   // answers of a network come within that
constexpr auto kNap = std::chrono::microseconds(100);  // others may share our core

// Texts on their way, which MPI reads until they have arrived; those to a rank that never takes them stay.
struct Sending {
  std::shared_ptr<const std::string> text;  // one for all receivers, which may be thousands
  MPI_Request request;
};

std::list<Sending>& sendings() {
  static auto& list = *new std::list<Sending>;  // never destroyed: MPI may still read from it at the end
  return list;
}

void send(const std::shared_ptr<const std::string>& text, int to) {
  Sending& sending = sendings().emplace_back(text, MPI_REQUEST_NULL);
  MPI_Isend(text->data(), static_cast<int>(text->size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &sending.request);
}

void forget_arrived() {
  std::erase_if(sendings(), [](Sending& sending) {
    int arrived = 0;
    MPI_Test(&sending.request, &arrived, MPI_STATUS_IGNORE);
    return arrived != 0;
  });
}

// The next message from rank `from`, if its head is there already.
std::optional<std::string> receive(int from) {
  int there = 0, size = 0;
  MPI_Message message;
  MPI_Status status;
  MPI_Improbe(from, kTag, MPI_COMM_WORLD, &there, &message, &status);
  if (!there) return std::nullopt;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string text(static_cast<size_t>(size), '\0');
  MPI_Mrecv(text.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  return text;
}

// Asks `done` until it is true; false after `seconds`.
bool poll(double seconds, const std::function<bool()>& done) {
  const auto begin = Clock::now(),
             end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (!done()) {
    const auto now = Clock::now();
    if (now >= end) return false;
    now < begin + kSpin ? std::this_thread::yield() : std::this_thread::sleep_for(kNap);
  }
  return true;
}

}  // namespace

std::map<int, std::string> exchange(const std::string& text, const std::vector<int>& to, const std::vector<int>& from,
                                    double seconds) {
  std::map<int, std::string> received;
  if (to.empty() && from.empty()) return received;
  const auto shared_text = std::make_shared<const std::string>(text);
  for (int rank : to) send(shared_text, rank);
  poll(seconds, [&] {
    for (int rank : from)
      if (!received.contains(rank))
        if (const auto answer = receive(rank)) received.emplace(rank, *answer);
    forget_arrived();
    return received.size() == from.size();
  });
  return received;
}

std::optional<std::vector<float>> all_reduce_within(std::vector<float> data, double seconds) {
  int running = 0;
  MPI_Initialized(&running);
  if (!running) return data;
  auto sum = std::make_unique<std::vector<float>>(std::move(data));
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, sum->data(), static_cast<int>(sum->size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                 &request);
  const bool done = poll(seconds, [&] {
    int arrived = 0;
    MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
    return arrived != 0;
  });
  if (done) return std::move(*sum);
  (void)sum.release();  // MPI still writes there
  return std::nullopt;
}

}  // namespace drl
