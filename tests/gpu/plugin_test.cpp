// Tests drl_gpu.so, with the real cuBLAS and NCCL and without a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "../support/paths.hpp"
#include "gpu/runtime.hpp"

namespace drl::gpu {
namespace {

bool is_loaded(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  return std::string{std::istreambuf_iterator<char>(maps), {}}.find(library) != std::string::npos;
}

TEST(GpuPlugin, LoadsCublasAndNcclWhenItIsOpened) {
  for (const char* library : {"/libcublas.so", "/libcublasLt.so", "/libnccl.so"})
    EXPECT_FALSE(is_loaded(library)) << library;
  const auto& table = static_cast<const Libraries&>(open_plugin(built("lib/drl/drl_gpu.so"), sizeof(Libraries)));
  for (const char* library : {"/libcublas.so", "/libnccl.so"}) EXPECT_TRUE(is_loaded(library)) << library;
  int version = 0;
  EXPECT_EQ(table.ncclGetVersion(&version), gpucclSuccess);
  EXPECT_GE(version, 21400);  // the first one that connects without blocking
  EXPECT_NE(table.cublasGetStatusString(GPUBLAS_STATUS_SUCCESS), nullptr);
}

}  // namespace
}  // namespace drl::gpu
