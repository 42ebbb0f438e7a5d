// Shared by the GPU tests. They are built twice: for the CPU emulation of the CUDA runtime (host_runtime.hpp), and in
// builds with CUDA for the real one (label gpu). The latter are skipped without a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/gpu_queue.hpp"
#include "gpu/device.hpp"

namespace drl::test {

inline bool no_gpu() {
  int count = 0;
  return gpuGetDeviceCount(&count) != gpuSuccess || count == 0;
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (no_gpu()) GTEST_SKIP() << "no GPU available";
  }
};

template <class T>
Array<T> to_queue(Queue& queue, const std::vector<T>& numbers) {
  Array<T> array(queue, numbers.size());
  queue.copy(array.data(), numbers.data(), numbers.size());
  queue.synchronize();
  return array;
}

template <class T>
std::vector<T> to_host(Queue& queue, const T* from, size_t count) {
  std::vector<T> numbers(count);
  queue.copy(numbers.data(), from, count);
  queue.synchronize();
  return numbers;
}
template <class T>
std::vector<T> to_host(Queue& queue, const Array<T>& array) {
  return to_host(queue, array.data(), array.size());
}

// Returns the largest difference, relative to the largest expected value.
inline double largest_difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double largest = 1e-6, difference = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  }
  return difference / largest;
}

inline std::string without_hyphens(std::string name) {
  std::erase(name, '-');
  return name;
}

}  // namespace drl::test
