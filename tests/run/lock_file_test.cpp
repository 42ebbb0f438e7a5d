#include "run/lock_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "../support/temp_folder.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr double kFresh = 20, kOld = 3600;  // s

LockOwner on(const std::string& host, const std::string& job = "", int restart = 0) {
  return {host, "boot of " + host, "pid:[1]", 100, 5000, job.empty() ? "" : "alps", job, restart};
}

struct Case {
  const char* description;
  LockOwner owner;
  OwnerFacts facts;
  bool gone;
};

LockOwner with(LockOwner owner, void (*change)(LockOwner&)) {
  change(owner);
  return owner;
}

TEST(OwnerIsGone, OnlyOnSufficientEvidence) {
  const LockOwner a = on("a"), b = on("b"), job_7 = on("a", "7"), job_8 = on("b", "8");
  const Case cases[] = {
      {"released", with(b, [](LockOwner& o) { o.released = true; }), {a, {}, {}, kFresh}, true},
      // On this host, /proc decides.
      {"is alive", a, {a, 5000, {}, kFresh}, false},
      {"is stopped (SIGSTOP)", a, {a, 5000, {}, kOld}, false},
      {"died", a, {a, {}, {}, kFresh}, true},
      {"its pid was reused", a, {a, 6000, {}, kFresh}, true},
      {"another boot of the host", a, {with(a, [](LockOwner& o) { o.boot = "later"; }), {}, {}, kFresh}, false},
      {"another container", a, {with(a, [](LockOwner& o) { o.processes = "pid:[2]"; }), {}, {}, kFresh}, false},
      // On another host, Slurm and the updates of the file decide.
      {"the same job, requeued", job_7, {on("b", "7", 1), {}, {}, kFresh}, true},
      {"the same start of the job", job_7, {on("b", "7", 0), {}, {}, kFresh}, false},
      {"checked by an older start of the job", on("a", "7", 2), {on("b", "7", 1), {}, {}, kFresh}, false},
      {"the same job id in another cluster",
       job_7,
       {with(on("b", "7", 1), [](LockOwner& o) { o.cluster = "lumi"; }), {}, {}, kFresh},
       false},
      {"the job no longer exists", job_7, {job_8, {}, "", 3 * kHeartbeat + 1}, true},
      {"squeue shows no job, but the file was updated recently", job_7, {job_8, {}, "", kFresh}, false},
      {"the job is running", job_7, {job_8, {}, "RUNNING", kFresh}, false},
      {"the job is running, but its step has ended", job_7, {job_8, {}, "RUNNING", kOld}, true},
      {"the job is suspended", job_7, {job_8, {}, "SUSPENDED", kOld}, false},
      {"squeue does not answer", job_7, {job_8, {}, {}, kFresh}, false},
      {"no Slurm, updated recently", b, {a, {}, {}, kFresh}, false},
      {"no Slurm, updated just in time", b, {a, {}, {}, kHeartbeatLimit}, false},
      {"no Slurm, not updated in time", b, {a, {}, {}, kHeartbeatLimit + 1}, true},
      {"its clock is ahead", b, {a, {}, {}, -kOld}, false},
      {"unreadable", {}, {a, {}, {}, kFresh}, false},
      {"unreadable and old", {}, {a, {}, {}, kOld}, true},
  };
  for (const Case& c : cases) EXPECT_EQ(owner_is_gone(c.owner, c.facts), c.gone) << c.description;
}

TEST(SqueueDecides, OnlyForOwnersInOtherJobsOnOtherHosts) {
  EXPECT_TRUE(squeue_decides(on("a", "7"), on("b", "8")));
  EXPECT_FALSE(squeue_decides(on("a", "7"), on("a", "8"))) << "/proc decides";
  EXPECT_FALSE(squeue_decides(on("a", "7"), on("b", "7", 1)));
  EXPECT_FALSE(squeue_decides(on("a"), on("b", "8")));
  EXPECT_FALSE(squeue_decides(on("a", "7"), on("b"))) << "the job may be in another cluster";
  EXPECT_FALSE(squeue_decides({}, on("b", "8")));
}

nlohmann::json record(const fs::path& file) { return nlohmann::json::parse(slurp(file)); }

// Writes a lock file as a process on another host would have left it some seconds ago.
void write_lock_file(const fs::path& file, double seconds, std::string text = "") {
  if (text.empty())
    text = R"({"host": "elsewhere", "boot": "b", "processes": "p", "pid": 7, "start_time": 8, "cluster": "", "job": "",
      "restart": 0, "released": false})";
  spill(file, text);
  const timespec then{std::time(nullptr) - static_cast<time_t>(seconds), 0}, times[] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

TEST(LockFile, IsHeldByOneAtATime) {
  const TempFolder folder;
  EXPECT_FALSE(has_lock_file(folder.path()));
  {
    const auto first = LockFile::take(folder.path());
    ASSERT_TRUE(first);
    EXPECT_TRUE(has_lock_file(folder.path()));
    EXPECT_EQ(LockFile::take(folder.path()), nullptr);
    EXPECT_TRUE(first->is_mine());
    EXPECT_EQ(folder.names(), Names{".lock.owner.1"});
    EXPECT_EQ(record(folder / ".lock.owner.1").at("pid"), getpid());
  }
  EXPECT_FALSE(has_lock_file(folder.path()));
  EXPECT_EQ(record(folder / ".lock.owner.1").at("released"), true);
  EXPECT_TRUE(LockFile::take(folder.path()));
  EXPECT_EQ(folder.names(), Names{".lock.owner.2"});
}

TEST(LockFile, IsRemovedAtItsEndIfRequested) {
  const TempFolder folder;
  LockFile::take(folder.path())->remove_at_end();
  EXPECT_EQ(folder.names(), Names{});
}

TEST(LockFile, StaysInItsDirectoryWhenThatIsRenamed) {
  const TempFolder folder;
  fs::create_directory(folder / "r");
  auto old = LockFile::take(folder / "r");
  fs::rename(folder / "r", folder / "r.old");
  fs::create_directory(folder / "r");
  const auto fresh = LockFile::take(folder / "r");
  old.reset();
  EXPECT_TRUE(has_lock_file(folder / "r"));
  EXPECT_FALSE(has_lock_file(folder / "r.old"));
}

TEST(LockFile, IsTakenFromAKilledProcess) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = LockFile::take(folder.path());
    for (;;) pause();
  }
  std::error_code not_there;
  const fs::path file = folder / ".lock.owner.1";
  while (!(fs::file_size(file, not_there) > 0) || not_there) usleep(1000);  // it is created first and then written
  EXPECT_TRUE(has_lock_file(folder.path()));
  EXPECT_EQ(LockFile::take(folder.path()), nullptr);
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // the process remains a zombie
  EXPECT_FALSE(has_lock_file(folder.path()));
  EXPECT_TRUE(LockFile::take(folder.path()));
  waitpid(child, nullptr, 0);
}

TEST(LockFile, IsTakenFromAnotherHostIfItWasNotUpdated) {
  const TempFolder folder;
  write_lock_file(folder / ".lock.owner.4", kFresh);
  EXPECT_TRUE(has_lock_file(folder.path()));
  EXPECT_EQ(LockFile::take(folder.path()), nullptr);
  write_lock_file(folder / ".lock.owner.4", kOld);
  EXPECT_FALSE(has_lock_file(folder.path()));
  const auto lock = LockFile::take(folder.path());
  EXPECT_TRUE(lock && lock->is_mine());
  EXPECT_EQ(folder.names(), Names{".lock.owner.5"});
}

TEST(LockFile, CountsAsHeldWhileItIsBeingWritten) {
  const TempFolder folder;
  for (const char* text : {"\n", "{\"host\": \"els", "{\"host\": 3}"}) {
    write_lock_file(folder / ".lock.owner.1", kFresh, text);
    EXPECT_EQ(LockFile::take(folder.path()), nullptr) << text;
  }
  write_lock_file(folder / ".lock.owner.1", kOld, "\n");  // its node died meanwhile
  EXPECT_TRUE(LockFile::take(folder.path()));
}

// A process that was suspended for long finds that it is no longer the owner, and leaves the new lock alone.
TEST(LockFile, IsNotTakenBackAfterATakeover) {
  const TempFolder folder;
  auto suspended = LockFile::take(folder.path());
  write_lock_file(folder / ".lock.owner.1", kOld);  // as another host sees it
  const auto next = LockFile::take(folder.path());
  ASSERT_TRUE(next);
  EXPECT_FALSE(suspended->is_mine());
  suspended.reset();
  EXPECT_TRUE(next->is_mine());
  EXPECT_EQ(folder.names(), Names{".lock.owner.2"});
}

// Several threads find the same stale lock at once.
TEST(LockFile, IsTakenOverByOnlyOneOfMany) {
  for (int round = 0; round < 100; ++round) {
    const TempFolder folder;
    write_lock_file(folder / ".lock.owner.3", kOld);
    std::atomic<int> waiting = 4, trying = 4, winners = 0;
    std::vector<std::thread> starts;
    for (int k = 0; k < 4; ++k)
      starts.emplace_back([&] {
        for (--waiting; waiting > 0;) std::this_thread::yield();
        const auto lock = LockFile::take(folder.path());
        winners += lock != nullptr;
        for (--trying; trying > 0;) std::this_thread::yield();  // the winner keeps the lock until all have tried
      });
    for (std::thread& start : starts) start.join();
    ASSERT_EQ(winners, 1);
  }
}

// Several threads take and release the lock many times.
TEST(LockFile, IsExclusive) {
  const TempFolder folder;
  std::atomic<int> inside = 0, taken = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      while (taken < 300)
        if (const auto lock = LockFile::take(folder.path())) {
          EXPECT_EQ(++inside, 1);
          taken += 1;
          --inside;
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(LockFile, ThrowsIfItCannotBeCreated) {
  EXPECT_THROW(LockFile::take("/proc/self"), std::system_error);
  EXPECT_THROW(LockFile::take("/nowhere"), std::system_error);
  EXPECT_FALSE(has_lock_file("/nowhere"));
}

}  // namespace
}  // namespace drl
