#include "device/array.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/text.hpp"

namespace drl {
namespace {

size_t whole_lines(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// calloc would do, but it is free to give recycled memory, which it must then write to.
void* map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

void* allocate_lazily(size_t asked) {
  const size_t bytes = whole_lines(asked);
  void* memory = bytes < kLazyBytes ? std::aligned_alloc(kAlignment, bytes) : map(bytes);
  if (memory == nullptr)
    throw Error("no memory for " + human_bytes(static_cast<double>(asked)) +
                " (the system refused it): use fewer environments or ask for more memory");
  if (bytes < kLazyBytes) std::memset(memory, 0, bytes);
  return memory;
}

void release_lazy(void* memory, size_t asked) noexcept {
  const size_t bytes = whole_lines(asked);
  if (bytes < kLazyBytes) {
    std::free(memory);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace drl
