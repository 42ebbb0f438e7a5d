// Records the parts of an iteration's work. A GPU records each part as a graph once, and launches the graph from then
// on. A host queue runs the work at once, each time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "device/queue.hpp"

namespace drl {

class Recorder {
 public:
  // If `graphs` is false, nothing is recorded.
  Recorder(Queue& queue, bool graphs) : queue_(queue), graphs_(graphs && queue.on_gpu()) {}

  // Enqueues part `name` of an iteration by calling `enqueue`, or launches its graph. A profiler such as nsys shows the
  // part under its name. All ranks must run the same parts in the same order. A part in which the host works is not
  // `recordable`.
  void run(const char* name, Communicator& comm, const std::function<void()>& enqueue, bool recordable = true);
  // Must be called after each iteration. The first one is never recorded: libraries load their kernels in it.
  void iteration_ended() { warm_ = true; }

 private:
  struct Recorded {
    std::unique_ptr<RecordedWork> work;
    CommStats comm;  // the communication in it
  };
  void record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);

  Queue& queue_;
  bool graphs_, warm_ = false;
  std::map<std::string, Recorded, std::less<>> parts_;
};

// Measures the phases of an iteration on the queue, in seconds.
class PhaseClock {
 public:
  explicit PhaseClock(Queue& queue)
      : began_(queue.make_event()), collected_(queue.make_event()), ended_(queue.make_event()) {}
  void begin() { began_->record(); }
  void collected() { collected_->record(); }
  void end() { ended_->record(); }
  // The queue's work must be done.
  double collection_time() const { return collected_->seconds_since(*began_); }
  double learning_time() const { return ended_->seconds_since(*collected_); }

 private:
  std::unique_ptr<Queue::Event> began_, collected_, ended_;
};

}  // namespace drl
