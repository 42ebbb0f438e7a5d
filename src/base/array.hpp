// Array<T>: a zeroed, 64-byte aligned block of numbers that costs memory only where it was written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>  // which an Array converts to
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.hpp"

namespace drl {

// `size` numbers, all zero. From kLazyBytes on, the pages come from the system one by one as they are first touched:
// rows never written cost no memory, and a page lies near the core that first wrote it. Movable, not copyable; a
// moved-from Array is empty. Converts to a std::span. Throws Error when the memory cannot be had.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "an Array holds numbers: zero bytes must be a valid value");

 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kLazyBytes = size_t{1} << 20;

  Array() = default;
  explicit Array(size_t size) : data_(allocate(size)), size_(size) {}
  Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Array() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  // Whole cache lines, so that a SIMD loop may read to the end of its last one.
  static size_t padded_bytes(size_t size) { return (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment; }

  static T* allocate(size_t size) {
    if (size == 0) return nullptr;
    if (size > std::numeric_limits<ptrdiff_t>::max() / sizeof(T) - kAlignment) fail(size);
    const size_t bytes = padded_bytes(size);
    void* memory = bytes < kLazyBytes ? std::aligned_alloc(kAlignment, bytes) : map(bytes);
    if (memory == nullptr) fail(size);
    if (bytes < kLazyBytes) std::memset(memory, 0, bytes);
    return static_cast<T*>(memory);
  }

  // calloc would do, but it is free to give recycled memory, which it must then write to.
  static void* map(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }

  void release() {
    if (data_ == nullptr) return;
    const size_t bytes = padded_bytes(size_);
    if (bytes < kLazyBytes) {
      std::free(data_);
    } else {
      munmap(data_, bytes);
    }
  }

  [[noreturn]] static void fail(size_t size) {
    throw Error("no memory for " + std::to_string(size) + " numbers of " + std::to_string(sizeof(T)) +
                " bytes (the system refused it): use fewer environments or ask for more memory");
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace drl
