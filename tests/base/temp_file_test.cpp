#include "base/temp_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "../support/temp_folder.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

// Sets TMPDIR for the duration of a test.
class Tmpdir {
 public:
  explicit Tmpdir(const std::string& value) {
    if (const char* now = std::getenv("TMPDIR")) before_ = now;
    setenv("TMPDIR", value.c_str(), 1);
  }
  ~Tmpdir() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(TempFolder, IsTmpdirIfThatIsADirectory) {
  const TempFolder folder;
  const std::string existing = folder.path(), missing = folder / "missing", file = folder / "file";
  spill(file, "");
  EXPECT_EQ((Tmpdir(existing), temp_folder()), existing);
  EXPECT_EQ((Tmpdir(missing), temp_folder()), "/tmp");
  EXPECT_EQ((Tmpdir(file), temp_folder()), "/tmp");
  EXPECT_EQ((Tmpdir(""), temp_folder()), "/tmp");
}

TEST(TempFile, IsPrivateAndRemovedAtTheEnd) {
  const TempFolder folder;
  const Tmpdir here(folder.path());
  {
    const TempFile file("drl", "a\nb");
    EXPECT_EQ(fs::path(file.path()).parent_path(), folder.path());
    EXPECT_EQ(mode_of(file.path()), 0600u);
    EXPECT_EQ(slurp(file.path()), "a\nb");
    EXPECT_EQ(TempFile("drl").text(), "");
    EXPECT_TRUE(write_own_file(file.path(), "7"));  // as another process of this user may do
    EXPECT_EQ(file.text(), "7");
  }
  EXPECT_EQ(folder.names(), Names{});
}

// A file that another program has put in its place is not read.
TEST(TempFile, ReadsItsOwnFileAfterItWasReplaced) {
  const TempFolder folder;
  const Tmpdir here(folder.path());
  const TempFile file("drl", "0");
  fs::remove(file.path());
  spill(file.path(), "9");
  EXPECT_EQ(file.text(), "0");
}

TEST(OwnFile, LinksAreNotFollowed) {
  const TempFolder folder;
  spill(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", folder / "link");
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    EXPECT_FALSE(create_private_file(folder / name, "x"));
    EXPECT_FALSE(write_own_file(folder / name, "x"));
  }
  EXPECT_FALSE(create_private_file(folder / "victim", "x"));
  EXPECT_EQ(slurp(folder / "victim"), "precious");
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  EXPECT_FALSE(write_own_file(folder / "missing", "x"));
  EXPECT_TRUE(create_private_file(folder / "new", "longer"));
  EXPECT_EQ(mode_of(folder / "new"), 0600u);
  EXPECT_TRUE(write_own_file(folder / "new", "x"));
  EXPECT_EQ(slurp(folder / "new"), "x");
}

TEST(OwnFile, FilesOfOtherUsersAreNotWritten) {
  const TempFolder folder;
  spill(folder / "theirs", "precious");
  if (chown((folder / "theirs").c_str(), 1, 1) != 0) GTEST_SKIP() << "only root can change the owner of a file";
  EXPECT_FALSE(write_own_file(folder / "theirs", "x"));
  EXPECT_EQ(slurp(folder / "theirs"), "precious");
}

TEST(PrivateFolder, IsSharedByProcessesOfOneUser) {
  const TempFolder folder;
  EXPECT_FALSE(PrivateFolder(folder / "a", PrivateFolder::Open::existing).exists());
  const PrivateFolder first(folder / "a", PrivateFolder::Open::create_if_missing),
      second(folder / "a", PrivateFolder::Open::existing);
  EXPECT_EQ(mode_of(folder / "a"), 0700u);
  EXPECT_TRUE(first.create("1"));
  EXPECT_TRUE(second.create("2"));
  EXPECT_EQ(first.names().size(), 2u);
  first.remove("2");
  EXPECT_EQ(second.names(), Names{"1"});
  second.remove_if_empty();
  EXPECT_TRUE(fs::exists(folder / "a" / "1"));
  second.remove("1");
  second.remove_if_empty();
  EXPECT_EQ(folder.names(), Names{});
}

TEST(PrivateFolder, RefusesDirectoriesThatAnotherUserMayHaveCreated) {
  const TempFolder folder;
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  fs::create_directory(folder / "private");
  fs::permissions(folder / "private", fs::perms::owner_all);
  fs::create_directory_symlink(folder / "private", folder / "link");
  spill(folder / "file", "");
  for (const char* name : {"open", "link", "file"}) {
    const PrivateFolder planted(folder / name, PrivateFolder::Open::create_if_missing);
    EXPECT_FALSE(planted.exists()) << name;
    EXPECT_FALSE(planted.create("1")) << name;
    EXPECT_TRUE(planted.names().empty());
    planted.remove_if_empty();
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  }
  EXPECT_TRUE(fs::is_empty(folder / "private"));
  if (chown((folder / "private").c_str(), 1, 1) != 0) GTEST_SKIP() << "only root can change the owner of a directory";
  EXPECT_FALSE(PrivateFolder(folder / "private", PrivateFolder::Open::existing).exists());
}

TEST(PrivateFolder, LinksInsideAreNotFollowed) {
  const TempFolder folder;
  const PrivateFolder own(folder / "own", PrivateFolder::Open::create_if_missing);
  fs::create_symlink(folder / "victim", folder / "own" / "1");
  EXPECT_FALSE(own.create("1"));
  EXPECT_FALSE(fs::exists(folder / "victim"));
}

}  // namespace
}  // namespace drl
