// Saves and loads an environment state with more bytes than an int can count. Runs only with DRL_LARGE_TESTS=1.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "../mpi_main.hpp"
#include "../support/temp_folder.hpp"
#include "run/state.hpp"

namespace drl {
namespace {

using test::world;

constexpr int64_t kWidth = 64;  // floats per environment

float number(int64_t i) { return static_cast<float>((i * 2654435761) & 0xffffff); }

// This rank's environments: slightly more than its share of 2^31 bytes.
struct Environments {
  std::vector<float> floats;
  int64_t rows() const { return (int64_t{1} << 31) / (kWidth * 4) / world().size() + 100; }
  int64_t first() const { return rows() * kWidth * world().rank(); }
  StateList state() {
    floats.resize(static_cast<size_t>(rows() * kWidth));
    return list_state([this](StateVisitor& v) {
      v.array("env/wide", floats.data(), {rows(), kWidth}, Sharding::per_env);
    });
  }
};

void print_memory(const char* when) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("rank %d, %s: at most %ld MiB\n", world().rank(), when, usage.ru_maxrss / 1024);
}

TEST(LargeState, GoesThroughAFileAndBack) {
  if (!std::getenv("DRL_LARGE_TESTS")) GTEST_SKIP() << "DRL_LARGE_TESTS is not set: needs 6 GiB of memory, 2 of disk";
  const TempFolder folder;
  const std::string path = folder / "large.h5";
  Environments envs;
  const StateList written = envs.state();
  for (size_t i = 0; i < envs.floats.size(); ++i) envs.floats[i] = number(envs.first() + static_cast<int64_t>(i));
  print_memory("filled");
  Checkpoint checkpoint{{}, gather_state(written, world())};
  std::vector<float>().swap(envs.floats);
  print_memory("gathered");
  if (world().rank() == 0) write_checkpoint(path, checkpoint);
  checkpoint = {};
  print_memory("written");

  if (world().rank() == 0) checkpoint = read_checkpoint(path);
  const StateList state = envs.state();  // zeros
  restore_state(state, checkpoint, world());
  print_memory("restored");
  size_t wrong = 0;
  for (size_t i = 0; i < envs.floats.size(); ++i)
    wrong += envs.floats[i] != number(envs.first() + static_cast<int64_t>(i));
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace drl
