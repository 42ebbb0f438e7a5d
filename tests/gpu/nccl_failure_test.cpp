// What NCCL's communicator says and does when a rank or NCCL fails, and what it asks of NCCL: on the stand-in, whose
// collectives fail as they are told to; by 1, 2 and 4 ranks.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "base/check.hpp"
#include "base/host.hpp"
#include "nccl_rig.hpp"

namespace drl {
namespace {

using namespace test;
using gpu::host_collectives;
using Clock = std::chrono::steady_clock;

class NcclFailure : public NcclTest {
 protected:
  void TearDown() override {
    NcclTest::TearDown();
    std::destroy_at(&host_collectives());
    std::construct_at(&host_collectives());
    gpu::host_pci_bus() = ::getpid();
  }
  static int last_rank() { return world().size() - 1; }
  static bool is_last() { return world().rank() == last_rank(); }
  // By a thread of its own, which could else still be counted in the next test.
  static void wait_for_the_abort() {
    while (host_collectives().aborted == 0) ::usleep(1000);
  }
  static std::string last_rank_text() { return "rank " + std::to_string(last_rank()); }
};

// How `work` ended: what run_session would print here, and the exit code.
struct Ending {
  std::string message;
  int code = kDone;
  bool shared = false;  // by all ranks: rank 0 alone prints it
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

// Rank 0 says why all end.
void expect_failure_said_by_rank_zero(const Ending& end, const std::vector<std::string>& parts) {
  EXPECT_EQ(end.code, kFailure);
  EXPECT_EQ(end.message.empty(), world().rank() != 0);
  for (const std::string& part : world().rank() == 0 ? parts : std::vector<std::string>{})
    EXPECT_PRED2(contains, end.message, part);
}

std::string seen_from() { return "; seen from host 0000:"; }

// ---- Start ----------------------------------------------------------------------------------------------------------

TEST_F(NcclFailure, MixedVersionsAreRefusedOnAllRanks) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  if (is_last()) host_collectives().version = 22703;
  const Ending end = ending([&] { connect(); });
  EXPECT_TRUE(end.shared);
  EXPECT_EQ(end.code, kUsage);
  EXPECT_PRED2(contains, end.message, "different versions of NCCL (2.28.9 (rank");
  EXPECT_PRED2(contains, end.message, ", 2.27.3 (" + last_rank_text() + " on " + host_name() + "))");
}

TEST_F(NcclFailure, ASharedGpuIsRefusedOnAllRanks) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  if (world().rank() == 0 || is_last()) gpu::host_pci_bus() = 0x3b;
  const Ending end = ending([&] { connect(); });
  EXPECT_TRUE(end.shared);
  EXPECT_EQ(end.code, kUsage);
  EXPECT_PRED2(contains, end.message,
               "ranks 0, " + std::to_string(last_rank()) + " on " + host_name() +
                   " would compute on the same GPU (host, 0000:3b:00)");
}

TEST_F(NcclFailure, ARankThatNeverComesIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  options.init_timeout = 0.3;
  if (is_last()) return;
  expect_failure_said_by_rank_zero(
      ending([&] { connect(); }),
      {"not all ranks came to the start of NCCL within 0.3 s (not " + last_rank_text() + " on testhost: ",
       "; --init_timeout allows more"});
}

TEST_F(NcclFailure, ARankThatDoesNotConnectIsNamed) {
  options.init_timeout = 0.3;
  if (is_last()) {
    host_collectives().init_polls = -1;
  } else {
    host_collectives().sticks_at = 0;  // the others wait for it in their first all-reduce
  }
  host_collectives().last_error = "connect timed out";
  std::vector<std::string> parts = {"NCCL did not connect all ranks within 0.3 s (",
                                    last_rank_text() + " on testhost is still looking for the others" + seen_from(),
                                    "; NCCL's last error: connect timed out): try NCCL_P2P_DISABLE=1"};
  if (last_rank() > 0) parts.push_back("rank 0 on testhost waits in a first all-reduce; ");
  expect_failure_said_by_rank_zero(ending([&] { connect(); }), parts);
  EXPECT_EQ(host_collectives().finalized, 0);
  wait_for_the_abort();
}

TEST_F(NcclFailure, ARankThatNcclNeverLetsBeginIsNamed) {
  options.init_timeout = 0.3;
  host_collectives().enqueue_polls = -1;
  expect_failure_said_by_rank_zero(ending([&] { connect(); }),
                                   {"rank 0 on testhost is still preparing a first all-reduce"});
  wait_for_the_abort();
}

TEST_F(NcclFailure, AnErrorAtTheStartIsItsRanks) {
  host_collectives().init_polls = 3;
  host_collectives().error = gpucclSystemError;
  const Ending end = ending([&] { connect(); });
  EXPECT_EQ(end.code, kFailure);
  EXPECT_PRED2(contains, end.message, "NCCL failed at its start (unhandled system error" + seen_from());
  wait_for_the_abort();
}

// ---- Work -----------------------------------------------------------------------------------------------------------

TEST_F(NcclFailure, WhatNcclHasOnlyBegunIsWaitedOut) {
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

TEST_F(NcclFailure, AnErrorOfNcclEndsTheWaitAndAllThatWouldFollow) {
  const auto comm = connect();
  Array<float> value(*queue, 1);
  host_collectives().sticks_at = 1;
  all_reduce(*comm, value, 3);
  host_collectives().error = gpucclRemoteError;
  host_collectives().last_error = "socket closed";
  const Ending end = ending([&] { wait(*comm); });
  EXPECT_EQ(end.code, kFailure);
  EXPECT_PRED2(contains, end.message,
               "NCCL failed at all-reduce 2 of the 3 since the last wait (remote process exited");
  EXPECT_PRED2(contains, end.message, seen_from());
  EXPECT_PRED2(contains, end.message, "; NCCL's last error: socket closed): another rank died or failed first");
  for (const std::function<void()>& collective : std::vector<std::function<void()>>{
           [&] { all_reduce(*comm, value); }, [&] { comm->all_reduce_sum(std::span(value.data(), 1)); },
           [&] { broadcast_text(*comm, ""); }, [&] { gather_texts(*comm, ""); }, [&] { wait(*comm); }})
    EXPECT_PRED2(contains, ending(collective).message, "a collective after a failure");
}

TEST_F(NcclFailure, AnErrorOfTheGpuEndsAllThatWouldFollow) {
  const auto comm = connect();
  const Ending end = ending([&] { comm->wait([]() -> bool { throw Error("the GPU failed"); }); });
  EXPECT_EQ(end.message, "the GPU failed");
  EXPECT_PRED2(contains, ending([&] { wait(*comm); }).message, "a collective after a failure");
}

TEST_F(NcclFailure, TheLimitNamesTheAllReduceAndTheRankThatDoesNotAnswer) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<double> sums(*queue, 4);
  Array<float> gradient(*queue, 4);
  all_reduce(*comm, sums);
  wait(*comm);  // numbers begin anew
  host_collectives().sticks_at = 3;
  all_reduce(*comm, sums);
  all_reduce(*comm, gradient, 5);
  if (is_last() && last_rank() > 0) return;  // does not come to wait
  std::vector<std::string> parts = {"all-reduce 4 of the 6 since the last wait did not end within 0.3 s (",
                                    "; --comm_timeout allows more"};
  if (last_rank() > 0) {
    parts.push_back("(no answer from " + last_rank_text() + " on testhost" + seen_from());
    parts.push_back("): see what holds it up;");
  } else {
    parts.push_back("(all ranks wait" + seen_from());
    parts.push_back("): try NCCL_P2P_DISABLE=1");
  }
  expect_failure_said_by_rank_zero(ending([&] { wait(*comm); }), parts);
  EXPECT_EQ(host_collectives().aborted, 1);
}

TEST_F(NcclFailure, TheLimitNamesTheAllReduceWithinARecording) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  Recorded recorded = record(*comm, value, 5);
  launch(*comm, recorded, 2);
  wait(*comm);                               // numbers begin anew
  host_collectives().sticks_at = 1 + 5 + 2;  // one alone, a launch, two of the next
  all_reduce(*comm, value);
  launch(*comm, recorded, 3);
  expect_failure_said_by_rank_zero(
      ending([&] { wait(*comm); }),
      {"all-reduce 9 of the 16 since the last wait did not end within 0.3 s (all ranks wait"});
}

TEST_F(NcclFailure, TheLimitAlsoEndsOtherWork) {
  options.comm_timeout = 0.3;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  all_reduce(*comm, value);
  expect_failure_said_by_rank_zero(ending([&] { comm->wait([] { return host_collectives().aborted > 0; }); }),
                                   {"the GPU's work did not end within 0.3 s (all all-reduces before it have ended"});
}

TEST_F(NcclFailure, TimeThatTheProcessIsSuspendedDoesNotCount) {
  options.comm_timeout = 2;
  const auto comm = connect();
  Array<float> value(*queue, 1);
  host_collectives().sticks_at = 0;
  all_reduce(*comm, value);
  const pid_t child = ::fork();
  if (child == 0) {  // stops us for 3 s
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
  EXPECT_GT(seconds, 4.5);  // 2 s that count and 3 s that do not, but for one tick of 0.25 s
}

// ---- End ------------------------------------------------------------------------------------------------------------

TEST_F(NcclFailure, ARunThatIsDoneSaysFarewell) {
  connect();
  EXPECT_EQ(host_collectives().finalized, 1);
  EXPECT_EQ(host_collectives().destroyed, 1);
  EXPECT_EQ(host_collectives().aborted, 0);
}

// The others may not come to it.
TEST_F(NcclFailure, ARankThatEndsByAnErrorDoesNot) {
  try {
    const auto comm = connect();
    throw std::runtime_error("of this rank alone");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(host_collectives().finalized, 0);
}

// ---- Settings -------------------------------------------------------------------------------------------------------

// Not set before and after.
struct Variables {
  explicit Variables(std::vector<std::string> all) : names(std::move(all)) { clear(); }
  ~Variables() { clear(); }
  void clear() const {
    for (const std::string& name : names) ::unsetenv(name.c_str());
  }
  std::vector<std::string> names;
};

std::string variable(const char* name) { return process_environment()(name).value_or("(unset)"); }

TEST_F(NcclFailure, DeterministicMeansARingUnlessTheUserSaysOtherwise) {
  const Variables variables({"NCCL_ALGO", "NCCL_NVLS_ENABLE"});
  connect();
  EXPECT_EQ(variable("NCCL_ALGO"), "(unset)");
  ::setenv("NCCL_NVLS_ENABLE", "2", 1);
  options.deterministic = true;
  connect();
  EXPECT_EQ(variable("NCCL_ALGO"), "Ring");
  EXPECT_EQ(variable("NCCL_NVLS_ENABLE"), "2");
}

TEST_F(NcclFailure, RanksMayShareAGpuWhereTheCallerSaysSo) {
  gpu::host_pci_bus() = 7;
  options.may_share_gpu = true;
  EXPECT_EQ(ending([&] { connect(); }).code, kDone);
}

TEST(NcclAdvice, NamesTheFirstWayOutThatIsNotTakenYet) {
  std::vector<std::string> taken;
  const auto advice = [&](bool hosts_look_for_each_other) {
    const auto environment = [&](const char* name) -> std::optional<std::string> {
      if (std::ranges::find(taken, name) != taken.end()) return "1";
      if (name == std::string("NCCL_IB_DISABLE")) return "0";  // is no way out
      return std::nullopt;
    };
    return nccl_advice(environment, {false, hosts_look_for_each_other});
  };
  EXPECT_EQ(advice(true).find("try NCCL_SOCKET_IFNAME="), 0) << advice(true);
  for (const char* next :
       {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_ALGO", "NCCL_SOCKET_IFNAME"}) {
    EXPECT_EQ(advice(false).find("try " + std::string(next) + "="), 0) << advice(false);
    taken.push_back(next);
  }
  EXPECT_EQ(advice(false).find("NCCL_DEBUG=INFO"), 0) << advice(false);
  EXPECT_EQ(advice(true), advice(false));
}

TEST(NcclAdvice, RanksOfANodeHaveToSeeEachOthersGpus) {
  const std::string advice = nccl_advice([](const char*) { return std::nullopt; }, {true, true});
  EXPECT_EQ(advice.find("let each rank see all GPUs of its node (srun --gpu-bind=none)"), 0) << advice;
}

}  // namespace
}  // namespace drl
