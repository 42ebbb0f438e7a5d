// Tests NCCL's communicator when a rank or NCCL fails, and the settings that it gives to NCCL. The tests run with 1, 2
// and 4 ranks on the CPU emulation, into whose collectives they inject faults.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "base/host.hpp"
#include "nccl_rig.hpp"

namespace drl {
namespace {

using namespace test;
using gpu::host_collectives;
using Clock = std::chrono::steady_clock;

class NcclFailureOnRanks : public NcclTest {
 protected:
  void TearDown() override {
    NcclTest::TearDown();
    std::destroy_at(&host_collectives());
    std::construct_at(&host_collectives());
    gpu::host_pci_bus() = ::getpid();
  }
  static int last_rank() { return world().size() - 1; }
  static bool is_last() { return world().rank() == last_rank(); }
  // The abort runs in another thread. Without waiting, it could be counted in the next test.
  static void wait_for_the_abort() {
    while (host_collectives().aborted == 0) ::usleep(1000);
  }
  static std::string last_rank_text() { return "rank " + std::to_string(last_rank()); }
};

// How `work` ended: the message that run_session would print, and the exit code.
struct Ending {
  std::string message;
  int code = kDone;
  bool shared = false;  // the same error on all ranks, which only rank 0 prints
};

Ending ending(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const ReportedError& error) {
    return {"", error.exit_code()};
  } catch (const SharedError& error) {
    return {error.what(), error.exit_code(), true};
  } catch (const Error& error) {
    return {error.what(), error.exit_code()};
  }
}

// Expects a failure whose message, with these parts, is on rank 0 only.
void expect_failure_reported_by_rank_zero(const Ending& end, const std::vector<std::string>& parts) {
  EXPECT_EQ(end.code, kFailure);
  EXPECT_EQ(end.message.empty(), world().rank() != 0);
  for (const std::string& part : world().rank() == 0 ? parts : std::vector<std::string>{})
    EXPECT_PRED2(contains, end.message, part);
}

// Returns the start of the text that describes the GPU of the rank that writes the message.
std::string gpu_text() { return "host 0000:"; }

// ---- Start ----------------------------------------------------------------------------------------------------------

TEST_F(NcclFailureOnRanks, DifferentVersionsAreAnErrorOnAllRanks) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  if (is_last()) host_collectives().version = 22703;
  const Ending end = ending([&] { connect(); });
  EXPECT_TRUE(end.shared);
  EXPECT_EQ(end.code, kUsage);
  expect_mentions(end.message, {"NCCL", "2.28.9 (rank", "2.27.3 (" + last_rank_text() + " on " + host_name() + ")"});
}

TEST_F(NcclFailureOnRanks, ASharedGpuIsAnErrorOnAllRanks) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  if (world().rank() == 0 || is_last()) gpu::host_pci_bus() = 0x3b;
  const Ending end = ending([&] { connect(); });
  EXPECT_TRUE(end.shared);
  EXPECT_EQ(end.code, kUsage);
  expect_mentions(end.message, {"ranks 0, " + std::to_string(last_rank()) + " on " + host_name(), "0000:3b:00"});
}

// The other ranks wait for this rank, so it must report a failure of any kind.
TEST_F(NcclFailureOnRanks, ARankWithoutMemoryIsNamed) {
  if (is_last()) ::setenv("DRL_HOST_FAULT", "no_host_memory", 1);
  const Ending end = ending([&] { connect(); });
  ::unsetenv("DRL_HOST_FAULT");
  expect_failure_reported_by_rank_zero(end, {last_rank_text() + " on testhost", "memory", "--mem"});
}

TEST_F(NcclFailureOnRanks, ARankThatDoesNotReachTheStartIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  options.init_timeout = 0.3;
  if (is_last()) return;
  expect_failure_reported_by_rank_zero(ending([&] { connect(); }),
                                       {"0.3 s", last_rank_text() + " on testhost", "--init_timeout"});
}

TEST_F(NcclFailureOnRanks, ARankThatDoesNotConnectIsNamed) {
  options.init_timeout = 0.3;
  if (is_last()) {
    host_collectives().init_polls = -1;
  } else {
    host_collectives().hangs_at = 0;  // the others wait for it in their first all-reduce
  }
  host_collectives().last_error = "connect timed out";
  std::vector<std::string> parts = {
      "0.3 s", last_rank_text() + " on testhost", "looking", gpu_text(), "connect timed out", "NCCL_P2P_DISABLE=1"};
  if (last_rank() > 0) parts.push_back("rank 0 on testhost");
  expect_failure_reported_by_rank_zero(ending([&] { connect(); }), parts);
  EXPECT_EQ(host_collectives().finalized, 0);
  wait_for_the_abort();
}

TEST_F(NcclFailureOnRanks, ARankWhoseFirstAllReduceIsNeverEnqueuedIsNamed) {
  options.init_timeout = 0.3;
  host_collectives().enqueue_polls = -1;
  expect_failure_reported_by_rank_zero(ending([&] { connect(); }), {"rank 0 on testhost", "preparing"});
  wait_for_the_abort();
}

TEST_F(NcclFailureOnRanks, AnErrorAtTheStartIsReportedByItsRank) {
  host_collectives().init_polls = 3;
  host_collectives().error = gpucclSystemError;
  const Ending end = ending([&] { connect(); });
  EXPECT_EQ(end.code, kFailure);
  expect_mentions(end.message, {"NCCL", "start", "unhandled system error", gpu_text()});
  wait_for_the_abort();
}

// As in wait() below, one of NCCL's kernels may be the cause.
TEST_F(NcclFailureOnRanks, AnErrorOfTheGpuAtTheStartHasTheSameAdvice) {
  ::setenv("DRL_HOST_FAULT", "no_kernel_image", 1);
  const Ending end = ending([&] { connect(); });
  ::unsetenv("DRL_HOST_FAULT");
  EXPECT_EQ(end.code, kFailure);
  expect_mentions(end.message, {"the GPU failed", "NoKernelImageForDevice"});
  EXPECT_EQ(contains(end.message, "NCCL_SHM_DISABLE=1"), world().size() > 1) << end.message;
}

// ---- Work -----------------------------------------------------------------------------------------------------------

TEST_F(NcclFailureOnRanks, OperationsInProgressAreWaitedFor) {
  host_collectives().init_polls = 7;
  host_collectives().enqueue_polls = 3;
  const auto comm = connect();
  Array<float> value = to_queue(*queue, std::vector<float>{1});
  all_reduce(*comm, value);
  Recorded recorded = record(*comm, value, 1);
  launch(*comm, recorded);
  wait(*comm);
  EXPECT_EQ(to_host(*queue, value)[0], static_cast<float>(world().size() * world().size()));
}

TEST_F(NcclFailureOnRanks, AnErrorOfNcclEndsTheWaitAndAllLaterCollectives) {
  const auto comm = connect();
  Array<float> value(*queue, 1);
  host_collectives().hangs_at = 1;
  all_reduce(*comm, value, 3);
  host_collectives().error = gpucclRemoteError;
  host_collectives().last_error = "socket closed";
  const Ending end = ending([&] { wait(*comm); });
  EXPECT_EQ(end.code, kFailure);
  expect_mentions(end.message, {"NCCL", "all-reduce 2 of the 3 ", "remote process exited", gpu_text(), "socket closed",
                                "another rank"});
  for (const std::function<void()>& collective : std::vector<std::function<void()>>{
           [&] { all_reduce(*comm, value); }, [&] { comm->all_reduce_sum(std::span(value.data(), 1)); },
           [&] { broadcast_text(*comm, ""); }, [&] { gather_texts(*comm, ""); }, [&] { wait(*comm); }})
    expect_mentions(ending(collective).message, {"collective", "failure"});
}

TEST_F(NcclFailureOnRanks, AnErrorOfTheGpuEndsAllLaterCollectives) {
  const auto comm = connect();
  const Ending end = ending([&] { comm->wait([]() -> bool { throw Error("the GPU failed"); }); });
  EXPECT_TRUE(end.message.starts_with("the GPU failed")) << end.message;
  // One of NCCL's kernels may be the cause, but not if there is a single rank. Peer access is not tried first.
  EXPECT_EQ(contains(end.message, "NCCL_SHM_DISABLE=1"), world().size() > 1) << end.message;
  expect_mentions(ending([&] { wait(*comm); }).message, {"collective", "failure"});
}

TEST_F(NcclFailureOnRanks, ATimeoutNamesTheAllReduceAndTheRankThatDoesNotAnswer) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<double> sums(*queue, 4);
  Array<float> gradient(*queue, 4);
  all_reduce(*comm, sums);
  wait(*comm);  // all-reduces are counted from here
  host_collectives().hangs_at = 3;
  all_reduce(*comm, sums);
  all_reduce(*comm, gradient, 5);
  if (is_last() && last_rank() > 0) return;  // this rank does not wait
  std::vector<std::string> parts = {"all-reduce 4 of the 6 ", "0.3 s", gpu_text(), "--comm_timeout"};
  if (last_rank() > 0) {
    parts.insert(parts.end(), {"no answer from " + last_rank_text(), last_rank_text() + " on testhost"});
  } else {
    parts.insert(parts.end(), {"all ranks wait", "NCCL_P2P_DISABLE=1"});
  }
  expect_failure_reported_by_rank_zero(ending([&] { wait(*comm); }), parts);
  EXPECT_EQ(host_collectives().aborted, 1);
}

TEST_F(NcclFailureOnRanks, ATimeoutNamesTheAllReduceWithinARecording) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  Recorded recorded = record(*comm, value, 5);
  launch(*comm, recorded, 2);
  wait(*comm);                              // all-reduces are counted from here
  host_collectives().hangs_at = 1 + 5 + 2;  // one single all-reduce, one launch, two all-reduces of the next launch
  all_reduce(*comm, value);
  launch(*comm, recorded, 3);
  expect_failure_reported_by_rank_zero(ending([&] { wait(*comm); }),
                                       {"all-reduce 9 of the 16 ", "0.3 s", "all ranks wait"});
}

// The limit is that of an all-reduce, not of all the work that is waited for.
TEST_F(NcclFailureOnRanks, AGpuMayComputeForLongerThanAnAllReduceMayTake) {
  options.comm_timeout = 0.2;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  all_reduce(*comm, value);
  const Clock::time_point start = Clock::now();
  const Ending end = ending([&] { comm->wait([&] { return Clock::now() - start > std::chrono::milliseconds(700); }); });
  EXPECT_EQ(end.code, kDone) << end.message;
}

// One rank computes for many times as long as an all-reduce may take, on its GPU or on its host, while the others wait
// for it in an all-reduce.
TEST_F(NcclFailureOnRanks, RanksWaitForOneThatStillComputes) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  options.comm_timeout = 0.2;
  for (const bool on_host : {false, true})
    for (const int slow : {0, last_rank()}) {
      const auto comm = connect();
      Array<float> value(*queue, 1);
      const auto stream = static_cast<gpuStream_t>(queue->native());
      const Clock::time_point start = Clock::now();
      const auto over = [&] { return Clock::now() - start > std::chrono::milliseconds(1500); };
      const bool is_slow = world().rank() == slow;
      host_collectives().hangs_at = is_slow ? -1 : 0;
      const Ending end = ending([&] {
        if (!is_slow) all_reduce(*comm, value);
        while (is_slow && on_host && !over()) comm->computes();
        comm->wait(over);
      });
      EXPECT_EQ(end.code, kDone) << end.message;
      stream->stuck = false;
    }
}

TEST_F(NcclFailureOnRanks, ARankThatHangsAfterItHasAnsweredIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  options.comm_timeout = 0.2;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  const Clock::time_point start = Clock::now();
  while (is_last() && Clock::now() - start < std::chrono::milliseconds(700)) comm->computes();
  if (is_last()) return;
  host_collectives().hangs_at = 0;
  all_reduce(*comm, value);
  expect_failure_reported_by_rank_zero(ending([&] { wait(*comm); }),
                                       {"all-reduce 1 of the 1 ", "0.2 s", "no answer from " + last_rank_text()});
}

TEST_F(NcclFailureOnRanks, ARankWhoseGpuHangsBeforeTheAllReduceIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  options.comm_timeout = 0.1;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  if (!is_last()) host_collectives().hangs_at = 0, all_reduce(*comm, value);
  const auto aborted = [] { return host_collectives().aborted > 0; };
  expect_failure_reported_by_rank_zero(
      ending([&] { comm->wait(aborted); }),
      {"all-reduce 1 of the 1 ", "0.1 s", "still at work before an all-reduce on " + last_rank_text(), "drl_doctor"});
}

TEST_F(NcclFailureOnRanks, ALongerTimeoutEndsOtherWork) {
  options.comm_timeout = 0.03;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  all_reduce(*comm, value);
  expect_failure_reported_by_rank_zero(ending([&] { comm->wait([] { return host_collectives().aborted > 0; }); }),
                                       {"the GPU's work", "0.3 s", "--comm_timeout"});
}

TEST_F(NcclFailureOnRanks, WorkThatHangsBeforeAnAllReduceIsNotCalledAnAllReduce) {
  options.comm_timeout = 0.03;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  const auto stream = static_cast<gpuStream_t>(queue->native());
  all_reduce(*comm, value);
  stream->stuck = true;
  all_reduce(*comm, value, 2);
  expect_failure_reported_by_rank_zero(ending([&] { comm->wait([] { return host_collectives().aborted > 0; }); }),
                                       {"the GPU's work before all-reduce 2 of the 3 ", "0.3 s", "drl_doctor"});
  stream->stuck = false;
}

TEST_F(NcclFailureOnRanks, AnAllReduceThatNcclNeverEnqueuesNamesTheTimeThatItWasWaitedFor) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  host_collectives().enqueue_polls = -1;
  expect_failure_reported_by_rank_zero(ending([&] { all_reduce(*comm, value); }), {"0.3 s", "--comm_timeout"});
  wait_for_the_abort();
}

TEST_F(NcclFailureOnRanks, TimeWhileTheProcessIsSuspendedDoesNotCount) {
  options.comm_timeout = 2;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  host_collectives().hangs_at = 0;
  all_reduce(*comm, value);
  const pid_t child = ::fork();
  if (child == 0) {  // suspends the parent for 3 s
    ::usleep(300'000);
    ::kill(::getppid(), SIGSTOP);
    ::sleep(3);
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
  }
  const Clock::time_point start = Clock::now();
  const Ending end = ending([&] { wait(*comm); });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(end.code, kFailure);
  EXPECT_GT(seconds, 4.5);  // 2 s that count and 3 s that do not, minus one tick of 0.25 s
}

// ---- End ------------------------------------------------------------------------------------------------------------

TEST_F(NcclFailureOnRanks, AFinishedRunFinalizesNccl) {
  connect();
  EXPECT_EQ(host_collectives().finalized, 1);
  EXPECT_EQ(host_collectives().destroyed, 1);
  EXPECT_EQ(host_collectives().aborted, 0);
}

// Finalizing is collective, and the other ranks may not take part in it.
TEST_F(NcclFailureOnRanks, ARankThatEndsWithAnErrorDoesNotFinalizeNccl) {
  try {
    const auto comm = connect();
    throw std::runtime_error("of this rank alone");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(host_collectives().finalized, 0);
}

// ---- Settings -------------------------------------------------------------------------------------------------------

// Unsets these environment variables before and after a test.
struct Variables {
  explicit Variables(std::vector<std::string> all) : names(std::move(all)) { clear(); }
  ~Variables() { clear(); }
  void clear() const {
    for (const std::string& name : names) ::unsetenv(name.c_str());
  }
  std::vector<std::string> names;
};

std::string variable(const char* name) { return process_environment()(name).value_or("(unset)"); }

TEST_F(NcclFailureOnRanks, DeterministicSelectsTheRingUnlessTheUserSetVariables) {
  const Variables variables({"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"});
  connect();
  EXPECT_EQ(variable("NCCL_GRAPH_REGISTER"), "0");
  EXPECT_EQ(variable("NCCL_ALGO"), "(unset)");
  EXPECT_EQ(variable("NCCL_PROTO"), "(unset)");
  ::setenv("NCCL_NVLS_ENABLE", "2", 1);
  options.deterministic = true;
  connect();
  EXPECT_EQ(variable("NCCL_ALGO"), "Ring");
  EXPECT_EQ(variable("NCCL_PROTO"), "Simple");
  EXPECT_EQ(variable("NCCL_MIN_CTAS"), variable("NCCL_MAX_CTAS"));
  EXPECT_EQ(variable("NCCL_NVLS_ENABLE"), "2");
}

TEST_F(NcclFailureOnRanks, RanksMayShareAGpuIfTheCallerAllowsIt) {
  gpu::host_pci_bus() = 7;
  options.may_share_gpu = true;
  EXPECT_EQ(ending([&] { connect(); }).code, kDone);
}

TEST(NcclAdviceOnRanks, SuggestsTheFirstWorkaroundThatIsNotSetYet) {
  std::vector<std::string> set;
  const auto advice = [&](bool hosts_look_for_each_other) {
    const auto environment = [&](const char* name) -> std::optional<std::string> {
      if (std::ranges::find(set, name) != set.end()) return "1";
      if (name == std::string("NCCL_IB_DISABLE")) return "0";  // 0 does not activate the workaround
      return std::nullopt;
    };
    return nccl_advice(environment, {false, hosts_look_for_each_other});
  };
  expect_mentions(advice(true), {"NCCL_SOCKET_IFNAME="});
  for (const char* next :
       {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_ALGO", "NCCL_SOCKET_IFNAME"}) {
    expect_mentions(advice(false), {std::string(next) + "="});
    set.push_back(next);
  }
  expect_mentions(advice(false), {"NCCL_DEBUG=INFO", "drl_doctor"});
  EXPECT_EQ(advice(true), advice(false));
}

TEST(NcclAdviceOnRanks, RanksOfANodeShouldSeeEachOthersGpus) {
  const std::string advice = nccl_advice([](const char*) { return std::nullopt; }, {true, true});
  expect_mentions(advice, {"srun --gpu-bind=none"});
}

}  // namespace
}  // namespace drl
