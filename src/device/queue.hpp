// A queue of work. A host queue runs work at once; a GPU queue is a stream, whose work can be recorded once and
// launched repeatedly. Code enqueues work on a Queue& without knowing whether it runs on the host or a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "device/isa.hpp"

namespace drl {

// Recorded work that is launched as a whole (a CUDA graph).
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
};

class Queue {
 public:
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  bool on_gpu() const { return on_gpu_; }
  Isa isa() const { return isa_; }                  // the instruction set of the host's loops
  virtual void* native() const { return nullptr; }  // the GPU stream, for kernels and collectives; null on a host

  // Allocate and release zeroed memory where the queue computes, and host memory for fast copies to and from it. The
  // allocating functions throw Error if the memory is not available. Array (device/array.hpp) owns such memory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) noexcept = 0;
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory, size_t bytes) noexcept = 0;

  // Enqueue copying and clearing. Both ends may be in any memory; they must not overlap.
  virtual void copy_bytes(void* to, const void* from, size_t bytes) = 0;
  virtual void clear_bytes(void* memory, size_t bytes) = 0;
  template <class T>
  void copy(T* to, const T* from, size_t count) {
    if (count > 0) copy_bytes(to, from, count * sizeof(T));
  }
  template <class T>
  void clear(T* memory, size_t count) {
    if (count > 0) clear_bytes(memory, count * sizeof(T));
  }

  // Returns whether all enqueued work is done. Throws Error if it failed.
  virtual bool done() = 0;
  // Waits until all enqueued work is done. For startup, saving and tests. Work with collectives must be waited for with
  // Communicator::wait.
  void synchronize();

  // Records the work that `enqueue` enqueues without running it. `enqueue` must neither wait for the queue nor
  // allocate. A host queue returns null without calling `enqueue`; the caller then calls `enqueue` each time instead.
  // Throws Error if the work cannot be recorded.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>& enqueue) = 0;
  virtual void launch(RecordedWork& recording) = 0;

  // A point in the queue's work, to measure the time between two points.
  class Event {
   public:
    virtual ~Event() = default;
    virtual void record() = 0;
    // Returns whether the work before the recorded point is done. Throws Error if it failed.
    virtual bool passed() const = 0;
    // Returns the seconds from `start` to this event. The work before both must be done.
    virtual double seconds_since(const Event& start) const = 0;
  };
  virtual std::unique_ptr<Event> make_event() = 0;

  // While a Range exists, a profiler such as nsys shows the enqueued work under its name.
  class Range {
   public:
    Range(Queue& queue, const char* name) : queue_(queue) { queue.begin_range(name); }
    ~Range() { queue_.end_range(); }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    Queue& queue_;
  };

 protected:
  Queue(bool on_gpu, Isa isa) : on_gpu_(on_gpu), isa_(isa) {}
  virtual void begin_range(const char*) {}
  virtual void end_range() {}

 private:
  const bool on_gpu_;
  const Isa isa_;
};

// Creates a queue that runs all work immediately in the calling thread.
std::unique_ptr<Queue> make_host_queue(Isa isa);

}  // namespace drl
