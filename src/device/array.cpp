#include "device/array.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/text.hpp"

namespace drl {
namespace {

size_t round_up_to_cache_lines(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Maps zeroed pages. calloc may return recycled memory instead, which it zeroes by writing to all of it at once.
void* map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

void* allocate_lazily(size_t requested) {
  const size_t bytes = round_up_to_cache_lines(requested);
  void* memory = bytes < kLazyBytes ? std::aligned_alloc(kAlignment, bytes) : map(bytes);
  if (memory == nullptr)
    throw Error("no memory for " + human_bytes(static_cast<double>(requested)) +
                " (the system refused the allocation): use fewer environments (--num_envs) or request more memory");
  if (bytes < kLazyBytes) std::memset(memory, 0, bytes);
  return memory;
}

void release_lazy(void* memory, size_t requested) noexcept {
  const size_t bytes = round_up_to_cache_lines(requested);
  if (bytes < kLazyBytes) {
    std::free(memory);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace drl
