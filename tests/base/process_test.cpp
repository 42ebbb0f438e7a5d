
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/host.hpp"

namespace drl {
namespace {

// See proc(5). The name of the first process is "a) b".
TEST(ProcessStat, IsParsedFromProcStat) {
  const auto stat = parse_process_stat(
      "4711 (a) b) S 17 4711 4711 0 -1 4194560 1000 0 0 0 12 3 0 0 20 0 8 0 25000 123456 789 184467\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->start, 25000);
  EXPECT_FALSE(stat->has_ended() || stat->is_stopped());
  EXPECT_EQ(parse_process_stat("4711 (a) S 17 4711")->start, std::nullopt);
  for (const char* wrong : {"", "4711", "4711 (a)", "4711 (a) ", "4711 (a) S", "4711 (a) S x", "4711 (a) SS 1"})
    EXPECT_FALSE(parse_process_stat(wrong)) << wrong;
}

TEST(ProcessStat, TellsStatesParentAndStart) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  const auto stopped = process_stat(std::to_string(child)), self = process_stat("self");
  ASSERT_TRUE(stopped && self);
  EXPECT_TRUE(stopped->is_stopped());
  EXPECT_FALSE(stopped->has_ended() || self->is_stopped() || self->has_ended());
  EXPECT_EQ(stopped->parent, getpid());
  EXPECT_GE(stopped->start, self->start);
  kill(child, SIGCONT);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // it stays a zombie
  EXPECT_TRUE(process_stat(std::to_string(child))->has_ended());
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_stat(std::to_string(child)));
}

TEST(ProcessAge, IsThatOfThisProcess) {
  EXPECT_GE(seconds_since_start(), 0);
  EXPECT_LT(seconds_since_start(), 3600);
}

}  // namespace
}  // namespace drl
