// Where work is done. A queue of the host does it at once; a queue of a GPU is a stream, whose work can be recorded
// once and launched again and again. Who computes writes steps onto a Queue& and does not know which it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/isa.hpp"

namespace drl {

// Work that was recorded, to be launched as a whole.
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
  Isa isa() const { return isa_; }                  // of the host's loops
  virtual void* native() const { return nullptr; }  // a GPU's stream, for kernels and collectives

  // Zeroed memory where the queue computes, and memory of the host from and to which it copies fast. Each throws Error,
  // saying how much was asked for, when it cannot be had. Array (device/array.hpp) owns what these give.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) noexcept = 0;
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory, size_t bytes) noexcept = 0;

  // Enqueued: from anywhere to anywhere, not overlapping.
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

  // Whether all that was enqueued is done; throws Error if it failed.
  virtual bool done() = 0;
  // Waits for it. For starts, saves and tests: what has a collective among it is waited for by Communicator::wait.
  void synchronize();

  // Records what `enqueue` enqueues, of which nothing runs. It must not wait for the queue nor allocate. Null where
  // there is nothing to gain by it (on the host): call `enqueue` again instead. Throws Error if it cannot be recorded.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>& enqueue) = 0;
  virtual void launch(RecordedWork& recording) = 0;

  // A point in the queue, and the seconds between two that were passed.
  class Event {
   public:
    virtual ~Event() = default;
    virtual void record() = 0;
    // Whether what was enqueued before it is done; throws Error if that failed.
    virtual bool passed() const = 0;
    virtual double seconds_since(const Event& start) const = 0;
  };
  virtual std::unique_ptr<Event> make_event() = 0;

  // A part of the work by name, on a profiler's time line (nsys), while it lives.
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

// Does all at once, in this thread.
std::unique_ptr<Queue> make_host_queue(Isa isa);

}  // namespace drl
