// Owners of device resources, and one way to launch: a function object over indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "drl/hd.hpp"
#include "device/state.hpp"
#include "gpu/runtime.hpp"

namespace drl::gpu {

// Throw Error naming the call and the runtime's reason. Every call of the runtime goes through one of them.
void check(gpuError_t status, const char* call);
void check(gpublasStatus_t status, const char* call);
#define DRL_GPU(call) ::drl::gpu::check(call, #call)
// What a query of a stream or an event says: false as long as its work is not done.
bool has_ended(gpuError_t status, const char* call);

class Stream {
 public:
  Stream() { DRL_GPU(gpuStreamCreateWithFlags(&stream_, gpuStreamNonBlocking)); }
  ~Stream() { (void)gpuStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  gpuStream_t get() const { return stream_; }

 private:
  gpuStream_t stream_{};
};

class Event {
 public:
  Event() { DRL_GPU(gpuEventCreate(&event_)); }
  ~Event() { (void)gpuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  gpuEvent_t get() const { return event_; }
  void record(const Stream& stream) { DRL_GPU(gpuEventRecord(event_, stream.get())); }
  // Seconds from `start` to this; both must have happened.
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    DRL_GPU(gpuEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  gpuEvent_t event_{};
};

// Device memory; throws Error that says how much was asked for and how much is free.
void* allocate(size_t bytes);

// `size` numbers in device memory, zeroed on `stream` before what is enqueued there later. Movable, not copyable.
// Throws Error when the memory cannot be had.
template <class T>
class Array {
 public:
  Array() = default;
  Array(size_t size, const Stream& stream) : size_(size) {
    if (size == 0) return;
    data_ = static_cast<T*>(allocate(size * sizeof(T)));
    DRL_GPU(gpuMemsetAsync(data_, 0, size * sizeof(T), stream.get()));
  }
  Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Array() {
    if (data_) (void)gpuFree(data_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// `size` numbers in host memory that the device reads and writes at full speed; zeroed.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  explicit PinnedArray(size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    DRL_GPU(gpuMallocHost(&memory, size * sizeof(T)));
    data_ = static_cast<T*>(memory);
    for (size_t i = 0; i < size; ++i) data_[i] = T{};
  }
  PinnedArray(PinnedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedArray() {
    if (data_) (void)gpuFreeHost(data_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
void copy_to_device(const Stream& stream, T* device, const T* host, size_t count) {
  if (count == 0) return;
  DRL_GPU(gpuMemcpyAsync(device, host, count * sizeof(T), gpuMemcpyHostToDevice, stream.get()));
}
template <class T>
void copy_to_host(const Stream& stream, T* host, const T* device, size_t count) {
  if (count == 0) return;
  DRL_GPU(gpuMemcpyAsync(host, device, count * sizeof(T), gpuMemcpyDeviceToHost, stream.get()));
}
template <class T>
void copy_on_device(const Stream& stream, T* to, const T* from, size_t count) {
  if (count == 0) return;
  DRL_GPU(gpuMemcpyAsync(to, from, count * sizeof(T), gpuMemcpyDeviceToDevice, stream.get()));
}

// Waits for all that is enqueued, without a collective among it: for starts, saves and tests.
void synchronize(const Stream& stream);

// What was enqueued while it was captured, to be launched again and again as a whole.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { clear(); }
  // Captures what `enqueue` puts on `stream`; nothing of it runs. It must not wait for the device nor allocate.
  template <class Enqueue>
  void capture(const Stream& stream, Enqueue&& enqueue) {
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  bool captured() const { return captured_; }
  void launch(const Stream& stream) { DRL_GPU(gpuGraphLaunch(graph_, stream.get())); }
  void clear();

 private:
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream);
  void end(const Stream& stream);

  bool captured_ = false;
  gpuGraphExec_t graph_{};
};

// A range on the profiler's time line (nsys), while it lives.
class Range {
 public:
  explicit Range(const char* name) { gpuRangePush(name); }
  ~Range() { gpuRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// Numbers that live on the device, and their copies in pinned host memory, which is what checkpoints read and write.
class StateMirror {
 public:
  // The host's copy of `device` [count], which stays the caller's. `sharding` says which fetch brings it.
  template <class T>
  T* add(T* device, size_t count, Sharding sharding = Sharding::replicated) {
    blocks_.push_back({device, PinnedArray<std::byte>(count * sizeof(T)), sharding});
    return reinterpret_cast<T*>(blocks_.back().host.data());
  }
  // Enqueue copies; the host's are there once the stream has come so far.
  void fetch(const Stream& stream, Sharding sharding);
  void push(const Stream& stream);

 private:
  struct Block {
    void* device;
    PinnedArray<std::byte> host;
    Sharding sharding;
  };
  std::vector<Block> blocks_;
};

}  // namespace drl::gpu
