// How ranks that wait in MPI_Init know of each other.
#include <gtest/gtest.h>

#include "../support/temp_folder.hpp"
#include "doctor/start_watch.hpp"

namespace drl {
namespace {

TEST(WaitingRanks, SignInWhereTheRunsWillLie) {
  const TempFolder folder;
  const WaitingRanks ranks(folder / "not/yet/there", "job.1"), others(folder.path(), "job.2");
  EXPECT_TRUE(ranks.list().empty());
  for (int rank : {10, 2, 33, 7, 5}) EXPECT_TRUE(ranks.sign_in(rank));
  EXPECT_TRUE(others.sign_in(5));
  EXPECT_EQ(ranks.list(), (std::vector<int>{2, 5, 7, 10, 33}));
  for (int rank : {2, 5, 7, 33}) ranks.sign_out(rank);
  EXPECT_EQ(ranks.list(), (std::vector<int>{10}));
  ranks.sign_out(10);
  others.remove();
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(WaitingRanks, CannotWithoutAName) {
  const TempFolder folder;
  const WaitingRanks ranks(folder.path(), "");
  EXPECT_FALSE(ranks.sign_in(0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(WaitingRanks, CannotWhereNothingCanBeWritten) { EXPECT_FALSE(WaitingRanks("/proc", "job.1").sign_in(0)); }

}  // namespace
}  // namespace drl
