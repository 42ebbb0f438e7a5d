// What the GPU tests share. They are built twice: for the host's stand-in of the device runtime, and where there is
// CUDA for the real one (label gpu), where they are skipped if no GPU is there.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "gpu/device.hpp"

namespace drl::test {

inline bool no_gpu() {
  int count = 0;
  return gpuGetDeviceCount(&count) != gpuSuccess || count == 0;
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (no_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

template <class T>
gpu::Array<T> to_device(const gpu::Stream& stream, const T* host, size_t count) {
  gpu::Array<T> device(count, stream);
  gpu::copy_to_device(stream, device.data(), host, count);
  gpu::synchronize(stream);
  return device;
}
template <class Numbers>
auto to_device(const gpu::Stream& stream, const Numbers& host) {
  return to_device(stream, host.data(), host.size());
}

template <class T>
std::vector<T> to_host(const gpu::Stream& stream, const T* device, size_t count) {
  std::vector<T> host(count);
  gpu::copy_to_host(stream, host.data(), device, count);
  gpu::synchronize(stream);
  return host;
}

}  // namespace drl::test
