#include "algorithms/recorder.hpp"

#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"

namespace drl {

void Recorder::run(const char* name, Communicator& comm, const std::function<void()>& enqueue, bool recordable) {
  const Queue::Range range(queue_, name);
  if (!graphs_ || !warm_ || !recordable) return enqueue();
  Recorded& recorded = parts_[name];
  if (!recorded.work) record(recorded, comm, enqueue);
  if (!recorded.work) return enqueue();
  queue_.launch(*recorded.work);
  comm.count_replayed(recorded.comm, {queue_.native()});
}

// If recording fails on any rank, no rank launches recordings: otherwise the ranks would enqueue their collectives in
// different orders and wait for each other.
void Recorder::record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue) {
  std::string problem;
  try {
    recorded.comm = comm.capture([&] { recorded.work = queue_.record(enqueue); });
  } catch (const Error& error) {
    if (comm.failed()) throw;  // the ranks cannot even agree that recording failed
    problem = error.what();
  }
  const std::vector<std::string> problems = gather_texts(comm, problem);
  std::string first;
  for (size_t rank = 0; rank < problems.size() && first.empty(); ++rank)
    if (!problems[rank].empty()) first = "rank " + std::to_string(rank) + ": " + problems[rank];
  first = broadcast_text(comm, first);
  if (first.empty()) return;
  graphs_ = false;
  for (auto& [name, part] : parts_) part.work.reset();
  if (comm.rank() == 0)
    log::warn(
        "the GPU's work could not be recorded as a graph ({}): kernels are launched one at a time, which is slower but "
        "gives the same results",
        first);
}

}  // namespace drl
