// Tests the behaviour of a GPU queue as the host sees it.
#include "device/gpu_queue.hpp"

#include <algorithm>
#include <stdexcept>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "device/fingerprint_kernels.hpp"
#include "device/launch_watch.hpp"
#include "gpu_rig.hpp"
#include "nets/net_kernels.hpp"
#if defined(DRL_GPU_RUNTIME)  // otherwise only the GPU compiler understands it
#include "drl/lanes/gpu_launch.hpp"
#endif

namespace drl {
namespace {

using namespace test;

class GpuQueueTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    queue = make_gpu_queue();
    ones = to_queue(*queue, std::vector<double>(10, 1));
  }
  // Enqueues a kernel that writes `number`, at most 10.
  void set(double* at, int number) { for_each(*queue, 1, AddUp{ones.data(), number, at}); }
  std::unique_ptr<Queue> queue;
  Array<double> ones;
};

#if defined(DRL_GPU_RUNTIME)
// The block sizes of 4,096 to 65,536 robots on the 132 multiprocessors of an H100: 4096 / 132 = 31.03 threads, so 32 is
// the least size and leaves four of them idle; 64 is the largest of which 16,384 make at least 132 blocks.
TEST(BlockSize, IsTheLargestThatGivesEveryMultiprocessorABlock) {
  EXPECT_EQ(gpu::block_size(1, 132), 32);
  EXPECT_EQ(gpu::block_size(4096, 132), 32);
  EXPECT_EQ(gpu::block_size(16384, 132), 64);
  EXPECT_EQ(gpu::block_size(131 * 256, 132), 128);
  EXPECT_EQ(gpu::block_size(131 * 256 + 1, 132), 256);
  EXPECT_EQ(gpu::block_size(65536, 132), 256);
  EXPECT_EQ(gpu::block_size(257, 2), 256);
}
#endif

TEST_F(GpuQueueTest, MemoryIsZeroAtFirst) {
  const Array<float> device(*queue, 100000);
  const Array<double> host(*queue, 1000, Memory::host);
  EXPECT_EQ(to_host(*queue, device), std::vector<float>(100000));
  EXPECT_TRUE(std::ranges::all_of(host, [](double x) { return x == 0; }));
}

TEST_F(GpuQueueTest, TooLargeAllocationsAreErrorsWithTheSize) {
  try {
    const Array<char> all(*queue, size_t{1} << 45);
    FAIL();
  } catch (const Error& error) {
    expect_mentions(error.what(), {"no GPU memory", "32.0 TiB", "--num_envs"});  // drl_doctor looks for the first words
  }
  try {
    const Array<char> all(*queue, size_t{1} << 45, Memory::host);
    FAIL();
  } catch (const Error& error) {
    expect_mentions(error.what(), {"32.0 TiB", "ulimit -l"});
  }
  set(Array<double>(*queue, 1).data(), 1);  // later calls must not report that error
  queue->synchronize();
}

// A recording repeats the enqueued work. Values in the queue's memory are read anew at each launch; values that the
// host passed while recording are not.
TEST_F(GpuQueueTest, ARecordingReadsMemoryAnewAndNothingElse) {
  Array<double> from(*queue, 1), to(*queue, 1), passed(*queue, 1);
  int value = 1;
  const std::unique_ptr<RecordedWork> recording = queue->record([&] {
    queue->copy(to.data(), from.data(), 1);
    set(passed.data(), value);
  });
  EXPECT_EQ(to_host(*queue, passed)[0], 0) << "recording must not run the work";
  for (int number : {5, 7}) {
    value = number;
    set(from.data(), number);
    queue->launch(*recording);
    EXPECT_EQ(to_host(*queue, to)[0], number);
    EXPECT_EQ(to_host(*queue, passed)[0], 1);
  }
}

TEST_F(GpuQueueTest, StillWorksAfterAFailedRecording) {
  Array<double> number(*queue, 1);
  queue->synchronize();
  const auto three = [&] { set(number.data(), 3); };
  EXPECT_THROW(queue->record([&] { three(), throw std::runtime_error("while it records"); }), std::runtime_error);
  EXPECT_THROW(queue->record([&] { three(), queue->synchronize(); }), Error)
      << "waiting is not allowed while recording";
  EXPECT_EQ(to_host(*queue, number)[0], 0);
  const std::unique_ptr<RecordedWork> recording = queue->record(three);
  queue->launch(*recording);
  EXPECT_EQ(to_host(*queue, number)[0], 3);
}

// The runtime keeps an error until someone asks for it, which would be the next library.
TEST_F(GpuQueueTest, AFailedRecordingLeavesNoErrorBehind) {
  queue->synchronize();
  const auto wait = [&] { queue->synchronize(); };
  EXPECT_THROW(queue->record(wait), Error);
  EXPECT_EQ(gpuGetLastError(), gpuSuccess);
  // Here, the recording itself fails at its end.
  const auto wait_and_go_on = [&] {
    try {
      wait();
    } catch (const Error&) {
    }
  };
  EXPECT_THROW(queue->record(wait_and_go_on), Error);
  EXPECT_EQ(gpuGetLastError(), gpuSuccess);
#if defined(DRL_GPU_RUNTIME)
  // The emulated device has no memory for the graph. A real device cannot be made to fail there.
  ::setenv("DRL_HOST_FAULT", "no_memory_for_graphs", 1);
  EXPECT_THROW(queue->record([] {}), Error);
  ::unsetenv("DRL_HOST_FAULT");
  EXPECT_EQ(gpuGetLastError(), gpuSuccess);
#endif
}

TEST_F(GpuQueueTest, EventsMeasureTheTimeBetweenThem) {
  const auto begin = queue->make_event(), end = queue->make_event();
  Array<float> numbers(*queue, 1 << 20);
  begin->record();
  queue->clear(numbers.data(), numbers.size());
  end->record();
  queue->synchronize();
  EXPECT_GT(end->seconds_since(*begin), 0);
  EXPECT_LT(end->seconds_since(*begin), 1);
}

// A watch sees each launch before and after it is enqueued. Its errors, as those of a benchmark that has no memory for
// an event, reach the caller.
class Watch final : public LaunchWatch {
 public:
  Watch() { launch_watch = this; }
  ~Watch() override { launch_watch = nullptr; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  void begins(const Launch& launch) override {
    EXPECT_TRUE(launch.type == typeid(AddUp) || launch.type == typeid(CopyBytes));
    began += launch.count;
  }
  void ends() override {
    if (fails) throw std::runtime_error("after the launch");
    ended += 1;
  }
  int64_t began = 0;
  int ended = 0;
  bool fails = false;
};

TEST_F(GpuQueueTest, AWatchSeesLaunchesAndMayThrow) {
  Array<double> numbers(*queue, 2);
  {
    Watch watch;
    for_each(*queue, 2, AddUp{ones.data(), 3, numbers.data()});
    queue->copy(numbers.data(), ones.data(), 1);
    EXPECT_EQ(watch.began, 3);
    EXPECT_EQ(watch.ended, 2);
    watch.fails = true;
    EXPECT_THROW(set(numbers.data(), 1), std::runtime_error);
    EXPECT_THROW(queue->copy(numbers.data(), ones.data(), 1), std::runtime_error);
  }
  set(numbers.data(), 4);
  EXPECT_EQ(to_host(*queue, numbers)[0], 4);
}

// Sums over rows have different function objects for hosts and GPUs.
TEST_F(GpuQueueTest, AFunctionWithoutCodeForGpusIsAnError) {
  EXPECT_THROW(for_each(*queue, 1, HostSumRows<AllColumns<ObservationMoments>>{}), Error);
  EXPECT_THROW(for_each(*make_host_queue(isa_of("auto")), 1, GpuSumColumns<ObservationMoments>{}), Error);
}

}  // namespace
}  // namespace drl
