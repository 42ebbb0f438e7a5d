// Array<T>: a zeroed array in a queue's memory.
#pragma once

#include <cstddef>
#include <limits>
#include <span>  // an Array converts to std::span
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "device/queue.hpp"

namespace drl {

// Allocates zeroed host memory in whole cache lines, 64-byte aligned. From kLazyBytes on, the system provides each page
// when it is first touched: rows that are never written cost no memory, and a page is near the core that first wrote
// it. Throws Error if the memory is not available.
inline constexpr size_t kAlignment = 64, kLazyBytes = size_t{1} << 20;
void* allocate_lazily(size_t bytes);
void release_lazy(void* memory, size_t bytes) noexcept;

// The location of an Array: memory where the queue computes, or host memory for fast copies to and from it. On a host
// queue both are ordinary memory.
enum class Memory { device, host };

// An array of `size` elements. It is zeroed before any work that is enqueued after its construction. It is movable but
// not copyable; move assignment swaps two arrays. It converts to a std::span. The queue must outlive its arrays. The
// constructor throws Error if the memory is not available.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "an Array holds plain data: zero bytes must be a valid value");

 public:
  Array() = default;
  // Allocates ordinary host memory, without a queue.
  explicit Array(size_t size) : size_(size) {
    if (size > 0) data_ = static_cast<T*>(allocate_lazily(bytes_of(size)));
  }
  Array(Queue& queue, size_t size, Memory memory = Memory::device) : size_(size), queue_(&queue), memory_(memory) {
    if (size == 0) return;
    const size_t bytes = bytes_of(size);
    data_ = static_cast<T*>(memory == Memory::device ? queue.allocate(bytes) : queue.allocate_host(bytes));
  }
  Array(Array&& other) noexcept { *this = std::move(other); }
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(queue_, other.queue_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Array() {
    if (data_ == nullptr) return;
    const size_t bytes = size_ * sizeof(T);
    if (queue_ == nullptr) {
      release_lazy(data_, bytes);
    } else if (memory_ == Memory::device) {
      queue_->release(data_, bytes);
    } else {
      queue_->release_host(data_, bytes);
    }
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Only for memory that the host can access.
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  static size_t bytes_of(size_t size) {
    if (size <= std::numeric_limits<ptrdiff_t>::max() / sizeof(T) - kAlignment) return size * sizeof(T);
    throw Error("no memory for " + std::to_string(size) + " numbers of " + std::to_string(sizeof(T)) +
                " bytes (this exceeds the address space): use fewer environments (--num_envs)");
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  Queue* queue_ = nullptr;
  Memory memory_ = Memory::device;
};

}  // namespace drl
