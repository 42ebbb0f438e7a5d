// Tests of the files by which ranks that wait in MPI_Init find each other.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "../support/process.hpp"
#include "../support/temp_folder.hpp"
#include "doctor/start_watch.hpp"

namespace drl {
namespace {

TEST(WaitingRanks, SignInBelowTheDirectoryOfRuns) {
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

TEST(WaitingRanks, CannotSignInWithoutANameOfTheLaunch) {
  const TempFolder folder;
  const WaitingRanks ranks(folder.path(), "");
  EXPECT_FALSE(ranks.sign_in(0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

std::ptrdiff_t threads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

// Opening a pipe for writing blocks until a reader opens it, which simulates a slow file system.
TEST(StartWatch, SignsOutIfMpiStartsWhileItSignsIn) {
  const TempFolder folder;
  ASSERT_EQ(mkdir((folder / ".drl_doctor-job.1").c_str(), 0700), 0);
  const std::string pipe = folder / ".drl_doctor-job.1/0";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  LaunchInfo launch;
  launch.launcher = "mpirun";
  Watchdog watchdog;
  Report report(false, "");
  const std::ptrdiff_t before = threads();
  StartWatch start(watchdog, report, launch, "job.1", folder.path(), 0.4);
  ASSERT_TRUE(wait_until([&] { return threads() > before + 1; }))
      << "only the watchdog's thread runs, no thread signs in";
  start.started();
  EXPECT_EQ(folder.names().size(), 1u);
  const int reader = open(pipe.c_str(), O_RDONLY);
  EXPECT_TRUE(wait_until([&] { return folder.names().empty(); }));
  close(reader);
}

// Another user can guess the directory's name and plant a link.
TEST(WaitingRanks, DoNotFollowALink) {
  const TempFolder folder, elsewhere;
  std::filesystem::permissions(elsewhere.path(), std::filesystem::perms::owner_all);
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / ".drl_doctor-job.1");
  const WaitingRanks ranks(folder.path(), "job.1");
  EXPECT_FALSE(ranks.sign_in(3));
  spill(elsewhere / "5", "");
  EXPECT_TRUE(ranks.list().empty());
  ranks.remove();
  EXPECT_EQ(elsewhere.names(), std::vector<std::string>{"5"});
}

TEST(WaitingRanks, CannotSignInOnAReadOnlyFileSystem) { EXPECT_FALSE(WaitingRanks("/proc", "job.1").sign_in(0)); }

}  // namespace
}  // namespace drl
